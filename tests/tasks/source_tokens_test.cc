#include "tasks/source_tokens.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

using tasks::SourceLanguage;

std::vector<std::string> spellings(std::string_view source, SourceLanguage language) {
  std::vector<std::string> all;
  for (const tasks::SourceToken& token : tasks::source_tokens(source, language))
    all.emplace_back(token.spelling);
  return all;
}

std::vector<std::string> names(std::string_view source, SourceLanguage language) {
  std::vector<std::string> all;
  for (const tasks::SourceFunction& function : tasks::source_functions(source, language))
    all.emplace_back(function.name);
  return all;
}

using Texts = std::vector<std::string>;

TEST(SourceTokens, LeaveCommentsAndPreprocessorLinesOut) {
  EXPECT_EQ(
      spellings("#define A \\\n  b\n// c\nint /* d */ x = 1'000u; # e\n", SourceLanguage::c_family),
      (Texts{"int", "x", "=", "1'000u", ";", "#", "e"}));
  EXPECT_EQ(spellings("a = b  # c\nd", SourceLanguage::python), (Texts{"a", "=", "b", "d"}));
}

TEST(SourceTokens, TakeLiteralsWhole) {
  EXPECT_EQ(
      spellings("f(\"a\\\"(\", R\"x(\")\")x\", '\\'', 1.5e-3)", SourceLanguage::c_family),
      (Texts{"f", "(", "\"a\\\"(\"", ",", "R\"x(\")\")x\"", ",", "'\\''", ",", "1.5e-3", ")"}));
  EXPECT_EQ(spellings("x = b'''a\n'b''' + f'c'", SourceLanguage::python),
            (Texts{"x", "=", "b'''a\n'b'''", "+", "f'c'"}));
}

TEST(SourceTokens, KnowTheirLines) {
  const auto tokens = tasks::source_tokens("a\n\n/*\n*/ b", SourceLanguage::c_family);
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[0].line, 1);
  EXPECT_EQ(tokens[1].line, 4);
}

TEST(SourceTokens, TakeAnyBytes) {
  for (const std::string_view broken : {"\"", "R\"", "R\"(", "'''", "/*", "#\\", "(", "\xff\x01"})
    for (const SourceLanguage language : {SourceLanguage::c_family, SourceLanguage::python})
      EXPECT_LE(tasks::source_functions(broken, language).size(), 0U);
}

TEST(SourceFunctions, OfCppAreThoseWithATypeAndABody) {
  EXPECT_EQ(names("namespace n {\nstruct S { S() {} ~S() {} int get() const { return 1; } };\n"
                  "S::S(int x) : x_(x) {}\nint declared(int);\n"
                  "std::vector<int> made(int a) noexcept { if (a) { return {}; } return {}; }\n"
                  "auto S::last() -> int { return 2; }\nTEST(A, B) { f(); }\n}",
                  SourceLanguage::c_family),
            (Texts{"get", "made", "last"}));
}

TEST(SourceFunctions, TellWhatTheyReturnAndWhetherACompilerMayRunThem) {
  const auto found = tasks::source_functions("void a() {}\nconstexpr int b(int x) { return x; }\n",
                                             SourceLanguage::c_family);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].returns_nothing);
  EXPECT_FALSE(found[0].is_constant);
  EXPECT_FALSE(found[1].returns_nothing);
  EXPECT_TRUE(found[1].is_constant);
  EXPECT_EQ(found[0].body, 10U);
}

TEST(SourceFunctions, OfPythonBeginWhereTheirFirstStatementStands) {
  constexpr std::string_view kSource =
      "class C:\n    def one(self, x={}) -> int:\n        # why\n\n        return x\n"
      "def short(): pass\n";
  const auto found = tasks::source_functions(kSource, SourceLanguage::python);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "one");
  EXPECT_EQ(found[0].indent, "        ");
  EXPECT_EQ(kSource.substr(found[0].body, 14), "        return");
}

}  // namespace
