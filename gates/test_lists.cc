#include "gates/test_lists.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "gates/runs.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/reports/report.h"

namespace gates {

namespace {

using tasks::CaseStatus;
using tasks::Side;
using tasks::TestCase;

bool is_bad(const TestCase& test) {
  return test.status == CaseStatus::failed || test.status == CaseStatus::error;
}

// A test that passed although it says that it fails did pass.
bool has_passed(const TestCase& test) {
  return test.status == CaseStatus::passed || test.status == CaseStatus::xpass;
}

// A test that failed as it says it does shows no more than one that was skipped.
bool has_run(const TestCase& test) {
  return has_passed(test) || test.status == CaseStatus::flaky || is_bad(test);
}

class Comparison {
 public:
  explicit Comparison(const TestLists& lists)
      : lists_(lists),
        fixes_(lists.claims->fixes.begin(), lists.claims->fixes.end()),
        removes_(lists.claims->removes.begin(), lists.claims->removes.end()) {
    if (lists.base == nullptr) return;
    for (const TestCase& test : lists.base->cases) base_.emplace(test.id, &test);
  }

  TestFindings run() {
    std::unordered_set<std::string_view> present;
    for (const TestCase& test : lists_.subject->cases) {
      present.insert(test.id);
      if (lists_.base == nullptr) {
        judge_verdict_of(test);
      } else if (has_passed(test)) {
        judge_passed(test);
      } else if (test.status == CaseStatus::flaky) {
        judge_flaky(test);
      } else if (is_bad(test)) {
        judge_bad(test);
      } else {
        judge_not_run(test);
      }
    }
    if (lists_.base != nullptr) {
      for (const TestCase& test : lists_.base->cases) {
        if (!present.contains(test.id)) judge_gone(test);
      }
    }
    return findings_;
  }

 private:
  const TestCase* on_base(const TestCase& test) const {
    const auto found = base_.find(test.id);
    return found == base_.end() ? nullptr : found->second;
  }

  bool is_mixed() const { return lists_.of == Side::mixed; }
  bool is_claimed_fix(const TestCase& test) const {
    return !is_mixed() && fixes_.contains(test.id);
  }
  bool is_removed(const TestCase& test) const { return removes_.contains(test.id); }

  Reason reason(const TestCase& test, std::string_view what) const {
    return Reason{fmt::format("{} {}{}", one_line(test.id, 200), what, side_suffix(lists_.of)),
                  test.id,
                  lists_.run,
                  {}};
  }

  // "failed: expected 3, got 4 (tests/ring_test.cc:41)"
  static std::string failure_words(const TestCase& test) {
    std::string words = test.status == CaseStatus::error ? "ended with an error" : "failed";
    if (!test.message.empty()) words += ": " + one_line(test.message);
    if (!test.file.empty()) words += fmt::format(" ({}:{})", one_line(test.file, 200), test.line);
    return words;
  }

  void fail(const TestCase& test, std::string_view what) {
    findings_.failures.push_back(reason(test, what));
  }
  void note(const TestCase& test, std::string_view what) {
    findings_.notes.push_back(reason(test, what));
  }

  void judge_verdict_of(const TestCase& test) {
    if (test.status == CaseStatus::passed) {
      ++findings_.passed;
    } else if (is_bad(test)) {
      ++findings_.bad;
      fail(test, failure_words(test));
    } else {
      fail(test, fmt::format("was not judged ({})", tasks::case_status_name(test.status)));
    }
  }

  void judge_passed(const TestCase& test) {
    ++findings_.passed;
    const TestCase* const base = on_base(test);
    if (base == nullptr) ++findings_.fresh;
    if (base != nullptr && is_bad(*base)) ++findings_.fixed;
    if (is_claimed_fix(test)) {
      if (base == nullptr) {
        note(test, "is claimed as fixed and is not on the base: it counts as failing there");
      } else if (has_passed(*base)) {
        fail(test, "is claimed as fixed, but passes on the base too");
      } else if (!has_run(*base)) {
        note(test, "is claimed as fixed and does not run on the base: it counts as failing there");
      }
    }
    if (!is_mixed() && is_removed(test)) fail(test, "is claimed as removed, but is still there");
  }

  // It failed and passed when its runner tried it again: that never hides a test which the base
  // passes at once.
  void judge_flaky(const TestCase& test) {
    const TestCase* const base = on_base(test);
    const std::string_view what = "passed only when it was tried again (flaky)";
    if (base == nullptr) {
      fail(test, fmt::format("is new and {}", what));
    } else if (has_passed(*base)) {
      fail(test, fmt::format("{}, but passes on the base", what));
    } else if (is_claimed_fix(test)) {
      fail(test, fmt::format("is claimed as fixed, but {}", what));
    } else {
      ++findings_.passed;
      note(test,
           fmt::format("{}; on the base it is {}", what, tasks::case_status_name(base->status)));
    }
  }

  void judge_bad(const TestCase& test) {
    ++findings_.bad;
    const TestCase* const base = on_base(test);
    const bool fails_on_base = base != nullptr && is_bad(*base);
    const std::string words = failure_words(test);
    if (is_mixed() && (is_removed(test) || (fails_on_base && fixes_.contains(test.id)))) {
      note(test, words + ", as the claims allow,");
    } else if (is_claimed_fix(test)) {
      fail(test, "is claimed as fixed, but " + words);
    } else if (fails_on_base) {
      findings_.suspects.insert(test.id);
      findings_.base_failures.push_back(reason(test, words + "; also fails on base"));
    } else {
      findings_.suspects.insert(test.id);
      fail(test, words);
    }
  }

  void judge_not_run(const TestCase& test) {
    const TestCase* const base = on_base(test);
    const std::string_view status = tasks::case_status_name(test.status);
    if (is_claimed_fix(test)) {
      fail(test, fmt::format("is claimed as fixed, but did not run ({})", status));
    } else if (base != nullptr && has_run(*base)) {
      if (is_removed(test)) {
        note(test, fmt::format("no longer runs ({}), as claimed", status));
      } else {
        fail(test, test.status == CaseStatus::xfail
                       ? std::string("fails, which is expected now (xfail), but runs on the base")
                       : fmt::format("did not run ({}), but runs on the base", status));
      }
    } else if (base == nullptr && test.status == CaseStatus::notrun && !is_removed(test)) {
      fail(test, "is new and did not run");
    } else {
      ++findings_.skipped;
    }
  }

  void judge_gone(const TestCase& test) {
    if (is_removed(test)) {
      note(test, "is gone, as claimed");
    } else if (is_claimed_fix(test)) {
      fail(test, "is claimed as fixed, but is gone");
    } else if (has_run(test)) {
      fail(test, is_bad(test) ? "is gone (it fails on the base)" : "is gone: the base has it");
    }
  }

  const TestLists& lists_;
  std::unordered_map<std::string_view, const TestCase*> base_;
  std::unordered_set<std::string_view> fixes_;
  std::unordered_set<std::string_view> removes_;
  TestFindings findings_;
};

}  // namespace

TestFindings compare_tests(const TestLists& lists) { return Comparison(lists).run(); }

}  // namespace gates
