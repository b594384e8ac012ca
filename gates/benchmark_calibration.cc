#include "gates/benchmark_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/benchmark_rows.h"
#include "gates/benchmark_samples.h"
#include "gates/runs.h"
#include "gates/sequential_test.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;
using tasks::Variant;

Calibration calibrate_base(const Context& context, const tasks::Gate& gate,
                           const tasks::Step& step) {
  Calibration calibration;
  PairSamples samples;
  for (int pair = 0; pair < kCalibrationPairs; ++pair) {
    std::vector<ProcessFigures> figures;
    std::vector<const RunRecord*> records;
    for (const int number : {2 * pair, 2 * pair + 1}) {
      const RunKey key{Side::base, Side::base, step.name, number, Variant::calibration};
      const RunRecord* const record = context.evidence.find(key);
      if (record == nullptr) {
        calibration.next = key;
        return calibration;
      }
      auto read = read_figures(step, *record);
      if (!read) {
        calibration.problem = std::move(read).error();
        calibration.run = record->id;
        return calibration;
      }
      figures.push_back(*std::move(read));
      records.push_back(record);
    }
    const auto disturbances = disturbances_of(*records[0], *records[1]);
    if (auto wrong = samples.take({figures[0], figures[1], disturbances}, {})) {
      calibration.problem = std::move(wrong->problem);
      calibration.run = records[1]->id;
      return calibration;
    }
  }
  TestPlan plan;
  plan.margins = margins_of(gate.tolerance);
  SequentialTest test(plan, samples.names().size());
  test.look(kCalibrationPairs, samples.series(), {});
  for (std::size_t i = 0; i < samples.names().size(); ++i) {
    const TrendResult& result = test.results()[i];
    const bool is_blind = std::log1p(result.detectable) > 2 * plan.margins.upper;
    if (is_blind && !gate.accept_mde) calibration.is_armed = false;
    calibration.reasons.push_back(
        {fmt::format("calibration: {} against itself spreads by {:.1f}%; the smallest slow-down "
                     "that {} pairs find is {:.1f}%",
                     one_line(samples.names()[i], 200), result.spread * 100, kLooks.back(),
                     result.detectable * 100),
         samples.names()[i],
         {},
         {{"spread_ppm", millionths(result.spread)},
          {"detectable_ppm", millionths(result.detectable)}}});
  }
  std::ranges::stable_sort(calibration.reasons, std::ranges::greater{}, [](const Reason& reason) {
    return reason.figures.at("detectable_ppm");
  });
  return calibration;
}

std::map<std::string, std::int64_t> disturbances_of(const RunRecord& left, const RunRecord& right) {
  std::map<std::string, std::int64_t> both = left.disturbances;
  for (const auto& [name, figure] : right.disturbances) {
    both[name] = std::max(both[name], figure);
  }
  return both;
}

}  // namespace gates
