#include "gates/benchmark_words.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gates/sequential_test.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/policy.h"

namespace gates {

namespace {

// "1.31x", and with one digit more where two would hide the difference.
std::string ratio_text(double ratio) {
  return fmt::format("{:.{}f}", ratio, std::abs(ratio - 1) < 0.1 ? 3 : 2);
}

bool is_withdrawn(const NamedTrend& trend) {
  return trend.confirmation && !trend.confirmation->is_confirmed;
}

Reason reason_of(const NamedTrend& named, const GateFindings& findings, const tasks::Gate& gate) {
  const TrendResult& trend = named.trend;
  const bool is_mean = named.name == kGeometricMean;
  const std::string bound = is_mean
                                ? fmt::format("{:.2g}% for the mean",
                                              static_cast<double>(gate.tolerance.millionths) / 3e4)
                                : percent(gate.tolerance);
  std::string text = fmt::format("{} is {}x (interval {}–{}, {} pairs), tolerance {}",
                                 one_line(named.name, 200), ratio_text(trend.estimate),
                                 ratio_text(trend.low), ratio_text(trend.high), trend.pairs, bound);
  if (trend.trend == Trend::undecided) {
    text += fmt::format(
        "; undecided: pairs spread by {:.1f}%, the smallest slow-down that {} pairs find is "
        "{:.1f}%",
        trend.spread * 100, kLooks.back(), trend.detectable * 100);
  }
  Reason reason{std::move(text),
                named.name,
                findings.run,
                {{"ratio_ppm", millionths(trend.estimate)},
                 {"low_ppm", millionths(trend.low)},
                 {"high_ppm", millionths(trend.high)},
                 {"spread_ppm", millionths(trend.spread)},
                 {"detectable_ppm", millionths(trend.detectable)},
                 {"outliers", trend.outliers},
                 {"pairs", trend.pairs}}};
  if (named.confirmation) {
    const double ratio = std::exp(named.confirmation->estimate);
    reason.text +=
        named.confirmation->is_confirmed
            ? fmt::format("; {}x in a relinked build too", ratio_text(ratio))
            : fmt::format(
                  "; only {}x in a relinked build: the layout of the code, not its work, "
                  "may make the difference",
                  ratio_text(ratio));
    reason.figures["relinked_ppm"] = millionths(ratio);
  } else if (trend.trend == Trend::regressed && !findings.unconfirmed.empty()) {
    reason.text += "; " + findings.unconfirmed;
  }
  return reason;
}

Reason reason_of(const NamedClaim& claim, const GateFindings& findings) {
  const ClaimResult& result = claim.result;
  const auto state = result.state == ClaimState::held      ? "holds"
                     : result.state == ClaimState::refuted ? "is refuted"
                                                           : "is undecided";
  const double target = 1 / (1 + static_cast<double>(claim.share) / 1e6);
  return {fmt::format("the claim that {} is {} faster {}: it is {}x (interval {}–{}, {} pairs), "
                      "claimed at most {}x",
                      one_line(claim.name, 200), percent(tasks::Share{claim.share}), state,
                      ratio_text(result.estimate), ratio_text(result.low), ratio_text(result.high),
                      result.pairs, ratio_text(target)),
          claim.name,
          findings.run,
          {{"ratio_ppm", millionths(result.estimate)},
           {"low_ppm", millionths(result.low)},
           {"high_ppm", millionths(result.high)},
           {"claimed_ppm", millionths(target)},
           {"pairs", result.pairs}}};
}

// Over that a claim is looked at with suspicion: most such figures are mistakes or tricks.
constexpr std::int64_t kLargeClaim = 1'000'000;

class Conclusion {
 public:
  Conclusion(const GateFindings& findings, const tasks::Gate& gate, GateResult& result)
      : findings_(findings), gate_(gate), result_(result) {}

  void conclude() {
    const std::int64_t slower = add_trends([](const NamedTrend& each) {
      return each.trend.trend == Trend::regressed && !is_withdrawn(each);
    });
    const std::int64_t refuted = add_claims(ClaimState::refuted);
    const std::int64_t withdrawn = add_trends(is_withdrawn);
    const std::int64_t undecided =
        add_trends([](const NamedTrend& each) { return each.trend.trend == Trend::undecided; });
    const std::int64_t open = add_claims(ClaimState::undecided);
    add_claims(ClaimState::held);
    const std::int64_t passed =
        add_trends([](const NamedTrend& each) { return each.trend.trend == Trend::passed; });
    const std::string first = result_.reasons.empty() ? "" : result_.reasons.front().text;
    if (slower + refuted > 0) {
      end(GateStatus::failed, first, slower, "are slower");
    } else if (withdrawn + undecided + open > 0) {
      end(GateStatus::inconclusive, first, withdrawn + undecided + open, "undecided");
    } else {
      result_.status = GateStatus::passed;
      result_.summary =
          fmt::format("{} within {}", counted(passed, "benchmark"), percent(gate_.tolerance));
      if (!findings_.claims.empty()) {
        result_.summary += fmt::format(
            "; {} held", counted(static_cast<std::int64_t>(findings_.claims.size()), "claim"));
      }
    }
    add_notes();
  }

 private:
  void end(GateStatus status, const std::string& first, std::int64_t count, std::string_view what) {
    result_.status = status;
    result_.failure = FailureClass::benchmark;
    result_.summary = first;
    if (count > 1) result_.summary += fmt::format("; {} more {}", count - 1, what);
  }

  // Reasons of one kind, the slowest first; how many.
  template <class Predicate>
  std::int64_t add_trends(Predicate is_chosen) {
    std::vector<NamedTrend> chosen;
    std::ranges::copy_if(findings_.trends, std::back_inserter(chosen), is_chosen);
    std::ranges::stable_sort(chosen, std::ranges::greater{},
                             [](const NamedTrend& each) { return each.trend.estimate; });
    for (const NamedTrend& each : chosen) {
      result_.reasons.push_back(reason_of(each, findings_, gate_));
    }
    return static_cast<std::int64_t>(chosen.size());
  }

  std::int64_t add_claims(ClaimState state) {
    std::int64_t count = 0;
    for (const NamedClaim& claim : findings_.claims) {
      if (claim.result.state != state) continue;
      result_.reasons.push_back(reason_of(claim, findings_));
      ++count;
    }
    return count;
  }

  void add_notes() {
    for (const NamedClaim& claim : findings_.claims) {
      if (claim.share <= kLargeClaim) continue;
      result_.reasons.push_back(
          {fmt::format("odd: a claim of {} for {} deserves a look at what is measured",
                       percent(tasks::Share{claim.share}), one_line(claim.name, 200)),
           claim.name,
           findings_.run,
           {}});
    }
    if (findings_.earlier > 0) {
      result_.reasons.push_back(
          {fmt::format("a retry: {} of this family on the same files did not pass, so this one "
                       "could spend {:.2g} of the error rate",
                       counted(findings_.earlier, "earlier test"),
                       spending_share(findings_.earlier)),
           gate_.name.str(),
           {},
           {{"earlier_tests", findings_.earlier},
            {"spending_ppm", millionths(spending_share(findings_.earlier))}}});
    }
    std::ranges::copy(findings_.notes, std::back_inserter(result_.reasons));
  }

  const GateFindings& findings_;
  const tasks::Gate& gate_;
  GateResult& result_;
};

}  // namespace

std::optional<std::string> claimed_benchmark(std::string_view key, std::string_view gate) {
  if (!key.starts_with(gate)) return std::nullopt;
  key.remove_prefix(gate.size());
  if (key.empty()) return std::string();
  if (!key.starts_with('/')) return std::nullopt;
  return std::string(key.substr(1));
}

void conclude_benchmark(const GateFindings& findings, const tasks::Gate& gate, GateResult& result) {
  Conclusion(findings, gate, result).conclude();
}

}  // namespace gates
