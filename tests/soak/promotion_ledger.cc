#include "tests/soak/promotion_ledger.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "sandbox/os/files.h"
#include "tests/runner/house.h"

namespace soak {
namespace {

std::set<std::string> first_words(const Lines& lines) {
  std::set<std::string> words;
  for (const auto& line : lines) words.insert(line.at(0));
  return words;
}

// Every task that ended landed is on the target once, and every commit there that nobody else
// pushed is of one such task.
void check_landed(const std::map<std::string, std::string>& landed, const Lines& history,
                  const std::set<std::string>& pushing, Ledger& ledger) {
  std::set<std::string> there;
  for (const auto& commit : history) {
    if (pushing.contains(commit.at(0))) continue;
    there.insert(commit.at(0));
    if (!landed.contains(commit.at(0)))
      ledger.problems.push_back(commit.at(0) + " is on the target and no change says so");
  }
  for (const auto& [commit, change] : landed)
    if (!there.contains(commit))
      ledger.problems.push_back("change " + change + " landed and " + commit + " is not there");
}

void check_changes(const RoundPlace& place, int changes, const Lines& history,
                   const std::set<std::string>& pushing, Ledger& ledger) {
  std::map<std::string, std::string> landed;  // commit to change
  std::set<std::string> tasks;
  std::set<std::string> numbers;
  for (const auto& end : file_lines(place.ended())) {
    // A kill between the line and what follows it repeats a line, never with another end.
    if (!numbers.insert(end.at(0)).second) continue;
    tasks.insert(end.at(1));
    ++ledger.ends[end.at(2) + " " + end.at(3)];
    const bool has_landed = end.size() > 4;
    if (has_landed != (end.at(2) == "accepted"))
      ledger.problems.push_back("change " + end.at(0) + " ended " + end.at(2) +
                                (has_landed ? " and landed" : " and did not land"));
    if (has_landed && !landed.emplace(end.at(4), end.at(0)).second)
      ledger.problems.push_back("two changes landed as " + end.at(4));
  }
  if (std::cmp_not_equal(numbers.size(), changes) || tasks.size() != numbers.size())
    ledger.problems.push_back(std::to_string(numbers.size()) + " changes ended as " +
                              std::to_string(tasks.size()) + " tasks, of " +
                              std::to_string(changes));
  check_landed(landed, history, pushing, ledger);
}

}  // namespace

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;) lines.back().push_back(word);
  }
  return lines;
}

Lines file_lines(const std::string& path) {
  return lines_of(os::read_file(path).value_or(std::string()));
}

void Ledger::add(const Ledger& round) {
  for (const auto& [end, count] : round.ends) ends[end] += count;
  tips += round.tips;
  pushed += round.pushed;
  verifications += round.verifications;
  problems.insert(problems.end(), round.problems.begin(), round.problems.end());
}

Ledger check_round(const RoundPlace& place, const std::string& base, int changes) {
  Ledger ledger;
  // Commit, parent, tree, and the task in its message; merges have more words.
  const Lines history =
      lines_of(tests::shell("git --git-dir=" + place.repository() +
                            " log --reverse --format='%H %T %P' " + base + "..main"));
  const std::set<std::string> pushing = first_words(file_lines(place.pushing()));
  const Lines verified_lines = file_lines(place.verified());
  std::set<std::vector<std::string>> verified(verified_lines.begin(), verified_lines.end());
  ledger.verifications = static_cast<int>(verified_lines.size());
  std::string before = base;
  std::set<std::string> there;
  for (const auto& commit : history) {
    ++ledger.tips;
    there.insert(commit.at(0));
    if (commit.size() != 3 || commit[2] != before)
      ledger.problems.push_back(commit.at(0) + " does not follow the tip before it, " + before);
    before = commit.at(0);
    if (pushing.contains(commit.at(0)))
      ++ledger.pushed;
    else if (!verified.contains({commit.at(2), commit.at(0), commit.at(1)}))
      ledger.problems.push_back(commit.at(0) + " was never verified as what it is");
  }
  for (const std::string& pushed : first_words(file_lines(place.pushed())))
    if (!there.contains(pushed)) ledger.problems.push_back("the pushed " + pushed + " is lost");
  // Each task makes one commit, whose message names it.
  const Lines trailers = lines_of(tests::shell(
      "git --git-dir=" + place.repository() +
      " log --format='%(trailers:key=Proofhouse-Task,valueonly,separator=)' " + base + "..main"));
  std::multiset<std::string> landed_tasks;
  for (const auto& line : trailers)
    if (!line.empty()) landed_tasks.insert(line.at(0));
  for (const std::string& task : landed_tasks)
    if (landed_tasks.count(task) != 1) ledger.problems.push_back(task + " landed more than once");
  check_changes(place, changes, history, pushing, ledger);
  return ledger;
}

}  // namespace soak
