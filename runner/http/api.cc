#include "runner/http/api.h"

#include <algorithm>
#include <charconv>

#include "runner/http/origin.h"
#include "runner/version.h"
#include "runner/wire.h"

namespace runner {
namespace {

constexpr std::string_view kBearer = "Bearer ";

ServiceError error_of(std::string problem, std::string detail, std::string next_step) {
  return ServiceError{.problem = std::move(problem),
                      .detail = std::move(detail),
                      .next_step = std::move(next_step),
                      .retryable = false,
                      .pointer = "",
                      .extra = {}};
}

HttpResponse json_response(std::string body, int status = 200) {
  return HttpResponse{.status = status,
                      .content_type = "application/json",
                      .body = std::move(body),
                      .headers = {},
                      .stream = {}};
}

ServiceError library_error(const HttpRequest& request) {
  const std::string status = request.parameter("status");
  if (status == "413")
    return error_of("too_large", "the body is larger than this path takes",
                    "send a smaller body; large objects go to /v1/projects/{id}/packs");
  if (status == "405")
    return error_of("method_not_allowed", "there is no method " + request.method + " here",
                    "use GET, POST or DELETE");
  if (status == "411")
    return error_of("length_required", "the request does not say how long its body is",
                    "send Content-Length, 0 for none");
  if (status == "400" || status == "414" || status == "416")
    return error_of("bad_request", "the request cannot be understood", "correct the request");
  if (status == "500")
    return error_of("internal", "the server failed on this request",
                    "look at the server's log; the request may be repeated");
  return error_of("not_found", "there is nothing at " + request.method + " " + request.path,
                  "see README.md for the paths of /v1");
}

}  // namespace

bool StreamBudget::take(const std::string& principal) {
  const std::scoped_lock lock(mutex_);
  if (open_ >= total_ || of_[principal] >= each_) return false;
  ++open_;
  ++of_[principal];
  return true;
}

void StreamBudget::give_back(const std::string& principal) {
  const std::scoped_lock lock(mutex_);
  --open_;
  if (--of_[principal] == 0) of_.erase(principal);
}

HttpResponse problem(const ServiceError& error) {
  const int status = status_of(error);
  HttpResponse response{.status = status,
                        .content_type = "application/problem+json",
                        .body = problem_to_wire(error, status),
                        .headers = {},
                        .stream = {}};
  if (status == 401) response.headers["WWW-Authenticate"] = "Bearer";
  if (status == 503 || status == 429) response.headers["Retry-After"] = "2";
  return response;
}

Api::Api(Service& service, ApiOptions options)
    : service_(service),
      options_(std::move(options)),
      streams_(options_.streams, options_.streams_each) {}

HttpResponse Api::check_origin(const HttpRequest& request) const {
  const auto is_ours = [&](const std::string& host) { return is_our_host(options_.hosts, host); };
  if (!is_ours(request.header("host")))
    return problem(error_of("forbidden", "the Host header names another server",
                            "use one of the addresses that serve listens on"));
  const std::string origin = request.header("origin");
  const std::size_t scheme = origin.find("://");
  // Another port of this host is another site: what listens there may be anybody's.
  const bool is_same =
      scheme != std::string::npos && origin.substr(scheme + 3) == request.header("host");
  if (!origin.empty() && !is_same)
    return problem(error_of("forbidden", "requests from other origins are not served",
                            "call the API from a program, not from a page of another site"));
  return HttpResponse{};
}

HttpHandler Api::guarded(Authorised handler) {
  return [this, handler = std::move(handler)](const HttpRequest& request) {
    HttpResponse refused = check_origin(request);
    if (refused.status != 200) return refused;
    const std::string header = request.header("authorization");
    if (!header.starts_with(kBearer))
      return problem(error_of("unauthorized", "no bearer token was sent",
                              "send `Authorization: Bearer TOKEN`; an admin makes tokens with "
                              "`proofhouse token create`"));
    const Answer<Actor> actor = service_.authenticate(header.substr(kBearer.size()));
    return actor ? handler(*actor, request) : problem(actor.error());
  };
}

HttpResponse Api::fallback(const HttpRequest& request) const {
  return problem(library_error(request));
}

std::vector<HttpRoute> Api::health_routes() {
  return {
      {"GET", "/healthz",
       [](const HttpRequest&) {
         return json_response(std::string("{\"status\":\"ok\",\"version\":\"") + kVersion + "\"}");
       }},
      {"GET", "/readyz", [this](const HttpRequest&) {
         const Readiness readiness = service_.readiness();
         return json_response(to_wire(readiness), readiness.ready ? 200 : 503);
       }}};
}

std::vector<HttpRoute> Api::routes() {
  std::vector<HttpRoute> routes = health_routes();
  add_tasks(routes);
  add_task_reads(routes);
  add_projects(routes);
  add_people(routes);
  add_proofs(routes);
  add_gpus(routes);
  return routes;
}

void Api::add_projects(std::vector<HttpRoute>& routes) {
  routes.push_back({"GET", "/v1/projects", guarded([this](const Actor& actor, const HttpRequest&) {
                      const auto projects = service_.projects(actor);
                      return projects ? json_response(to_wire(*projects))
                                      : problem(projects.error());
                    })});
  routes.push_back(
      {"POST", "/v1/projects", guarded([this](const Actor& actor, const HttpRequest& request) {
         const Answer<ProjectSpec> spec = project_from_wire(request.body);
         if (!spec) return problem(spec.error());
         const auto project = service_.add_project(actor, *spec);
         if (!project) return problem(project.error());
         HttpResponse response = json_response(to_wire(*project), 201);
         response.headers["Location"] = "/v1/projects/" + project->name;
         return response;
       })});
  routes.push_back({"GET", "/v1/projects/:id/policy",
                    guarded([this](const Actor& actor, const HttpRequest& request) {
                      const auto view = service_.policy_view(actor, request.parameter("id"));
                      return view ? json_response(*view) : problem(view.error());
                    })});
  routes.push_back({"POST", "/v1/projects/:id/backtest",
                    guarded([this](const Actor& actor, const HttpRequest& request) {
                      const Answer<BacktestRequest> asked = backtest_from_wire(request.body);
                      if (!asked) return problem(asked.error());
                      const auto answer = service_.backtest(actor, request.parameter("id"), *asked);
                      return answer ? json_response(to_wire(*answer)) : problem(answer.error());
                    })});
  routes.push_back(
      {"POST", "/v1/projects/:id/packs",
       guarded([this](const Actor& actor, const HttpRequest& request) {
         const auto id = service_.store_pack(actor, request.parameter("id"), request.body);
         return id ? json_response("{\"id\":\"" + *id + "\"}", 201) : problem(id.error());
       })});
  routes.push_back({"POST", "/v1/projects/:id/freeze",
                    guarded([this](const Actor& actor, const HttpRequest& request) {
                      const Answer<std::string> reason = reason_from_wire(request.body);
                      if (!reason) return problem(reason.error());
                      const auto project =
                          service_.freeze_project(actor, request.parameter("id"), *reason);
                      return project ? json_response(to_wire(*project)) : problem(project.error());
                    })});
  routes.push_back({"POST", "/v1/projects/:id/unfreeze",
                    guarded([this](const Actor& actor, const HttpRequest& request) {
                      const auto project =
                          service_.unfreeze_project(actor, request.parameter("id"));
                      return project ? json_response(to_wire(*project)) : problem(project.error());
                    })});
  routes.push_back({"GET", "/v1/machines", guarded([this](const Actor& actor, const HttpRequest&) {
                      const auto machine = service_.machine(actor);
                      return machine ? json_response(to_wire(*machine)) : problem(machine.error());
                    })});
}

void Api::add_gpus(std::vector<HttpRoute>& routes) {
  routes.push_back({"GET", "/v1/gpus", guarded([this](const Actor& actor, const HttpRequest&) {
                      const auto gpus = service_.gpus(actor);
                      return gpus ? json_response(to_wire(*gpus)) : problem(gpus.error());
                    })});
  for (const bool is_cordoned : {true, false}) {
    routes.push_back({"POST", is_cordoned ? "/v1/gpus/:id/cordon" : "/v1/gpus/:id/uncordon",
                      guarded([this, is_cordoned](const Actor& actor, const HttpRequest& request) {
                        const Answer<std::string> reason = cordon_reason_from_wire(request.body);
                        if (!reason) return problem(reason.error());
                        const auto gpu = service_.cordon_gpu(actor, request.parameter("id"),
                                                             is_cordoned, *reason);
                        return gpu ? json_response(to_wire(*gpu)) : problem(gpu.error());
                      })});
  }
}

void Api::add_people(std::vector<HttpRoute>& routes) {
  routes.push_back(
      {"POST", "/v1/principals", guarded([this](const Actor& actor, const HttpRequest& request) {
         const Answer<Principal> principal = principal_from_wire(request.body);
         if (!principal) return problem(principal.error());
         const auto made = service_.create_principal(actor, *principal);
         return made ? json_response("{\"name\":\"" + principal->name + "\"}", 201)
                     : problem(made.error());
       })});
  routes.push_back(
      {"POST", "/v1/grants", guarded([this](const Actor& actor, const HttpRequest& request) {
         const Answer<Grant> grant = grant_from_wire(request.body);
         if (!grant) return problem(grant.error());
         const auto granted = service_.grant(actor, *grant);
         return granted ? json_response("{\"granted\":true}", 201) : problem(granted.error());
       })});
  routes.push_back(
      {"POST", "/v1/tokens", guarded([this](const Actor& actor, const HttpRequest& request) {
         const Answer<TokenRequest> wanted = token_request_from_wire(request.body);
         if (!wanted) return problem(wanted.error());
         const auto token = service_.create_token(actor, wanted->principal, wanted->lifetime);
         return token ? json_response(to_wire(*token), 201) : problem(token.error());
       })});
  routes.push_back(
      {"POST", "/v1/login-codes", guarded([this](const Actor& actor, const HttpRequest&) {
         const auto code = service_.create_login_code(actor);
         return code ? json_response(to_wire(*code), 201) : problem(code.error());
       })});
  routes.push_back(
      {"DELETE", "/v1/tokens/:id", guarded([this](const Actor& actor, const HttpRequest& request) {
         const auto revoked = service_.revoke_token(actor, request.parameter("id"));
         return revoked ? json_response("", 204) : problem(revoked.error());
       })});
}

}  // namespace runner
