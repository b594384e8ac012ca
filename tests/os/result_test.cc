#include "sandbox/os/result.h"

#include <cerrno>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace os {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Code::invalid, "odd");
  return number / 2;
}

Result<int> quarter(int number) { return half(TRY(half(number))); }

Result<int> sum_of_halves(int left, int right) {
  return TRY_CONTEXT(half(left), "left") + TRY_CONTEXT(half(right), "right");
}

Result<std::unique_ptr<int>> moved() {
  std::unique_ptr<int> value = TRY(Result<std::unique_ptr<int>>(std::make_unique<int>(7)));
  return value;
}

TEST(Result, TryYieldsTheValueOrReturnsTheError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error(), (Error{Code::invalid, "odd", 0}));
}

TEST(Result, TryContextPutsTheNounBeforeTheMessage) {
  EXPECT_EQ(sum_of_halves(2, 4).value(), 3);
  EXPECT_EQ(sum_of_halves(1, 4).error().message, "left: odd");
  EXPECT_EQ(sum_of_halves(2, 3).error().message, "right: odd");
}

TEST(Result, TryMovesWhatCannotBeCopied) { EXPECT_EQ(*moved().value(), 7); }

TEST(Result, ErrnoDecidesTheCodeAndIsKept) {
  const Error missing = fail_errno(ENOENT, "open x").error();
  EXPECT_EQ(missing.code, Code::not_found);
  EXPECT_EQ(missing.sys_errno, ENOENT);
  EXPECT_EQ(missing.message, "open x: No such file or directory");
  EXPECT_EQ(fail_errno(EACCES, "").error().code, Code::denied);
  EXPECT_EQ(fail_errno(EEXIST, "").error().code, Code::conflict);
  EXPECT_EQ(fail_errno(ENOSPC, "").error().code, Code::exhausted);
  EXPECT_EQ(fail_errno(EAGAIN, "").error().code, Code::unavailable);
  EXPECT_EQ(fail_errno(ETIMEDOUT, "").error().code, Code::timeout);
  EXPECT_EQ(fail_errno(ELOOP, "").error().code, Code::invalid);
  EXPECT_EQ(fail_errno(EIO, "").error().code, Code::internal);
}

TEST(Result, UnknownErrnoStillGivesAMessage) {
  EXPECT_EQ(fail_errno(99'999, "act").error().message, "act: unknown error");
}

TEST(Result, EveryCodeHasAWord) {
  EXPECT_EQ(code_name(Code::invalid), "invalid");
  EXPECT_EQ(code_name(Code::not_found), "not_found");
  EXPECT_EQ(code_name(Code::internal), "internal");
}

TEST(ResultDeathTest, CheckEndsTheProgramWithItsReason) {
  check(true, "nothing happens");
  EXPECT_DEATH(check(false, "two is three"), "broken invariant: two is three");
}

}  // namespace
}  // namespace os
