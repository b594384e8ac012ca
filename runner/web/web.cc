#include "runner/web/web.h"

#include <chrono>
#include <memory>

#include "runner/answer.h"
#include "runner/http/origin.h"
#include "runner/web/assets.h"
#include "runner/web/form.h"
#include "runner/wire.h"
#include "sandbox/os/digest.h"

namespace runner::web {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kStreamLife{50};
constexpr std::chrono::seconds kKeepAlive{15};
// The same bound that the library puts on a form.
constexpr std::size_t kFormLimit = 65'536;

// Nothing from elsewhere, nothing inline, no plugin, no frame around us, forms to us only.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

HttpResponse document(std::string html, int status = 200) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/html; charset=utf-8";
  response.body = std::move(html);
  response.headers = {{"Content-Security-Policy", kPolicy},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"X-Frame-Options", "DENY"},
                      // With no-referrer a browser sends "Origin: null" with our own forms.
                      {"Referrer-Policy", "same-origin"}};
  return response;
}

HttpResponse redirect(const std::string& path) {
  HttpResponse response = document({}, 303);
  response.headers["Location"] = path;
  return response;
}

HttpResponse refused_page(const ServiceError& error) {
  Frame frame;
  frame.title = error.problem;
  frame.body = problem_body(error);
  return document(render(frame), status_of(error));
}

HttpResponse asset(const HttpRequest& request) {
  HttpResponse response;
  const Asset* const found = find_asset(request.parameter("name"));
  if (found == nullptr) {
    response.status = 404;
    response.content_type = "text/plain";
    response.body = "no such asset\n";
    return response;
  }
  const std::string etag = "\"" + std::string(found->hashed) + "\"";
  response.headers = {{"Cache-Control", "public, max-age=31536000, immutable"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"Content-Security-Policy", "default-src 'none'"},
                      {"ETag", etag}};
  response.content_type = found->type;
  if (request.header("if-none-match") == etag)
    response.status = 304;
  else
    response.body = found->bytes;
  return response;
}

}  // namespace

Web::Web(Service& service, WebOptions options)
    : service_(service),
      options_(std::move(options)),
      streams_(options_.streams, options_.streams_each) {}

std::string Web::cookie_name() const {
  return options_.has_tls ? "__Host-proofhouse" : "proofhouse";
}

std::string Web::cookie(const std::string& value, long seconds) const {
  return cookie_name() + "=" + value +
         "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(seconds) +
         (options_.has_tls ? "; Secure" : "");
}

std::optional<ServiceError> Web::check_host(const HttpRequest& request) const {
  if (is_our_host(options_.hosts, request.header("host"))) return std::nullopt;
  return refuse("forbidden", "the Host header names another server",
                "use one of the addresses that serve listens on")
      .error();
}

std::optional<ServiceError> Web::check_origin(const HttpRequest& request) const {
  const ServiceError refusal =
      refuse("forbidden", "this form was not sent by a page of this server",
             "open the page here and send its form")
          .error();
  // Other ports of this host are other origins: cookies do not tell them apart, this does.
  const std::string scheme = options_.has_tls ? "https://" : "http://";
  if (request.header("origin") != scheme + request.header("host")) return refusal;
  const std::string site = request.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin") return refusal;
  const std::string type = request.header("content-type");
  if (!type.starts_with("application/x-www-form-urlencoded")) return refusal;
  return std::nullopt;
}

HttpResponse Web::show(const Visit& visit, Frame frame) const {
  frame.actor = &visit.session.actor;
  frame.csrf = visit.session.csrf;
  return document(render(frame));
}

HttpResponse Web::fail(const Visit& visit, const ServiceError& error) const {
  Frame frame;
  frame.actor = &visit.session.actor;
  frame.csrf = visit.session.csrf;
  frame.title = error.problem;
  frame.body = problem_body(error);
  return document(render(frame), status_of(error));
}

HttpResponse Web::show_login(const HttpRequest& request, const std::string& problem,
                             int status) const {
  const std::string wanted = request.method == "POST" ? Form::parse(request.body).get("next")
                                                      : request.query_value("next");
  Frame frame;
  frame.title = "Log in";
  frame.body = login_body(is_local_path(wanted) ? wanted : "/tasks", problem);
  return document(render(frame), status);
}

HttpHandler Web::get(Page page) {
  return [this, page = std::move(page)](const HttpRequest& request) {
    if (const auto refusal = check_host(request)) return refused_page(*refusal);
    const std::string secret = find_cookie(request.header("cookie"), cookie_name());
    const Answer<WebSession> session = service_.session(secret);
    if (session) return page(Visit{.request = request, .session = *session, .secret = secret});
    if (session.error().problem != "unauthorized") return refused_page(session.error());
    Html next;
    next << "/login?next=";
    next.url(request.path);
    return redirect(next.take());
  };
}

HttpHandler Web::post(Page page) {
  return [this, page = std::move(page)](const HttpRequest& request) {
    if (const auto refusal = check_host(request)) return refused_page(*refusal);
    if (const auto refusal = check_origin(request)) return refused_page(*refusal);
    const std::string secret = find_cookie(request.header("cookie"), cookie_name());
    const Answer<WebSession> session = service_.session(secret);
    if (!session) return refused_page(session.error());
    const Visit visit{.request = request, .session = *session, .secret = secret};
    if (request.body.size() > kFormLimit)
      return fail(visit, refuse("too_large", "the form is too large", "write less").error());
    const std::string sent = Form::parse(request.body).get("csrf");
    if (!os::equal_constant_time(sent, session->csrf))
      return fail(visit, refuse("forbidden", "the form belongs to another session",
                                "open the page again and send its form")
                             .error());
    return page(visit);
  };
}

HttpResponse Web::login(const HttpRequest& request) {
  if (const auto refusal = check_host(request)) return refused_page(*refusal);
  if (const auto refusal = check_origin(request)) return refused_page(*refusal);
  const Form form = Form::parse(request.body.substr(0, kFormLimit));
  const Answer<OpenedSession> opened = service_.open_session(form.get("code"));
  if (!opened) return show_login(request, opened.error().detail, status_of(opened.error()));
  const std::string next = form.get("next");
  HttpResponse response = redirect(is_local_path(next) ? next : "/tasks");
  response.headers["Set-Cookie"] =
      cookie(opened->secret, static_cast<long>(opened->lifetime.count()));
  return response;
}

HttpResponse Web::logout(const Visit& visit) {
  if (const auto closed = service_.close_session(visit.secret); !closed)
    return fail(visit, closed.error());
  HttpResponse response = redirect("/login");
  response.headers["Set-Cookie"] = cookie("", 0);
  response.headers["Clear-Site-Data"] = "\"cache\"";
  return response;
}

HttpResponse Web::live(const Visit& visit, const std::string& task) {
  if (!task.empty())
    if (const auto found = service_.task(visit.actor(), task); !found)
      return fail(visit, found.error());
  const std::string name = visit.actor().principal.name;
  if (!streams_.take(name))
    return fail(visit,
                refuse_for_now("unavailable", "too many live pages are open", "close one").error());
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers["X-Accel-Buffering"] = "no";
  // Given back when the response is destroyed, whether or not the stream was ever written.
  const std::shared_ptr<void> held(nullptr, [this, name](void*) { streams_.give_back(name); });
  response.stream = [this, actor = visit.actor(), task, held](HttpStream& out) {
    write_changes(actor, task, out);
  };
  return response;
}

void Web::write_changes(const Actor& actor, const std::string& task, HttpStream& out) {
  const auto end = steady_clock::now() + kStreamLife;
  auto spoke = steady_clock::now();
  // What happened between the page and this stream is told by a change at its beginning.
  auto last = service_.latest_event();
  if (!last || !out.write("retry: 2000\n\nevent: change\ndata: now\n\n")) return;
  while (steady_clock::now() < end) {
    const auto events = service_.events(actor, task, *last, milliseconds(1000));
    if (!events) return;
    if (!events->empty()) {
      last = events->back().id;
      spoke = steady_clock::now();
      if (!out.write("event: change\ndata: " + std::to_string(*last) + "\n\n")) return;
    } else if (steady_clock::now() - spoke > kKeepAlive) {
      spoke = steady_clock::now();
      if (!out.write(": still here\n\n")) return;
    }
  }
}

std::vector<HttpRoute> Web::routes() {
  const auto page = [this](HttpResponse (Web::*member)(const Visit&)) {
    return [this, member](const Visit& visit) { return (this->*member)(visit); };
  };
  std::vector<HttpRoute> routes{
      {"GET", "/", [](const HttpRequest&) { return redirect("/tasks"); }},
      {"GET", "/login",
       [this](const HttpRequest& request) {
         if (const auto refusal = check_host(request)) return refused_page(*refusal);
         return show_login(request, "", 200);
       }},
      {"POST", "/login", [this](const HttpRequest& request) { return login(request); }},
      {"POST", "/logout", post(page(&Web::logout))},
      {"GET", "/assets/:name", asset},
      {"GET", "/tasks", get(page(&Web::queue))},
      {"GET", "/board", get(page(&Web::board))},
      {"GET", "/projects", get(page(&Web::projects))},
      {"GET", "/projects/:id", get(page(&Web::project))},
      {"GET", "/live", get([this](const Visit& visit) { return live(visit, ""); })},
      {"GET", "/tasks/:id", get(page(&Web::task))},
      {"GET", "/tasks/:id/diff", get(page(&Web::diff))},
      {"GET", "/tasks/:id/patch", get(page(&Web::patch))},
      {"GET", "/tasks/:id/report", get(page(&Web::report))},
      {"GET", "/tasks/:id/artifacts/:name", get(page(&Web::artifact))},
      {"GET", "/tasks/:id/logs/:run", get(page(&Web::log))},
      {"GET", "/tasks/:id/live",
       get([this](const Visit& visit) { return live(visit, visit.id()); })},
      {"POST", "/tasks/:id/decision", post(page(&Web::decide))}};
  return routes;
}

HttpResponse Web::fallback(const HttpRequest& request) {
  const std::string status = request.parameter("status");
  if (status == "413")
    return refused_page(refuse("too_large", "the form is too large", "write less").error());
  if (status == "500")
    return refused_page(
        refuse("internal", "the server failed on this request", "look at the server's log")
            .error());
  if (status == "400")
    return refused_page(refuse("bad_request", "the request cannot be understood", "").error());
  return refused_page(refuse("not_found", "there is no page here", "go to the queue").error());
}

}  // namespace runner::web
