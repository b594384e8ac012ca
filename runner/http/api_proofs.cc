// Routes of what proves a promotion: the public key, signed statements, the audit log; and tokens.
#include <charconv>
#include <string>

#include "runner/http/api.h"
#include "runner/wire.h"
#include "sandbox/os/signature.h"

namespace runner {
namespace {

HttpResponse text_response(std::string body, std::string type) {
  return HttpResponse{.status = 200,
                      .content_type = std::move(type),
                      .body = std::move(body),
                      .headers = {},
                      .stream = {}};
}

// Of ?after=; what is no number is the beginning.
std::int64_t after_of(const HttpRequest& request) {
  const std::string text = request.query_value("after");
  std::int64_t after = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), after);
  return error == std::errc{} && end == text.data() + text.size() && after > 0 ? after : 0;
}

constexpr const char* kLines = "application/x-ndjson";

}  // namespace

void Api::add_proofs(std::vector<HttpRoute>& routes) {
  // Who verifies has no token.
  routes.push_back({"GET", "/v1/keys", [this](const HttpRequest& request) {
                      HttpResponse refused = check_origin(request);
                      if (refused.status != 200) return refused;
                      PublicKeyView view{.id = {}, .pem = service_.public_key()};
                      if (const auto key = os::PublicKey::from_pem(view.pem)) view.id = key->id();
                      return text_response(to_wire(view), "application/json");
                    }});
  const auto add = [&](const char* pattern, Authorised handler) {
    routes.push_back({"GET", pattern, guarded(std::move(handler))});
  };
  add("/v1/tasks/:id/attestations", [this](const Actor& actor, const HttpRequest& request) {
    const auto lines = service_.attestations(actor, request.parameter("id"));
    return lines ? text_response(*lines, kLines) : problem(lines.error());
  });
  add("/v1/audit", [this](const Actor& actor, const HttpRequest& request) {
    const auto page = service_.audit(actor, after_of(request));
    if (!page) return problem(page.error());
    HttpResponse response = text_response(page->lines, kLines);
    response.headers["X-Audit-Last"] = std::to_string(page->last);
    return response;
  });
  add("/v1/audit/head", [this](const Actor& actor, const HttpRequest&) {
    const auto head = service_.audit_head(actor);
    return head ? text_response(*head + "\n", "application/json") : problem(head.error());
  });
  add("/v1/tokens", [this](const Actor& actor, const HttpRequest& request) {
    const auto tokens = service_.list_tokens(actor, request.query_value("principal"));
    return tokens ? text_response(to_wire(*tokens), "application/json") : problem(tokens.error());
  });
}

}  // namespace runner
