#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tasks/policy.h"

namespace tasks {
namespace {

// One piece of a glob.
struct Token {
  enum class Kind : std::uint8_t {
    literal,
    any_character,  // '?': one, but not '/'
    stars,          // '*': any number, but no '/'
    everything,     // '**': any number
    directories     // '**/' at the beginning or after '/': nothing, or whole directories
  };
  Kind kind = Kind::literal;
  char character = 0;
};

std::vector<Token> split(std::string_view glob) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < glob.size(); ++i) {
    if (glob[i] == '?') {
      tokens.push_back({Token::Kind::any_character});
    } else if (glob[i] != '*') {
      tokens.push_back({Token::Kind::literal, glob[i]});
    } else if (!glob.substr(i).starts_with("**")) {
      tokens.push_back({Token::Kind::stars});
    } else if ((i == 0 || glob[i - 1] == '/') && glob.substr(i).starts_with("**/")) {
      tokens.push_back({Token::Kind::directories});
      i += 2;
    } else {
      tokens.push_back({Token::Kind::everything});
      ++i;
    }
  }
  return tokens;
}

// reached[n]: the tokens so far match the first n characters. Each token is one pass, so the cost
// is the product of both lengths whatever the glob is.
std::vector<bool> step(const Token& token, const std::vector<bool>& reached,
                       std::string_view path) {
  std::vector<bool> next(reached.size(), false);
  for (std::size_t n = 0; n < reached.size(); ++n) {
    const bool is_end = n == path.size();
    switch (token.kind) {
      case Token::Kind::literal:
        if (reached[n] && !is_end && path[n] == token.character) next[n + 1] = true;
        break;
      case Token::Kind::any_character:
        if (reached[n] && !is_end && path[n] != '/') next[n + 1] = true;
        break;
      case Token::Kind::stars:
        if (reached[n]) next[n] = true;
        if (next[n] && !is_end && path[n] != '/') next[n + 1] = true;
        break;
      case Token::Kind::everything:
        if (reached[n]) next[n] = true;
        if (next[n] && !is_end) next[n + 1] = true;
        break;
      case Token::Kind::directories:
        if (reached[n]) next[n] = true;
        break;
    }
  }
  if (token.kind != Token::Kind::directories) return next;
  bool begun = false;
  for (std::size_t n = 0; n < path.size(); ++n) {
    begun = begun || reached[n];
    if (begun && path[n] == '/') next[n + 1] = true;
  }
  return next;
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view path) {
  // As in gitignore: without a '/' a glob is about the name of the file, wherever it lies.
  if (!glob.contains('/') && path.contains('/') && glob != "**")
    path.remove_prefix(path.rfind('/') + 1);
  std::vector<bool> reached(path.size() + 1, false);
  reached[0] = true;
  for (const Token& token : split(glob)) reached = step(token, reached, path);
  return reached[path.size()];
}

}  // namespace tasks
