#include "tasks/json_archive.h"

namespace tasks::archive {

bool Reader::has(std::string_view key) const {
  return std::ranges::find(left_, key, &std::pair<std::string, const Json*>::first) != left_.end();
}

const Json* Reader::take(std::string_view key) {
  const auto found = std::ranges::find(left_, key, &std::pair<std::string, const Json*>::first);
  if (found == left_.end()) {
    std::string message = "key '";
    error_ = os::Error{os::Code::invalid, message.append(key).append("' is missing"), 0};
    return nullptr;
  }
  const Json* const value = found->second;
  left_.erase(found);
  return value;
}

void Reader::schema(int known, int oldest) {
  if (error_) return;
  const Json* const found = take("schema");
  if (found == nullptr) return;
  const os::Result<std::int64_t> number = get_integer(*found, "schema");
  if (!number)
    error_ = number.error();
  else if (*number > known || *number < (oldest == 0 ? known : oldest))
    error_ = wrong_schema(*number, known).error();
}

os::Result<void> Reader::finish() const {
  if (error_) return std::unexpected(*error_);
  if (left_.empty()) return {};
  return os::fail(os::Code::invalid, "key '" + left_.front().first + "' is unknown");
}

}  // namespace tasks::archive
