// events.jsonl: what an attempt tells while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sandbox/os/fd.h"

namespace tasks {

// Appends one line an event, {seq, time, attempt, fence, type, data}, with one write(2) of at most
// 4096 bytes: a reader ignores a torn last line. Values of `data` are strings. Not thread-safe.
class EventLog {
 public:
  static os::Result<EventLog> open(int attempt_directory, std::string attempt, std::int64_t fence);
  // A failed append is not fatal to the attempt: the result says everything again.
  void append(std::string_view type, const std::map<std::string, std::string>& data = {});

 private:
  EventLog(os::Fd file, std::string attempt, std::int64_t fence)
      : file_(std::move(file)), attempt_(std::move(attempt)), fence_(fence) {}
  os::Fd file_;
  std::string attempt_;
  std::int64_t fence_;
  std::int64_t sequence_ = 0;
};

}  // namespace tasks
