// Web: the pages for people, as routes over the Service. Knows no SQL, executes nothing.
//
// A browser logs in with a one-time code and holds a session cookie (HttpOnly, SameSite=Strict;
// under TLS with the prefix __Host-). Every request must name one of our hosts; every POST must
// come from a page of this very origin and carry the session's form token, so that neither another
// site, nor another port of this host, nor a rebound name can act for a person. No page needs
// script; none loads anything from elsewhere; nothing that a change wrote is ever markup.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runner/http/api.h"
#include "runner/http/message.h"
#include "runner/service.h"
#include "runner/web/page.h"
#include "runner/web/pages.h"

namespace runner::web {

struct WebOptions {
  std::vector<std::string> hosts{"127.0.0.1", "localhost", "[::1]"};  // accepted in Host
  bool has_tls = false;  // people reach us by https: cookies are Secure
  int streams = 48;      // live pages at once, each holds a thread for up to a minute
  int streams_each = 6;
};

// Routes over a service that outlives them.
class Web {
 public:
  Web(Service& service, WebOptions options);
  std::vector<HttpRoute> routes();
  // What no route matches, for browsers; shapes the library's own errors too.
  HttpResponse fallback(const HttpRequest& request);

 private:
  struct Visit {  // one request of somebody logged in
    const HttpRequest& request;
    WebSession session;
    std::string secret;
    std::string id() const { return request.parameter("id"); }
    const Actor& actor() const { return session.actor; }
  };
  using Page = std::function<HttpResponse(const Visit&)>;

  HttpHandler get(Page page);
  HttpHandler post(Page page);
  // A refusal, or nothing.
  std::optional<ServiceError> check_host(const HttpRequest& request) const;
  std::optional<ServiceError> check_origin(const HttpRequest& request) const;
  std::string cookie_name() const;
  std::string cookie(const std::string& value, long seconds) const;
  HttpResponse show(const Visit& visit, Frame frame) const;
  HttpResponse fail(const Visit& visit, const ServiceError& error) const;
  HttpResponse show_login(const HttpRequest& request, const std::string& problem, int status) const;

  HttpResponse login(const HttpRequest& request);
  HttpResponse logout(const Visit& visit);
  HttpResponse queue(const Visit& visit);
  HttpResponse board(const Visit& visit);
  HttpResponse projects(const Visit& visit);
  HttpResponse project(const Visit& visit);
  HttpResponse task(const Visit& visit);
  HttpResponse diff(const Visit& visit);
  HttpResponse patch(const Visit& visit);
  HttpResponse report(const Visit& visit);
  HttpResponse artifact(const Visit& visit);
  HttpResponse log(const Visit& visit);
  HttpResponse decide(const Visit& visit);
  HttpResponse live(const Visit& visit, const std::string& task);

  Answer<TaskData> task_data(const Visit& visit);
  std::vector<QueueRow> rows_of(const Actor& actor, const TaskFilter& filter);
  QueueRow row_of(const Actor& actor, TaskView task);
  void write_changes(const Actor& actor, const std::string& task, HttpStream& out);

  Service& service_;
  WebOptions options_;
  StreamBudget streams_;
};

}  // namespace runner::web
