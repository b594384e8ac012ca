// Document: read access to a JSON text by pointers, so that tests need no JSON library of their
// own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tests {

// A parsed JSON text. Copies share it.
class Document {
 public:
  // A text that is no JSON gives a document in which nothing is found.
  explicit Document(std::string_view text = {});

  // The value at a JSON pointer (RFC 6901): a string as it is, null or absent as "", all else as
  // JSON text.
  std::string at(const std::string& pointer) const;
  // The same as a whole number; -1 where there is none.
  long number(const std::string& pointer) const;
  // Members of the array or object there; 0 where there is none.
  std::size_t size(const std::string& pointer) const;
  // True if a value other than null is there.
  bool has(const std::string& pointer) const;
  // The elements of an array of strings.
  std::vector<std::string> texts(const std::string& pointer) const;
  // The pointer of the first element of the array whose member `key` is the string `value`; a
  // pointer at which nothing is found where there is none.
  std::string find(const std::string& array, const std::string& key,
                   const std::string& value) const;

 private:
  const nlohmann::json* look(const std::string& pointer) const;
  std::shared_ptr<const nlohmann::json> json_;
};

// The body of POST /v1/tasks; what is empty is left out.
struct TaskBody {
  std::string project = "sample";
  std::string patch, commit, pack, base;
  std::string intent = "promote";
  std::string title;
  std::vector<std::string> steps;
  std::vector<std::string> fixes, removes;

  std::string json() const;
};

// An object of strings.
std::string object_of(const std::map<std::string, std::string>& members);

}  // namespace tests
