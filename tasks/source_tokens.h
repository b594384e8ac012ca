// Source text of C, C++ and Python as tokens: enough to find functions and operators in it, without
// a compiler's knowledge of types. (Debian 12 has tree-sitter, but no grammar for it; clang's
// syntax tree needs the flags of each file.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tasks {

enum class SourceLanguage : std::uint8_t { c_family, python };

// By the name's ending (.c .cc .cpp .cxx .h .hh .hpp .hxx .py); nothing: another language.
std::optional<SourceLanguage> source_language(std::string_view path);

// True for the endings that stand for headers of C and C++.
bool is_header(std::string_view path);

struct SourceToken {
  // `name` is any word, keywords too; `text` a string or character literal.
  enum class Kind : std::uint8_t { name, number, text, sign };
  Kind kind = Kind::sign;
  std::string_view spelling;
  std::size_t at = 0;  // its first byte in the source
  int line = 1;
  bool is(std::string_view other) const { return spelling == other; }
  std::size_t end() const { return at + spelling.size(); }
};

// The tokens of a source, which must outlive them. Comments and lines of the preprocessor are left
// out; any bytes are taken, what is no source text becomes tokens of one byte.
std::vector<SourceToken> source_tokens(std::string_view source, SourceLanguage language);

// The index of the bracket that closes the one at `open` ("(", "[" or "{"); tokens.size(): none.
std::size_t closing_bracket(const std::vector<SourceToken>& tokens, std::size_t open);

// A function with a body, but no constructor, destructor, operator or test macro.
struct SourceFunction {
  std::string_view name;
  std::size_t body = 0;          // byte at which a first statement can be put in
  std::string_view indent;       // Python: what a statement there has to begin with
  bool returns_nothing = false;  // declared `void`
  bool is_constant = false;      // declared constexpr or consteval
};
std::vector<SourceFunction> source_functions(std::string_view source, SourceLanguage language);

}  // namespace tasks
