// The HTTP API: routes of /v1, mapped to the Service. Knows no SQL, executes nothing.
//
// Every request needs `Authorization: Bearer TOKEN`, but /healthz and /readyz. A request whose Host
// is not ours, or whose Origin is another, is refused: a page in a browser cannot reach us by a
// rebound name. Errors are problem+json.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runner/http/message.h"
#include "runner/service.h"

namespace runner {

// Counts open streams, in all and of each principal. Thread-safe.
class StreamBudget {
 public:
  StreamBudget(int total, int each) : total_(total), each_(each) {}
  // False: the budget is spent; nothing to give back then.
  bool take(const std::string& principal);
  void give_back(const std::string& principal);

 private:
  int total_;
  int each_;
  std::mutex mutex_;
  int open_ = 0;
  std::map<std::string, int> of_;
};

struct ApiOptions {
  std::vector<std::string> hosts{"127.0.0.1", "localhost", "[::1]"};  // accepted in Host
  int streams = 64;
  int streams_each = 8;
};

// Routes over a service that outlives them.
class Api {
 public:
  Api(Service& service, ApiOptions options);
  std::vector<HttpRoute> routes();
  // Only /healthz and /readyz, for the lane.
  std::vector<HttpRoute> health_routes();
  // Answers paths that no route matches, and shapes the server's own errors.
  HttpResponse fallback(const HttpRequest& request) const;

 private:
  using Authorised = std::function<HttpResponse(const Actor&, const HttpRequest&)>;
  HttpHandler guarded(Authorised handler);
  HttpResponse check_origin(const HttpRequest& request) const;
  void add_tasks(std::vector<HttpRoute>& routes);
  void add_task_reads(std::vector<HttpRoute>& routes);
  void add_projects(std::vector<HttpRoute>& routes);
  void add_people(std::vector<HttpRoute>& routes);
  void add_proofs(std::vector<HttpRoute>& routes);
  void add_gpus(std::vector<HttpRoute>& routes);
  HttpResponse post_task(const Actor& actor, const HttpRequest& request);
  HttpResponse get_task(const Actor& actor, const HttpRequest& request);
  HttpResponse list_tasks(const Actor& actor, const HttpRequest& request);
  HttpResponse get_events(const Actor& actor, const HttpRequest& request);
  HttpResponse get_log(const Actor& actor, const HttpRequest& request);
  HttpResponse post_approval(const Actor& actor, const HttpRequest& request);
  void write_events(const Actor& actor, const std::string& task, std::int64_t after,
                    HttpStream& out);

  Service& service_;
  ApiOptions options_;
  StreamBudget streams_;
};

// The answer for a ServiceError.
HttpResponse problem(const ServiceError& error);

}  // namespace runner
