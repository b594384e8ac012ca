// What a backtest takes and answers: values only.
#pragma once

#include <string>
#include <vector>

namespace runner {

struct BacktestRequest {
  std::string policy_yaml;
  int last = 50;  // judged tasks of the project, the newest: 1..200
};

struct BacktestRow {
  std::string task, title;
  std::string was;    // verdict then
  std::string now;    // verdict by the other policy; empty: it cannot be told
  std::string gate;   // that decides now; empty: none
  std::string words;  // the first reason now, or why it cannot be told
  bool flips() const { return !now.empty() && now != was; }
};

struct Backtest {
  std::string policy_sha256;      // of the other policy's canonical JSON
  std::vector<BacktestRow> rows;  // newest first
};

}  // namespace runner
