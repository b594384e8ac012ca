// Backtest: what another policy would have decided on evidence that was kept.
#pragma once

#include <string>

#include "gates/verdict.h"

namespace gates {

struct Replay {
  std::string unknown;  // why the evidence cannot tell; empty: `judgement` holds
  Judgement judgement;
};

// Judges evidence that was gathered under `then` by `now`. It cannot tell where `now` guards other
// files of the change (other runs would have been made), changes a step that ran, or wants a run or
// comparison that was not made. Pure, like `judge`; intents verify and promote.
Replay replay(const tasks::Policy& then, const tasks::Policy& now, const tasks::Evidence& evidence);

}  // namespace gates
