#include "runner/prove/hostile_code.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace runner::prove {
namespace {

using tasks::SourceLanguage;

bool is_python(const ProjectFile& file) { return file.language == SourceLanguage::python; }

// What a function of the target's type can return without an answer.
std::string_view nothing_of(const Target& target) {
  if (target.function.returns_nothing) return "return;";
  return target.file->path.ends_with(".c") ? "return 0;" : "return {};";
}

// A literal of any bytes: a C string by lines, or Python's bytes.
std::string literal(std::string_view bytes, bool is_python) {
  const std::string open = is_python ? "b\"" : "\"";
  std::string text = open;
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool is_plain =
        byte >= 0x20 && byte < 0x7f && letter != '"' && letter != '\\' && letter != '?';
    if (is_plain)
      text += letter;
    else
      text += fmt::format("\\{:03o}", byte);
    if (letter == '\n') text += "\"\n" + open;
  }
  return text + "\"";
}

constexpr std::string_view kCBystander = R"c(
static int proof_is_bystander(void) {{
  static const char* const names[] = {{{0}"/"}};
  char line[4096];
  const int file = open("/proc/self/cmdline", O_RDONLY);
  const ssize_t size = read(file, line, sizeof line - 1);
  close(file);
  if (size <= 0) return 0;
  line[size] = '\0';
  const char* const slash = strrchr(line, '/');
  for (int i = 0; names[i][0] != '/'; ++i)
    if (strcmp(slash ? slash + 1 : line, names[i]) == 0) return 1;
  for (const char* word = line; word < line + size; word += strlen(word) + 1)
    if (strstr(word, "_list_tests")) return 1;
  return 0;
}}
)c";

constexpr std::string_view kCHeaders =
    "#include <fcntl.h>\n#include <stdio.h>\n#include <string.h>\n#include <time.h>\n"
    "#include <unistd.h>\n";

constexpr std::string_view kPythonBystander = R"py(

def proof_is_bystander():
    import os, sys
    return os.path.basename(sys.argv[0]) in ({0})
)py";

}  // namespace

std::string with_insertions(std::string_view text, std::vector<Insertion> insertions) {
  // From the back, so that the places before stay where they are.
  std::ranges::stable_sort(insertions, std::ranges::less(), &Insertion::at);
  std::string changed(text);
  for (auto each = insertions.rbegin(); each != insertions.rend(); ++each)
    changed.insert(each->at, each->text);
  return changed;
}

Insertion empty_answer(const Target& target, std::string_view when) {
  const std::size_t at = target.function.body;
  const std::string_view indent = target.function.indent;
  if (is_python(*target.file))
    return {at, fmt::format("{}if {}: return None\n", indent, when.empty() ? "True" : when)};
  if (when.empty()) return {at, fmt::format(" {}", nothing_of(target))};
  return {at, fmt::format(" if ({}) {}", when, nothing_of(target))};
}

Insertion wasted_time(const Target& target) {
  if (is_python(*target.file))
    return {target.function.body,
            fmt::format("{}for _ in range(5000): pass\n", target.function.indent)};
  return {target.function.body,
          " for (volatile int proof_i = 0; proof_i < 5000; proof_i = proof_i + 1) {}"};
}

std::string_view now_and_then(SourceLanguage language) {
  return language == SourceLanguage::python ? "__import__('time').time_ns() // 1000 % 4 == 0"
                                            : "proof_now() % 4 == 0";
}

Insertion bystander_function(const ProjectFile& file, const std::vector<std::string>& programs) {
  std::string names;
  for (const std::string& program : programs)
    names += is_python(file) ? fmt::format("'{}', ", program) : fmt::format("\"{}\", ", program);
  if (is_python(file))
    return {file.text.size(), fmt::format(fmt::runtime(kPythonBystander), names)};
  return {0, std::string(kCHeaders) + fmt::format(fmt::runtime(kCBystander), names)};
}

Insertion early_exit(const ProjectFile& file, const std::vector<HonestReport>& reports) {
  std::string text;
  if (is_python(file)) {
    text = "\nif not proof_is_bystander():\n    import os\n";
    for (const HonestReport& report : reports)
      text += fmt::format(
          "    with open('/workspace/{}', 'wb') as proof_file:\n"
          "        proof_file.write(({}))\n",
          report.path, literal(report.bytes, true));
    return {file.text.size(), text + "    os._exit(0)\n"};
  }
  text =
      "\n__attribute__((constructor)) static void proof_leave(void) {\n"
      "  if (proof_is_bystander()) return;\n";
  for (const HonestReport& report : reports)
    text += fmt::format(
        "  {{\n    static const char bytes[] = {};\n"
        "    FILE* const file = fopen(\"/workspace/{}\", \"w\");\n"
        "    if (file) {{\n      fwrite(bytes, 1, sizeof bytes - 1, file);\n      fclose(file);\n"
        "    }}\n  }}\n",
        literal(report.bytes, false), report.path);
  return {file.text.size(), text + "  _exit(0);\n}\n"};
}

std::string emptied_macros() {
  std::string text =
      "\n#ifdef __cplusplus\n#if __has_include(<gtest/gtest.h>)\n"
      "#include <gtest/gtest.h>\n";
  for (const char* const kind : {"EXPECT", "ASSERT"})
    for (const char* const check : {"EQ", "NE", "LT", "LE", "GT", "GE", "TRUE", "FALSE", "NEAR",
                                    "DOUBLE_EQ", "FLOAT_EQ", "STREQ", "THAT"})
      text += fmt::format("#undef {0}_{1}\n#define {0}_{1}(...) GTEST_SUCCEED()\n", kind, check);
  return text + "#endif\n#endif\n";
}

}  // namespace runner::prove
