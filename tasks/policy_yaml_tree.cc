#include "tasks/policy_yaml_tree.h"

#include <algorithm>
#include <sstream>
#include <tuple>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "sandbox/os/utf8.h"

namespace tasks {
namespace {

constexpr std::size_t kMaxPolicyBytes = 256U << 10U;
constexpr std::size_t kMaxDepth = 16;

Place place_of(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  });
}

// Builds the tree from the parser's events. After a problem it goes on, to find more of them.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(PolicyProblems& problems) : problems_(problems) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      problems_.add(place_of(mark), "a policy is one document, here is another");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add({YamlNode::Kind::nothing, place_of(mark), "", {}});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    problems_.add(place_of(mark), "aliases (*name) are not allowed: write the value again");
    add({YamlNode::Kind::nothing, place_of(mark), "", {}});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (has_controls(value)) problems_.add(place_of(mark), "control characters are not allowed");
    const bool is_plain = tag == "?";
    add({YamlNode::Kind::scalar, place_of(mark), value, {}}, is_plain);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open({YamlNode::Kind::list, place_of(mark), "", {}});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open({YamlNode::Kind::map, place_of(mark), "", {}});
  }
  void OnMapEnd() override { close(); }

  YamlNode take() { return std::move(root_); }

 private:
  // An open list or map. A map takes a key, then its value.
  struct Open {
    YamlNode* node = nullptr;  // nullptr: below something that is not kept
    bool has_key = false;
  };

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) problems_.add(place_of(mark), "anchors (&name) are not allowed");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // "?" is a plain, "!" a quoted scalar: neither was written.
    if (!tag.empty() && tag != "?" && tag != "!")
      problems_.add(place_of(mark), "tags (!name) are not allowed");
  }

  // Takes a value as the key, the key's value, the list's next or the root.
  YamlNode* add(YamlNode node, bool is_plain = false) {
    if (open_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    Open& parent = open_.back();
    const bool is_key = parent.node != nullptr && parent.node->kind == YamlNode::Kind::map &&
                        !std::exchange(parent.has_key, !parent.has_key);
    if (parent.node == nullptr) return nullptr;
    if (is_key) {
      add_key(*parent.node, std::move(node), is_plain);
      return nullptr;
    }
    if (parent.node->kind == YamlNode::Kind::list)
      parent.node->entries.push_back({"", node.place, {}});
    YamlEntry& entry = parent.node->entries.back();
    entry.value = std::move(node);
    return &entry.value;
  }

  void add_key(YamlNode& map, YamlNode key, bool is_plain) {
    if (key.kind != YamlNode::Kind::scalar)
      problems_.add(key.place, "a key is one word");
    else if (is_plain && key.text == "<<")
      problems_.add(key.place, "merge keys (<<) are not allowed");
    else if (map.find(key.text) != nullptr)
      problems_.add(key.place, "key '" + key.text + "' stands twice");
    map.entries.push_back({std::move(key.text), key.place, {}});
  }

  void open(YamlNode node) {
    const Place place = node.place;
    YamlNode* kept = add(std::move(node));
    if (open_.size() == kMaxDepth) problems_.add(place, "nesting is over 16 levels");
    if (open_.size() >= kMaxDepth) kept = nullptr;
    open_.push_back({kept, false});
  }
  void close() { open_.pop_back(); }

  PolicyProblems& problems_;
  YamlNode root_;
  std::vector<Open> open_;
  int documents_ = 0;
};

// Reports the first byte that is no text.
bool is_text(std::string_view text, PolicyProblems& problems) {
  Place place;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = os::decode_utf8(text.substr(i)).bytes;
    if (length == 0 || has_controls(text.substr(i, length))) {
      problems.add(place, length == 0 ? "invalid UTF-8" : "control characters are not allowed");
      return false;
    }
    ++place.column;
    if (text[i] == '\n') place = {place.line + 1, 1};
    i += length;
  }
  return true;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  if (kind != Kind::map) return nullptr;
  const auto found = std::ranges::find(entries, key, &YamlEntry::key);
  return found == entries.end() ? nullptr : &found->value;
}

void PolicyProblems::add(Place place, std::string message) {
  if (problems_.size() < kMost) problems_.push_back({place.line, place.column, std::move(message)});
}

std::vector<PolicyProblem> PolicyProblems::take() {
  std::ranges::stable_sort(problems_, {}, [](const PolicyProblem& problem) {
    return std::tuple(problem.line, problem.column);
  });
  return std::move(problems_);
}

std::optional<YamlNode> read_yaml_tree(std::string_view text, PolicyProblems& problems) {
  if (text.size() > kMaxPolicyBytes) {
    problems.add({}, "a policy is at most 256 KiB");
    return std::nullopt;
  }
  if (!is_text(text, problems)) return std::nullopt;
  TreeBuilder builder(problems);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      problems.add({}, "the policy is empty");
      return std::nullopt;
    }
    YamlNode tree = builder.take();
    while (problems.empty() && parser.HandleNextDocument(builder)) {
    }
    if (!problems.empty()) return std::nullopt;
    return tree;
  } catch (const YAML::Exception& error) {
    const Place place = error.mark.is_null() ? Place{} : place_of(error.mark);
    problems.add(place, "not valid YAML: " + error.msg);
    return std::nullopt;
  }
}

}  // namespace tasks
