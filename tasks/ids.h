// Names and ids of the task layer: each kind is a type of its own.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "sandbox/os/ids.h"
#include "sandbox/os/result.h"

namespace tasks {

using ProjectName = os::Name<struct ProjectNameTag>;  // os::is_plain_name
using TaskId = os::Name<struct TaskIdTag>;            // "t_<ulid>"
using AttemptId = os::Name<struct AttemptIdTag>;      // "a_<ulid>"
using StepName = os::Name<struct StepNameTag>;        // os::is_plain_name, no '.'
using GateName = os::Name<struct GateNameTag>;        // os::is_plain_name

// A git object id (SHA-1, 40 lower-case hexadecimal digits).
template <class Tag>
class ObjectId {
 public:
  ObjectId() = default;
  // invalid unless 40 lower-case hexadecimal digits.
  static os::Result<ObjectId> parse(std::string_view hex) {
    const bool fits = hex.size() == 40 && hex.find_first_not_of("0123456789abcdef") == hex.npos;
    if (!fits) return os::fail(os::Code::invalid, "an object id has 40 hexadecimal digits");
    ObjectId id;
    id.hex_ = hex;
    return id;
  }
  const std::string& hex() const { return hex_; }
  bool empty() const { return hex_.empty(); }
  auto operator<=>(const ObjectId&) const = default;

 private:
  std::string hex_;
};

using CommitId = ObjectId<struct CommitIdTag>;
using TreeId = ObjectId<struct TreeIdTag>;

}  // namespace tasks
