// The executor's protocol: JSON lines over a stream socket, each at most kMaxLine bytes.
//
//   request   {"id":N,"op":"probe|start|list|cancel|remove|cordon", …}
//   answer    {"id":N,"ok":{…}} or {"id":N,"error":{"code":"conflict","message":"…","errno":0}}
//   change    {"changed":{"attempt":"…","fence":1,"state":"ended","detail":""}}   (unasked)
//
// Both ends refuse longer lines and unknown operations; the executor never parses anything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runner/executor/executor.h"

namespace runner {

inline constexpr std::size_t kMaxLine = 256U << 10U;

struct ProbeCall {};
struct StartCall {
  AttemptStart start;
};
struct ListCall {};
struct CancelCall {
  tasks::AttemptId attempt;
  std::int64_t fence = 0;
  std::chrono::milliseconds grace{0};
};
struct RemoveCall {
  tasks::AttemptId attempt;
  std::int64_t fence = 0;
};
struct CordonCall {
  std::string uuid;
  bool is_cordoned = true;
  std::string reason;
};
using ExecutorCall =
    std::variant<ProbeCall, StartCall, ListCall, CancelCall, RemoveCall, CordonCall>;

struct ExecutorRequest {
  std::int64_t id = 0;
  ExecutorCall call;
};

// The answer to one request, or (id 0, `changed` set) an unasked change.
struct ExecutorAnswer {
  std::int64_t id = 0;
  std::optional<os::Error> error;
  std::optional<ExecutorProbe> probe;
  std::vector<AttemptStatusReport> attempts;
  std::optional<AttemptStatusReport> changed;
};

// One line each, with its newline.
std::string encode(const ExecutorRequest& request);
os::Result<ExecutorRequest> decode_executor_request(std::string_view line);
std::string encode(const ExecutorAnswer& answer);
os::Result<ExecutorAnswer> decode_executor_answer(std::string_view line);

// Cuts complete lines from a stream's bytes; exhausted when one grows beyond kMaxLine.
class LineBuffer {
 public:
  os::Result<void> append(std::string_view bytes);
  // The next complete line without its newline, or nothing.
  std::optional<std::string> next();

 private:
  std::string bytes_;
};

}  // namespace runner
