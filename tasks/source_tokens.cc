#include "tasks/source_tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tasks {
namespace {

bool starts_word(char letter) {
  return std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

bool is_word_letter(char letter) { return starts_word(letter) || is_digit(letter); }

// Longest first.
constexpr auto kSigns = std::to_array<std::string_view>(
    {"<<=", ">>=", "...", "<=>", "->*", "**=", "//=", "==", "!=", "<=", ">=",
     "&&",  "||",  "<<",  ">>",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=",
     "&=",  "|=",  "^=",  "->",  "::",  ".*",  "##",  "**", "//", ":=", "@="});

class Scanner {
 public:
  Scanner(std::string_view source, SourceLanguage language)
      : source_(source), is_python_(language == SourceLanguage::python) {}

  std::vector<SourceToken> run() {
    while (at_ < source_.size()) {
      if (skip_blank() || skip_comment()) continue;
      take(next());
    }
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  std::string_view rest() const { return source_.substr(at_); }

  void skip_to(std::size_t end) {
    end = std::min(end, source_.size());
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    if (const std::size_t newline = source_.substr(at_, end - at_).rfind('\n');
        newline != std::string_view::npos)
      is_line_begin_ = true;
    at_ = end;
  }

  bool skip_blank() {
    if (std::isspace(static_cast<unsigned char>(peek())) == 0) return false;
    skip_to(at_ + 1);
    return true;
  }

  // The end of the line, past newlines that a backslash joins.
  std::size_t line_end() const {
    std::size_t end = source_.find('\n', at_);
    while (end != std::string_view::npos && end > 0 && source_[end - 1] == '\\')
      end = source_.find('\n', end + 1);
    return end;
  }

  bool skip_comment() {
    if (is_python_) {
      if (peek() != '#') return false;
      skip_to(source_.find('\n', at_));
      return true;
    }
    if (rest().starts_with("//") || (peek() == '#' && is_line_begin_)) {
      skip_to(line_end());
      return true;
    }
    if (!rest().starts_with("/*")) return false;
    const std::size_t end = source_.find("*/", at_ + 2);
    skip_to(end == std::string_view::npos ? end : end + 2);
    return true;
  }

  // The end of a literal that the quote at `from` begins; a plain one ends with its line.
  std::size_t quoted_end(std::size_t from) const {
    const std::string_view triple = source_.substr(from, 3);
    if (is_python_ && (triple == "\"\"\"" || triple == "'''")) {
      const std::size_t end = source_.find(triple, from + 3);
      return end == std::string_view::npos ? source_.size() : end + 3;
    }
    std::size_t end = from + 1;
    while (end < source_.size() && source_[end] != source_[from] && source_[end] != '\n')
      end += source_[end] == '\\' ? 2U : 1U;
    return std::min(end + 1, source_.size());
  }

  // R"mark( … )mark"
  std::size_t raw_end(std::size_t quote) const {
    const std::size_t open = source_.find('(', quote);
    if (open == std::string_view::npos || open - quote > 17) return quoted_end(quote);
    std::string close = ")";
    close += source_.substr(quote + 1, open - quote - 1);
    close += '"';
    const std::size_t end = source_.find(close, open);
    return end == std::string_view::npos ? source_.size() : end + close.size();
  }

  std::size_t number_end() const {
    std::size_t end = at_ + 1;
    while (end < source_.size()) {
      const char letter = source_[end];
      const char before = source_[end - 1];
      const bool is_exponent = (letter == '+' || letter == '-') &&
                               std::string_view("eEpP").contains(before) &&
                               !source_.substr(at_, 2).starts_with("0x");
      const bool is_separator = letter == '\'' && !is_python_ && end + 1 < source_.size() &&
                                std::isxdigit(static_cast<unsigned char>(source_[end + 1])) != 0;
      if (!is_word_letter(letter) && letter != '.' && !is_exponent && !is_separator) break;
      ++end;
    }
    return end;
  }

  SourceToken next() {
    using Kind = SourceToken::Kind;
    std::size_t end = at_ + 1;
    Kind kind = Kind::sign;
    if (starts_word(peek())) {
      kind = Kind::name;
      while (end < source_.size() && is_word_letter(source_[end])) ++end;
      const std::string_view word = source_.substr(at_, end - at_);
      // A prefix of a literal: u8R"…", rb'…'.
      if (word.size() <= 3 && end < source_.size() &&
          (source_[end] == '"' || source_[end] == '\'')) {
        kind = Kind::text;
        end = !is_python_ && word.ends_with('R') ? raw_end(end) : quoted_end(end);
      }
    } else if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) {
      kind = Kind::number;
      end = number_end();
    } else if (peek() == '"' || peek() == '\'') {
      kind = Kind::text;
      end = quoted_end(at_);
    } else {
      for (const std::string_view sign : kSigns)
        if (rest().starts_with(sign)) {
          end = at_ + sign.size();
          break;
        }
    }
    return {kind, source_.substr(at_, end - at_), at_, line_};
  }

  void take(const SourceToken& token) {
    tokens_.push_back(token);
    skip_to(token.end());
    is_line_begin_ = false;
  }

  std::string_view source_;
  bool is_python_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool is_line_begin_ = true;
  std::vector<SourceToken> tokens_;
};

bool is_one_of(const SourceToken& token, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, token.spelling) != words.end();
}

// Functions of C and C++: a name behind a type, parentheses, and a body outside of another body.
class CFunctions {
 public:
  explicit CFunctions(const std::vector<SourceToken>& tokens) : tokens_(tokens) {}

  std::vector<SourceFunction> run() const {
    std::vector<SourceFunction> found;
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const std::size_t body = body_of(i);
      if (body == 0) continue;
      if (std::optional<SourceFunction> function = function_at(i, body)) found.push_back(*function);
      i = std::min(closing_bracket(tokens_, body), tokens_.size() - 1);
    }
    return found;
  }

 private:
  // The opening brace of what may be a function whose name is token `i`; 0: it is none.
  std::size_t body_of(std::size_t i) const {
    if (tokens_[i].kind != SourceToken::Kind::name || !tokens_[i + 1].is("(")) return 0;
    if (is_one_of(tokens_[i], {"if", "for", "while", "switch", "catch", "return", "sizeof",
                               "decltype", "alignas", "noexcept", "requires"}))
      return 0;
    std::size_t at = closing_bracket(tokens_, i + 1) + 1;
    bool is_type = false;
    for (; at < tokens_.size(); ++at) {
      const SourceToken& token = tokens_[at];
      if (token.is("{")) return at;
      if (token.is("->")) is_type = true;
      if (token.is("(") && tokens_[at - 1].is("noexcept")) at = closing_bracket(tokens_, at);
      const bool is_part =
          is_one_of(token, {"const", "noexcept", "override", "final", "volatile", "&", "&&", "("});
      if (!is_part && !is_type) return 0;
      if (is_one_of(token, {";", "}", "="})) return 0;
    }
    return 0;
  }

  std::optional<SourceFunction> function_at(std::size_t name, std::size_t body) const {
    std::size_t type = name;
    while (type >= 2 && tokens_[type - 1].is("::") &&
           tokens_[type - 2].kind == SourceToken::Kind::name) {
      if (tokens_[type - 2].is(tokens_[name].spelling)) return std::nullopt;  // a constructor
      type -= 2;
    }
    if (type == 0) return std::nullopt;
    const SourceToken& before = tokens_[type - 1];
    const bool is_type = before.kind == SourceToken::Kind::name
                             ? !is_one_of(before, {"operator", "else", "new", "return", "explicit"})
                             : is_one_of(before, {"*", "&", "&&", ">", ">>"});
    if (!is_type) return std::nullopt;
    SourceFunction function{
        .name = tokens_[name].spelling, .body = tokens_[body].end(), .indent = {}};
    function.returns_nothing = before.is("void");
    for (std::size_t i = type; i > 0 && !is_one_of(tokens_[i - 1], {";", "{", "}"}); --i)
      if (is_one_of(tokens_[i - 1], {"constexpr", "consteval"})) function.is_constant = true;
    return function;
  }

  const std::vector<SourceToken>& tokens_;
};

std::vector<SourceFunction> python_functions(std::string_view source,
                                             const std::vector<SourceToken>& tokens) {
  std::vector<SourceFunction> found;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (!tokens[i].is("def") || !tokens[i + 2].is("(")) continue;
    std::size_t colon = closing_bracket(tokens, i + 2);
    while (colon < tokens.size() && !tokens[colon].is(":")) ++colon;
    if (colon >= tokens.size() || tokens[i + 1].spelling.starts_with("__")) continue;
    // A body on the line of the head has no place for another statement.
    if (colon + 1 >= tokens.size() || tokens[colon + 1].line == tokens[colon].line) continue;
    const std::size_t word = tokens[colon + 1].at;
    const std::size_t begin = source.rfind('\n', word) + 1;
    found.push_back({.name = tokens[i + 1].spelling,
                     .body = begin,
                     .indent = source.substr(begin, word - begin)});
  }
  return found;
}

bool ends_with_any(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings,
                             [path](std::string_view ending) { return path.ends_with(ending); });
}

}  // namespace

std::optional<SourceLanguage> source_language(std::string_view path) {
  if (path.ends_with(".py")) return SourceLanguage::python;
  if (is_header(path) || ends_with_any(path, {".c", ".cc", ".cpp", ".cxx"}))
    return SourceLanguage::c_family;
  return std::nullopt;
}

bool is_header(std::string_view path) { return ends_with_any(path, {".h", ".hh", ".hpp", ".hxx"}); }

std::vector<SourceToken> source_tokens(std::string_view source, SourceLanguage language) {
  return Scanner(source, language).run();
}

std::size_t closing_bracket(const std::vector<SourceToken>& tokens, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (is_one_of(tokens[i], {"(", "[", "{"})) ++depth;
    if (is_one_of(tokens[i], {")", "]", "}"}) && --depth == 0) return i;
  }
  return tokens.size();
}

std::vector<SourceFunction> source_functions(std::string_view source, SourceLanguage language) {
  const std::vector<SourceToken> tokens = source_tokens(source, language);
  return language == SourceLanguage::python ? python_functions(source, tokens)
                                            : CFunctions(tokens).run();
}

}  // namespace tasks
