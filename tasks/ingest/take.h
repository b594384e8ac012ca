// Takes one posted change in: what `ingest take` does.
#pragma once

#include <string>

#include "tasks/git.h"
#include "tasks/plan.h"

namespace tasks::ingest {

// Where the files lie: see main.cc for their names.
struct TakePaths {
  std::string in = "/in";
  std::string out = "/out";
};

// The result, with files written below `out`. A refused change is a value; an Error is ours or the
// machine's.
os::Result<IngestResult> take(const Plan& plan, const TakePaths& paths);

}  // namespace tasks::ingest
