// The rules of style that a compiler does not know, as tests over the source tree: layers, sizes,
// banned words, heavy headers, files that nothing builds or includes.

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLineColumns = 100;
constexpr std::size_t kMaxSourceLines = 500;
constexpr std::size_t kMaxHeaderLines = 200;
constexpr std::size_t kMaxTestLines = 600;
constexpr std::size_t kMaxFunctionLines = 60;

// A function that may be longer than kMaxFunctionLines, found by a part of its first line.
struct LongFunction {
  std::string_view file;
  std::string_view first_line;
  std::string_view reason;
};
constexpr std::array kLongFunctions{
    LongFunction{"tests/attack/rows_escape.cc", "escape_rows() {", "a table"},
    LongFunction{"tests/attack/rows_escape.cc", "call_rows() {", "a table"},
    LongFunction{"tests/attack/rows.cc", "read_rows() {", "a table"},
    LongFunction{"tests/attack/rows.cc", "exhaust_rows() {", "a table"},
};

// A header that is slow to compile or that binds us to a library, and the only places that may
// include it: each is the beginning of a path. Tests may include any.
struct HeavyHeader {
  std::string_view header;  // beginning of what stands between the include's < > or " "
  std::vector<std::string_view> places;
};
const std::vector<HeavyHeader> kHeavyHeaders{
    {"httplib.h", {"runner/http/server.cc", "runner/cli/client.cc"}},
    {"sqlite3.h", {"runner/store/sqlite.cc"}},
    {"git2", {"tasks/git"}},
    {"yaml-cpp/", {"tasks/policy_yaml", "runner/config", "sandbox/gpu/cdi"}},
    {"boost/process", {"sandbox/os/process"}},
    {"boost/math/", {"gates/statistics"}},
    {"seccomp.h", {"sandbox/seccomp"}},
    {"CLI/", {"runner/cli/"}},
    {"pugixml.hpp", {"tasks/reports/"}},
    {"openssl/", {"sandbox/os/"}},
};

// One file of ours, with its path relative to the root.
struct SourceFile {
  std::string path;
  std::vector<std::string> lines;
};

const fs::path& root() {
  static const fs::path path = PROOFHOUSE_SOURCE_DIR;
  return path;
}

SourceFile read_source(const fs::path& path) {
  SourceFile file{fs::relative(path, root()).string(), {}};
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  return file;
}

bool is_built(std::string_view path) { return path.ends_with(".cc") || path.ends_with(".cu"); }

bool is_cxx(std::string_view path) { return is_built(path) || path.ends_with(".h"); }

bool is_build_file(std::string_view path) {
  return path.ends_with("CMakeLists.txt") || path.ends_with(".cmake");
}

// The sample projects, cheating changes and test data are input of ours, not our code.
bool is_sample(std::string_view path) {
  return std::ranges::any_of(
      std::array<std::string_view, 3>{"tests/examples/", "tests/cheats/", "tests/data/"},
      [path](std::string_view folder) { return path.starts_with(folder); });
}

// Every text file that is ours: sources, build files, scripts, documents.
const std::vector<SourceFile>& all_files() {
  static const std::vector<SourceFile> files = [] {
    std::vector<SourceFile> found;
    const auto take = [&found](const fs::path& path) {
      const std::string name = path.filename().string();
      const bool is_text = is_cxx(name) || is_build_file(name) || name.ends_with(".py") ||
                           name.ends_with(".sh") || name.ends_with(".md") || name == "dev" ||
                           name == "CMakePresets.json";
      if (is_text && !is_sample(fs::relative(path, root()).string())) {
        found.push_back(read_source(path));
      }
    };
    for (const char* const folder : {"cmake", "sandbox", "tasks", "gates", "runner", "tests"}) {
      if (!fs::exists(root() / folder)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
        if (entry.is_regular_file()) take(entry.path());
      }
    }
    for (const auto& entry : fs::directory_iterator(root())) {
      if (entry.is_regular_file()) take(entry.path());
    }
    std::ranges::sort(found, {}, &SourceFile::path);
    return found;
  }();
  return files;
}

std::vector<const SourceFile*> cxx_files() {
  std::vector<const SourceFile*> files;
  for (const SourceFile& file : all_files()) {
    if (is_cxx(file.path)) files.push_back(&file);
  }
  return files;
}

std::string at(const SourceFile& file, std::size_t index) {
  return file.path + ":" + std::to_string(index + 1) + ": ";
}

// What an #include line names, without its < > or " "; empty for another line.
struct Include {
  std::string target;
  bool is_ours = false;
};
Include include_of(std::string_view line) {
  constexpr std::string_view kDirective = "#include ";
  if (!line.starts_with(kDirective) || line.size() < kDirective.size() + 2) return {};
  const char open = line[kDirective.size()];
  const std::size_t begin = kDirective.size() + 1;
  const std::size_t end = line.find(open == '<' ? '>' : '"', begin);
  if (end == std::string_view::npos) return {};
  Include include{std::string(line.substr(begin, end - begin)), false};
  constexpr std::array<std::string_view, 5> kFolders{"sandbox/", "tasks/", "gates/", "runner/",
                                                     "tests/"};
  include.is_ours = std::ranges::any_of(
      kFolders, [&include](std::string_view folder) { return include.target.starts_with(folder); });
  return include;
}

// The layer of a file: it may include those of its own number and below.
int layer_of(std::string_view path) {
  if (path.starts_with("sandbox/os/")) return 0;
  if (path.starts_with("sandbox/")) return 1;
  if (path.starts_with("tasks/")) return 2;
  if (path.starts_with("gates/")) return 3;
  if (path.starts_with("runner/")) return 4;
  return 5;
}

// Characters of a UTF-8 line, not bytes.
std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word_character(line[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == line.size() || !is_word_character(line[end]))) return true;
  }
  return false;
}

TEST(Tidy, FindsTheSourceTree) { EXPECT_GT(cxx_files().size(), 10U) << "wrong root: " << root(); }

TEST(Tidy, NoFileIncludesALayerAboveItsOwn) {
  for (const SourceFile* const file : cxx_files()) {
    for (std::size_t i = 0; i < file->lines.size(); ++i) {
      const Include include = include_of(file->lines[i]);
      if (!include.is_ours || layer_of(include.target) <= layer_of(file->path)) continue;
      ADD_FAILURE() << at(*file, i) << "upward include of " << include.target;
    }
  }
}

// The roles of the service are programs with rights of their own; each has the least code.
TEST(Tidy, SmallProgramsDoNotIncludeTheService) {
  for (const SourceFile* const file : cxx_files()) {
    if (!file->path.starts_with("runner/attempt/")) continue;
    for (std::size_t i = 0; i < file->lines.size(); ++i) {
      const std::string target = include_of(file->lines[i]).target;
      if (!target.starts_with("runner/") || target.starts_with("runner/attempt/")) continue;
      if (target == "runner/version.h") continue;
      ADD_FAILURE() << at(*file, i) << "attempt is built of tasks and gates, not of " << target;
    }
  }
}

TEST(Tidy, GatesStartNoProcess) {
  for (const SourceFile* const file : cxx_files()) {
    if (!file->path.starts_with("gates/")) continue;
    for (std::size_t i = 0; i < file->lines.size(); ++i) {
      const std::string target = include_of(file->lines[i]).target;
      if (target != "sandbox/os/process.h" && target != "sandbox/jail_client.h") continue;
      ADD_FAILURE() << at(*file, i) << "gates are pure, but this includes " << target;
    }
  }
}

TEST(Tidy, HeavyHeadersAreIncludedOnlyWhereTheyBelong) {
  for (const SourceFile* const file : cxx_files()) {
    if (file->path.starts_with("tests/")) continue;
    for (std::size_t i = 0; i < file->lines.size(); ++i) {
      const std::string target = include_of(file->lines[i]).target;
      for (const HeavyHeader& heavy : kHeavyHeaders) {
        if (!target.starts_with(heavy.header)) continue;
        const bool is_allowed = std::ranges::any_of(
            heavy.places, [file](std::string_view place) { return file->path.starts_with(place); });
        if (!is_allowed) ADD_FAILURE() << at(*file, i) << target << " does not belong here";
      }
    }
  }
}

TEST(Tidy, HeadersIncludeNoThirdPartyHeader) {
  for (const SourceFile* const file : cxx_files()) {
    if (!file->path.ends_with(".h") || file->path.starts_with("tests/")) continue;
    for (std::size_t i = 0; i < file->lines.size(); ++i) {
      const Include include = include_of(file->lines[i]);
      const std::string& target = include.target;
      if (target.empty() || include.is_ours || target == "nlohmann/json_fwd.hpp") continue;
      // The standard library has no dot; the system's own headers are C's.
      constexpr std::array<std::string_view, 6> kLibraries{"git2.h",    "httplib.h", "seccomp.h",
                                                           "sqlite3.h", "openssl/",  "git2/"};
      const bool is_library = std::ranges::any_of(
          kLibraries, [&target](std::string_view name) { return target.starts_with(name); });
      const bool is_system =
          target.find('.') == std::string::npos || (target.ends_with(".h") && !is_library);
      if (!is_system || target.starts_with("fmt/") || target.starts_with("spdlog/")) {
        ADD_FAILURE() << at(*file, i) << "third-party header in a header of ours: " << target;
      }
    }
  }
}

TEST(Tidy, IncludesNameFilesFromTheRoot) {
  for (const SourceFile* const file : cxx_files()) {
    for (std::size_t i = 0; i < file->lines.size(); ++i) {
      if (!file->lines[i].starts_with("#include \"")) continue;
      const Include include = include_of(file->lines[i]);
      if (!include.is_ours || !fs::exists(root() / include.target)) {
        // Made by the build, for example embedded assets.
        if (include.target.starts_with("generated/")) continue;
        ADD_FAILURE() << at(*file, i) << "no such file from the root: " << include.target;
      }
    }
  }
}

TEST(Tidy, SourcesIncludeTheirOwnHeaderFirst) {
  for (const SourceFile* const file : cxx_files()) {
    if (!file->path.ends_with(".cc")) continue;
    const std::string header = file->path.substr(0, file->path.size() - 2) + "h";
    if (!fs::exists(root() / header)) continue;
    const auto first = std::ranges::find_if(
        file->lines, [](const std::string& line) { return !include_of(line).target.empty(); });
    if (first == file->lines.end() || include_of(*first).target != header) {
      ADD_FAILURE() << file->path << " does not include " << header << " first";
    }
  }
}

TEST(Tidy, HeadersAreGuarded) {
  for (const SourceFile* const file : cxx_files()) {
    if (!file->path.ends_with(".h")) continue;
    if (std::ranges::find(file->lines, "#pragma once") == file->lines.end()) {
      ADD_FAILURE() << file->path << " lacks #pragma once";
    }
  }
}

TEST(Tidy, FilesAreShort) {
  for (const SourceFile* const file : cxx_files()) {
    std::size_t most = file->path.ends_with(".h") ? kMaxHeaderLines : kMaxSourceLines;
    if (file->path.starts_with("tests/")) most = kMaxTestLines;
    if (file->lines.size() > most) {
      ADD_FAILURE() << file->path << " has " << file->lines.size() << " lines, at most " << most;
    }
  }
}

TEST(Tidy, LinesAreShort) {
  for (const SourceFile* const file : cxx_files()) {
    for (std::size_t i = 0; i < file->lines.size(); ++i) {
      if (columns(file->lines[i]) > kMaxLineColumns) {
        ADD_FAILURE() << at(*file, i) << columns(file->lines[i]) << " columns";
      }
    }
  }
}

bool is_long_by_right(const SourceFile& file, const std::string& first_line) {
  return std::ranges::any_of(kLongFunctions, [&](const LongFunction& entry) {
    return entry.file == file.path && first_line.contains(entry.first_line);
  });
}

// The line on which the block begins that ends on line `end` with `indent` spaces and a brace:
// the nearest line above it with that indent that can begin a declaration.
std::size_t block_begin(const SourceFile& file, std::size_t end, std::size_t indent) {
  for (std::size_t i = end; i-- > 0;) {
    const std::string& line = file.lines[i];
    if (line.find_first_not_of(' ') != indent) continue;
    if (line[indent] == '}' || line[indent] == '#' || line[indent] == '/') continue;
    return i;
  }
  return end;
}

// Relies on clang-format: a function at namespace level ends with a brace in column 0, one in a
// class with a brace in column 2. A block inside a function is never longer than the function.
TEST(Tidy, FunctionsAreShort) {
  for (const SourceFile* const file : cxx_files()) {
    for (std::size_t end = 0; end < file->lines.size(); ++end) {
      for (const std::size_t indent : {std::size_t{0}, std::size_t{2}}) {
        if (file->lines[end] != std::string(indent, ' ') + "}") continue;
        const std::size_t begin = block_begin(*file, end, indent);
        const std::string& first_line = file->lines[begin];
        const std::size_t length = end - begin + 1;
        if (length <= kMaxFunctionLines || is_long_by_right(*file, first_line)) continue;
        ADD_FAILURE() << at(*file, begin) << length << " lines: " << first_line;
      }
    }
  }
}

TEST(Tidy, NoUnfinishedWorkIsLeft) {
  // Spelled with a gap, so that this file does not hold them.
  std::vector<std::string> words{"TO-DO", "FIX-ME", "XX-X",   "HA-CK",       "st-ub",
                                 "St-ub", "st-ubs", "St-ubs", "/wo-rk/main", "/wo-rk/shared"};
  for (std::string& word : words) std::erase(word, '-');
  for (const SourceFile& file : all_files()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (const std::string& word : words) {
        if (has_word(file.lines[i], word)) ADD_FAILURE() << at(file, i) << "holds " << word;
      }
    }
  }
}

// The words of all build files, as "<folder of the build file>/<word>".
std::set<std::string> listed_files() {
  std::set<std::string> listed;
  for (const SourceFile& file : all_files()) {
    if (!is_build_file(file.path)) continue;
    const fs::path folder = fs::path(file.path).parent_path();
    for (std::string line : file.lines) {
      std::ranges::replace_if(line, [](char c) { return c == '(' || c == ')' || c == '"'; }, ' ');
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        if (is_built(word)) listed.insert((folder / word).lexically_normal().string());
      }
    }
  }
  return listed;
}

TEST(Tidy, EverySourceIsBuilt) {
  const std::set<std::string> listed = listed_files();
  for (const SourceFile* const file : cxx_files()) {
    if (is_built(file->path) && !listed.contains(file->path)) {
      ADD_FAILURE() << file->path << " stands in no CMakeLists.txt of its folder";
    }
  }
}

TEST(Tidy, EveryListedSourceExists) {
  for (const std::string& path : listed_files()) {
    if (path.contains('$')) continue;
    if (!fs::exists(root() / path)) ADD_FAILURE() << path << " is listed but missing";
  }
}

TEST(Tidy, EveryHeaderIsIncluded) {
  std::set<std::string> included;
  for (const SourceFile* const file : cxx_files()) {
    for (const std::string& line : file->lines) included.insert(include_of(line).target);
  }
  for (const SourceFile* const file : cxx_files()) {
    if (file->path.ends_with(".h") && !included.contains(file->path)) {
      ADD_FAILURE() << file->path << " is included by nothing";
    }
  }
}

}  // namespace
