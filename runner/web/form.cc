#include "runner/web/form.h"

#include <algorithm>

namespace runner::web {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode_component(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool has_two = i + 2 < text.size();
    const int high = has_two ? digit_of(text[i + 1]) : -1;
    const int low = has_two ? digit_of(text[i + 2]) : -1;
    if (text[i] == '%' && high >= 0 && low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// What stands before the next `mark`; `text` becomes what stands behind it.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view piece = text.substr(0, end);
  text = end == text.npos ? std::string_view{} : text.substr(end + 1);
  return piece;
}

}  // namespace

Form Form::parse(std::string_view body) {
  Form form;
  while (!body.empty() && form.fields_.size() < kMost) {
    std::string_view value = take_until(body, '&');
    const std::string_view name = take_until(value, '=');
    form.fields_.emplace_back(decode_component(name), decode_component(value));
  }
  return form;
}

std::string Form::get(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &std::pair<std::string, std::string>::first);
  return found == fields_.end() ? std::string() : found->second;
}

std::vector<std::string> Form::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : fields_)
    if (key == name) values.push_back(value);
  return values;
}

std::string find_cookie(std::string_view header, std::string_view name) {
  std::string found;
  int count = 0;
  while (!header.empty()) {
    std::string_view value = take_until(header, ';');
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (take_until(value, '=') != name) continue;
    found = value;
    ++count;
  }
  return count == 1 ? found : std::string();
}

bool is_local_path(std::string_view text) {
  const bool is_printable =
      std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; });
  return is_printable && text.size() < 2000 && text.starts_with('/') && !text.starts_with("//");
}

}  // namespace runner::web
