#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>

#include "runner/http/api.h"
#include "runner/wire.h"

namespace runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A stream ends by itself after this and is resumed by its last id: no connection lives for ever.
constexpr std::chrono::seconds kStreamLife{60};
constexpr std::chrono::seconds kKeepAlive{15};
constexpr std::int64_t kMaxLogBytes = 4 << 20;

std::int64_t number(const std::string& text, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 ? value : otherwise;
}

HttpResponse body_response(std::string body, std::string type) {
  return HttpResponse{.status = 200,
                      .content_type = std::move(type),
                      .body = std::move(body),
                      .headers = {},
                      .stream = {}};
}

std::string quoted(const std::string& etag) { return "\"" + etag + "\""; }

std::string unquoted(std::string etag) {
  std::erase(etag, '"');
  return etag;
}

HttpResponse task_response(const TaskView& task, int status = 200) {
  HttpResponse response = body_response(to_wire(task), "application/json");
  response.status = status;
  response.headers["ETag"] = quoted(task.etag);
  return response;
}

// Untrusted bytes are never rendered: attachment, and nothing in them may run.
void make_inert(HttpResponse& response) {
  response.headers["Content-Disposition"] = "attachment";
  response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox";
}

template <class Value>
HttpResponse either(const Answer<Value>& answer, const std::string& type) {
  return answer ? body_response(*answer, type) : problem(answer.error());
}

}  // namespace

void Api::add_tasks(std::vector<HttpRoute>& routes) {
  routes.push_back(
      {"POST", "/v1/tasks", guarded([this](const Actor& actor, const HttpRequest& request) {
         return post_task(actor, request);
       })});
  routes.push_back(
      {"GET", "/v1/tasks", guarded([this](const Actor& actor, const HttpRequest& request) {
         return list_tasks(actor, request);
       })});
  routes.push_back(
      {"GET", "/v1/tasks/:id", guarded([this](const Actor& actor, const HttpRequest& request) {
         return get_task(actor, request);
       })});
  routes.push_back(
      {"DELETE", "/v1/tasks/:id", guarded([this](const Actor& actor, const HttpRequest& request) {
         const auto task = service_.cancel(actor, request.parameter("id"));
         return task ? task_response(*task) : problem(task.error());
       })});
  routes.push_back({"POST", "/v1/tasks/:id/approvals",
                    guarded([this](const Actor& actor, const HttpRequest& request) {
                      return post_approval(actor, request);
                    })});
  routes.push_back({"POST", "/v1/tasks/:id/rejudge",
                    guarded([this](const Actor& actor, const HttpRequest& request) {
                      const auto again = service_.rejudge(actor, request.parameter("id"));
                      if (!again) return problem(again.error());
                      return body_response(std::string("{\"same\":") +
                                               (again->same ? "true" : "false") +
                                               ",\"judgement\":" + again->judgement_json + "}",
                                           "application/json");
                    })});
}

void Api::add_task_reads(std::vector<HttpRoute>& routes) {
  const auto add = [&](const char* pattern, Authorised handler) {
    routes.push_back({"GET", pattern, guarded(std::move(handler))});
  };
  add("/v1/tasks/:id/events", [this](const Actor& actor, const HttpRequest& request) {
    return get_events(actor, request);
  });
  add("/v1/events", [this](const Actor& actor, const HttpRequest& request) {
    return get_events(actor, request);
  });
  add("/v1/tasks/:id/logs/:step",
      [this](const Actor& actor, const HttpRequest& request) { return get_log(actor, request); });
  add("/v1/tasks/:id/report.json", [this](const Actor& actor, const HttpRequest& request) {
    return either(service_.report_json(actor, request.parameter("id")), "application/json");
  });
  add("/v1/tasks/:id/report.md", [this](const Actor& actor, const HttpRequest& request) {
    return either(service_.report_markdown(actor, request.parameter("id")),
                  "text/markdown; charset=utf-8");
  });
  add("/v1/tasks/:id/plots/:gate", [this](const Actor& actor, const HttpRequest& request) {
    HttpResponse response = either(
        service_.plot(actor, request.parameter("id"), request.parameter("gate")), "image/svg+xml");
    make_inert(response);
    return response;
  });
  add("/v1/tasks/:id/diff", [this](const Actor& actor, const HttpRequest& request) {
    HttpResponse response =
        either(service_.diff(actor, request.parameter("id")), "text/x-diff; charset=utf-8");
    make_inert(response);
    return response;
  });
  add("/v1/tasks/:id/artifacts/:name", [this](const Actor& actor, const HttpRequest& request) {
    HttpResponse response =
        either(service_.artifact(actor, request.parameter("id"), request.parameter("name")),
               "application/octet-stream");
    make_inert(response);
    return response;
  });
  add("/v1/tasks/:id/why", [this](const Actor& actor, const HttpRequest& request) {
    const auto why = service_.why(actor, request.parameter("id"));
    return why ? body_response(to_wire(*why), "application/json") : problem(why.error());
  });
}

HttpResponse Api::post_task(const Actor& actor, const HttpRequest& request) {
  const Answer<Submission> submission = submission_from_wire(request.body);
  if (!submission) return problem(submission.error());
  const auto submitted = service_.submit(actor, *submission, request.header("idempotency-key"));
  if (!submitted) return problem(submitted.error());
  HttpResponse response = task_response(submitted->task, 202);
  response.headers["Location"] = "/v1/tasks/" + submitted->task.id;
  response.headers["Retry-After"] = "1";
  return response;
}

HttpResponse Api::list_tasks(const Actor& actor, const HttpRequest& request) {
  TaskFilter filter;
  filter.project = request.query_value("project");
  filter.state = request.query_value("state");
  filter.principal = request.query_value("principal");
  filter.after = request.query_value("after");
  filter.limit = static_cast<int>(
      std::clamp<std::int64_t>(number(request.query_value("limit"), filter.limit), 1, 200));
  const auto list = service_.list_tasks(actor, filter);
  if (!list) return problem(list.error());
  const bool is_full = list->size() == static_cast<std::size_t>(filter.limit);
  return body_response(to_wire(*list, is_full ? list->back().id : std::string()),
                       "application/json");
}

HttpResponse Api::get_task(const Actor& actor, const HttpRequest& request) {
  const std::string id = request.parameter("id");
  const std::string seen = unquoted(request.header("if-none-match"));
  auto task = service_.task(actor, id);
  if (!task) return problem(task.error());
  const std::int64_t seconds =
      std::clamp<std::int64_t>(number(request.query_value("wait"), 0), 0, 60);
  if (seconds > 0 && task->state != TaskState::done && (seen.empty() || seen == task->etag)) {
    task = service_.wait_task(actor, id, task->etag, std::chrono::seconds(seconds));
    if (!task) return problem(task.error());
  }
  if (seen.empty() || seen != task->etag) return task_response(*task);
  HttpResponse unchanged;
  unchanged.status = 304;
  unchanged.headers["ETag"] = quoted(task->etag);
  return unchanged;
}

HttpResponse Api::get_log(const Actor& actor, const HttpRequest& request) {
  const std::int64_t offset = number(request.query_value("offset"), 0);
  const std::int64_t limit =
      std::clamp<std::int64_t>(number(request.query_value("limit"), 1 << 20), 1, kMaxLogBytes);
  const auto chunk =
      service_.log(actor, request.parameter("id"), request.parameter("step"), offset, limit);
  if (!chunk) return problem(chunk.error());
  HttpResponse response = body_response(chunk->bytes, "text/plain; charset=utf-8");
  make_inert(response);
  response.headers["X-Log-Offset"] = std::to_string(chunk->offset);
  response.headers["X-Log-Total"] = std::to_string(chunk->total);
  response.headers["X-Log-Omitted"] = std::to_string(chunk->omitted);
  response.headers["X-Log-Finished"] = chunk->finished ? "1" : "0";
  return response;
}

HttpResponse Api::post_approval(const Actor& actor, const HttpRequest& request) {
  Answer<ApprovalRequest> wanted = approval_from_wire(request.body);
  if (!wanted) return problem(wanted.error());
  wanted->if_match = unquoted(request.header("if-match"));
  if (wanted->if_match.empty())
    return problem(ServiceError{.problem = "if_match_missing",
                                .detail = "a decision needs If-Match: the ETag that was reviewed",
                                .next_step = "GET the task, look at it, and send its ETag back",
                                .retryable = false,
                                .pointer = "",
                                .extra = {}});
  const auto task = service_.decide(actor, request.parameter("id"), *wanted);
  return task ? task_response(*task) : problem(task.error());
}

HttpResponse Api::get_events(const Actor& actor, const HttpRequest& request) {
  const std::string task = request.parameter("id");
  std::string resume = request.header("last-event-id");
  if (resume.empty()) resume = request.query_value("after");
  // Asked before the stream begins, so that a wrong id is a 404 and not an empty stream.
  if (!task.empty())
    if (const auto found = service_.task(actor, task); !found) return problem(found.error());
  if (!streams_.take(actor.principal.name))
    return problem(ServiceError{.problem = "unavailable",
                                .detail = "too many event streams are open",
                                .next_step = "close one, or poll with ?wait=",
                                .retryable = true,
                                .pointer = "",
                                .extra = {}});
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers["X-Accel-Buffering"] = "no";
  // Given back when the response is destroyed, whether or not the stream was ever written.
  const std::shared_ptr<void> held(
      nullptr, [this, name = actor.principal.name](void*) { streams_.give_back(name); });
  response.stream = [this, actor, task, held, after = number(resume, 0)](HttpStream& out) {
    write_events(actor, task, after, out);
  };
  return response;
}

void Api::write_events(const Actor& actor, const std::string& task, std::int64_t after,
                       HttpStream& out) {
  const auto end = steady_clock::now() + kStreamLife;
  auto spoke = steady_clock::now();
  if (!out.write("retry: 3000\n\n")) return;
  while (steady_clock::now() < end) {
    const auto events = service_.events(actor, task, after, milliseconds(1000));
    if (!events) return;
    for (const EventView& event : *events) {
      after = event.id;
      spoke = steady_clock::now();
      if (!out.write("id: " + std::to_string(event.id) + "\nevent: " + event.type +
                     "\ndata: {\"task\":\"" + event.task + "\",\"at\":\"" + event.at +
                     "\",\"data\":" + (event.data.empty() ? "{}" : event.data) + "}\n\n"))
        return;
    }
    if (events->empty() && !task.empty()) {
      const auto view = service_.task(actor, task);
      if (!view || view->state == TaskState::done) {
        out.write("event: end\ndata: {}\n\n");
        return;
      }
    }
    if (steady_clock::now() - spoke > kKeepAlive) {
      spoke = steady_clock::now();
      if (!out.write(": still here\n\n")) return;
    }
  }
}

}  // namespace runner
