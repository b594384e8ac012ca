#include "runner/http/server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <thread>

#include "runner/http/connection.h"

namespace runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kKeepAliveRequests = 1000;

// A socket whose reads end at one deadline for the whole request, and whose writes must progress.
class WatchedStream : public httplib::Stream {
 public:
  WatchedStream(int socket, milliseconds write_limit)
      : socket_(socket), write_limit_(write_limit) {}

  void set_deadline(steady_clock::time_point deadline) { deadline_ = deadline; }

  // True once a read met the deadline: what follows is the rest of a request that was given up.
  bool is_late() const { return is_late_; }

  // Closes the connection once this request is answered: its body was not read, and must not be
  // taken for the next request.
  void end_after_answer() { is_last_ = true; }
  bool is_last() const { return is_last_; }

  // Waits for a first byte of the next request.
  bool wait_readable(milliseconds limit) const {
    return !buffer_.empty() || wait(POLLIN, steady_clock::now() + limit);
  }

  bool is_readable() const override { return !buffer_.empty() || wait(POLLIN, deadline_); }
  bool is_writable() const override {
    return wait(POLLOUT, steady_clock::now() + write_limit_) && !is_closed_by_peer();
  }

  ssize_t read(char* target, size_t size) override {
    if (buffer_.empty()) {
      is_late_ = !wait(POLLIN, deadline_);
      if (is_late_) return -1;
      buffer_.resize(16384);
      const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
      buffer_.resize(got > 0 ? static_cast<size_t>(got) : 0);
      at_ = 0;
      if (got <= 0) return got;
    }
    const size_t count = std::min(size, buffer_.size() - at_);
    std::copy_n(buffer_.data() + at_, count, target);
    at_ += count;
    if (at_ == buffer_.size()) buffer_.clear();
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* bytes, size_t size) override {
    if (!wait(POLLOUT, steady_clock::now() + write_limit_)) return -1;
    return ::send(socket_, bytes, size, MSG_NOSIGNAL);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    address(ip, port, ::getpeername);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    address(ip, port, ::getsockname);
  }
  socket_t socket() const override { return socket_; }

 private:
  bool wait(short events, steady_clock::time_point deadline) const {
    while (true) {
      const auto left =
          std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
      if (left <= 0) return false;
      pollfd poll_for{.fd = socket_, .events = events, .revents = 0};
      const int ready = ::poll(&poll_for, 1, static_cast<int>(std::min<long>(left, 60'000)));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  bool is_closed_by_peer() const {
    pollfd poll_for{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return ::poll(&poll_for, 1, 0) > 0 && (poll_for.revents & (POLLRDHUP | POLLHUP)) != 0;
  }

  template <class Call>
  void address(std::string& ip, int& port, Call call) const {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (call(socket_, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (storage.ss_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
      ::inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
      port = ntohs(v4->sin_port);
    } else if (storage.ss_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
      ::inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
      port = ntohs(v6->sin6_port);
    }
    ip = text.data();
  }

  int socket_;
  milliseconds write_limit_;
  steady_clock::time_point deadline_;
  std::vector<char> buffer_;
  size_t at_ = 0;
  bool is_late_ = false;
  bool is_last_ = false;
};

// The stream of the request that this thread serves; handlers extend its deadline for a body.
thread_local WatchedStream* current_stream = nullptr;

class WatchedServer : public httplib::Server {
 public:
  explicit WatchedServer(const HttpOptions& options)
      : options_(options),
        registry_(options.connections_per_peer, std::max<std::size_t>(options.threads, 5) - 4) {}

 private:
  // cpp-httplib calls this on a pool thread for each accepted socket, and leaves it to us.
  bool process_and_close_socket(socket_t socket) override {
    WatchedStream stream(socket, options_.write_limit);
    std::string peer = "local";
    int peer_port = 0;
    stream.get_remote_ip_and_port(peer, peer_port);
    std::string own;
    int own_port = 0;
    stream.get_local_ip_and_port(own, own_port);
    {
      ConnectionRegistry::Entry entry(registry_, peer, socket);
      for (std::size_t left = kKeepAliveRequests; left > 0; --left) {
        entry.set_waiting();
        if (!stream.wait_readable(options_.idle_limit) || !entry.set_busy()) break;
        stream.set_deadline(steady_clock::now() + options_.request_deadline);
        current_stream = &stream;
        bool closed = false;
        const bool good =
            process_request(stream, peer, peer_port, own, own_port, left == 1, closed, nullptr);
        current_stream = nullptr;
        if (!good || closed || stream.is_late() || stream.is_last()) break;
      }
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  HttpOptions options_;
  ConnectionRegistry registry_;
};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

HttpRequest to_request(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.path_params) request.parameters[name] = value;
  for (const auto& [name, value] : from.params) request.query.emplace(name, value);
  for (const auto& [name, value] : from.headers) request.headers.emplace(lower(name), value);
  request.body = from.body;
  request.peer = from.remote_addr;
  return request;
}

class SinkStream : public HttpStream {
 public:
  explicit SinkStream(httplib::DataSink& sink) : sink_(sink) {}
  bool write(std::string_view bytes) override {
    return sink_.is_writable() && sink_.write(bytes.data(), bytes.size());
  }

 private:
  httplib::DataSink& sink_;
};

void give(HttpResponse from, httplib::Response& response) {
  response.status = from.status;
  for (const auto& [name, value] : from.headers) {
    // In place of the default.
    response.headers.erase(name);
    response.set_header(name, value);
  }
  if (!from.stream) {
    response.set_content(std::move(from.body), from.content_type);
    return;
  }
  response.set_chunked_content_provider(
      from.content_type, [stream = std::move(from.stream)](size_t, httplib::DataSink& sink) {
        SinkStream out(sink);
        stream(out);
        sink.done();
        return true;
      });
}

httplib::Server::Handler to_handler(HttpHandler handler) {
  return [handler = std::move(handler)](const httplib::Request& from, httplib::Response& to) {
    give(handler(to_request(from)), to);
  };
}

// Status for a request whose body cannot be read, or must not be; 0: it can. The library would read
// a POST without a length until its deadline, and leave a chunked DELETE's body to be taken for the
// next request (RFC 9112 §6.3, §11.2).
int status_of_framing(const httplib::Request& request, std::size_t limit) {
  const bool has_length = request.has_header("Content-Length");
  const bool is_chunked = request.has_header("Transfer-Encoding");
  const bool is_post = request.method == "POST";
  const bool is_known =
      is_post || request.method == "GET" || request.method == "HEAD" || request.method == "DELETE";
  if (!is_known) return 405;
  if (is_chunked && (has_length || !is_post)) return 400;
  if (request.get_header_value_count("Content-Length") > 1) return 400;
  const std::string length = request.get_header_value("Content-Length");
  if (has_length && (length.empty() || length.size() > 18 ||
                     length.find_first_not_of("0123456789") != std::string::npos))
    return 400;
  if (is_post && !has_length && !is_chunked) return 411;
  return request.get_header_value_u64("Content-Length") > limit ? 413 : 0;
}

// This request's answer is the connection's last.
void close_after(httplib::Response& response) {
  response.set_header("Connection", "close");
  if (current_stream != nullptr) current_stream->end_after_answer();
}

class HttplibServer : public HttpServer {
 public:
  explicit HttplibServer(const HttpOptions& options) : options_(options), server_(options) {}
  ~HttplibServer() override { stop(); }

  os::Result<void> begin(std::vector<HttpRoute> routes, HttpHandler fallback) {
    configure();
    for (HttpRoute& route : routes) add(std::move(route));
    server_.set_error_handler(
        httplib::Server::Handler([fallback](const httplib::Request& from, httplib::Response& to) {
          if (!to.body.empty() || to.status < 400) return;
          // Of the library: it may have stopped in the middle of a body.
          if (to.status == 400 || to.status == 413) close_after(to);
          HttpRequest request = to_request(from);
          request.parameters["status"] = std::to_string(to.status);
          give(fallback(request), to);
        }));
    TRY(bind());
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    server_.wait_until_ready();
    return {};
  }

  int port() const override { return port_; }

  void stop() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void configure() {
    server_.new_task_queue = [threads = options_.threads] {
      return new httplib::ThreadPool(threads, 2 * threads);
    };
    server_.set_tcp_nodelay(!is_unix());
    // The library's default shares a port with whoever has it already.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_payload_max_length(options_.pack_limit);
    server_.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                                 {"Referrer-Policy", "no-referrer"},
                                 {"Cache-Control", "no-store"}});
    // Called after the head was read: large bodies get the time they need, within a bound.
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          const bool is_pack = request.path.ends_with("/packs");
          const std::size_t limit = is_pack ? options_.pack_limit : options_.body_limit;
          if (const int status = status_of_framing(request, limit); status != 0) {
            response.status = status;
            close_after(response);
            return httplib::Server::HandlerResponse::Handled;
          }
          if (current_stream != nullptr)
            current_stream->set_deadline(steady_clock::now() + options_.body_deadline);
          return httplib::Server::HandlerResponse::Unhandled;
        });
    // What a handler throws is told to nobody: it may hold anything.
    server_.set_exception_handler([](const httplib::Request&, httplib::Response& response,
                                     const std::exception_ptr&) { response.status = 500; });
  }

  void add(HttpRoute route) {
    if (route.method == "GET")
      server_.Get(route.pattern, to_handler(std::move(route.handler)));
    else if (route.method == "POST")
      server_.Post(route.pattern, to_handler(std::move(route.handler)));
    else if (route.method == "DELETE")
      server_.Delete(route.pattern, to_handler(std::move(route.handler)));
    else
      os::check(false, "routes are GET, POST or DELETE");
  }

  bool is_unix() const { return options_.host.starts_with('/'); }

  os::Result<void> bind() {
    if (is_unix()) {
      ::unlink(options_.host.c_str());
      server_.set_address_family(AF_UNIX);
      // The port only satisfies the library; a unix socket has none.
      if (!server_.bind_to_port(options_.host, 80))
        return os::fail_errno("listen at " + options_.host);
      if (::chmod(options_.host.c_str(), 0660) != 0)
        return os::fail_errno("chmod " + options_.host);
      return {};
    }
    if (options_.port == 0)
      port_ = server_.bind_to_any_port(options_.host);
    else
      port_ = server_.bind_to_port(options_.host, options_.port) ? options_.port : -1;
    if (port_ > 0) return {};
    return os::fail(os::Code::conflict, "cannot listen at " + options_.host + ":" +
                                            std::to_string(options_.port) +
                                            ": is another server running there?");
  }

  HttpOptions options_;
  WatchedServer server_;
  int port_ = 0;
  std::jthread thread_;
};

}  // namespace

os::Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                          std::vector<HttpRoute> routes,
                                                          HttpHandler fallback) {
  auto server = std::make_unique<HttplibServer>(options);
  TRY(server->begin(std::move(routes), std::move(fallback)));
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace runner
