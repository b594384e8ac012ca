#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "sandbox/ablation.h"
#include "sandbox/request.h"

/// The rows of the attack suite: what is tried, what has to come of it, and what stands in its way.
namespace tests {

/// What keeps a command out of process 1.
inline const std::vector<sandbox::Layer> kLauncherGuards{
    sandbox::Layer::supervisor_user, sandbox::Layer::undumpable, sandbox::Layer::landlock};

/// What the test does around the guest.
enum class Scene {
  plain,       ///< runs it; its last line, or how it ended, is the answer
  quota,       ///< looks at the group's CPU quota while it runs
  orphan,      ///< looks for processes once it has ended
  collected,   ///< asks for an output that the guest made a link of
  cleared,     ///< has the same removed before the next run
  killed_jail  ///< kills the jail while it runs and looks for processes
};

struct Row {
  std::string id;  ///< group and number of the threat list, a dot, a word
  std::string tries;
  /// Program of tests/guests and its arguments; @WORD stands for something of the test's own
  /// (AttackTest::expand).
  std::vector<std::string> command;
  std::string expected;  ///< the answer
  /// Each a least set of layers without which the attack succeeds: one layer is a sole guard,
  /// several are each other's backup.
  std::vector<std::vector<sandbox::Layer>> guards;
  Scene scene = Scene::plain;
  std::vector<std::string> before = {};  ///< a guest that another sandbox runs first
  std::function<void(sandbox::RunRequest&)> shape = {};  ///< other limits than the usual
};

std::vector<Row> escape_rows();
std::vector<Row> call_rows();
std::vector<Row> read_rows();
std::vector<Row> exhaust_rows();

/// All of them.
std::vector<Row> all_rows();

/// For GoogleTest: the id.
void PrintTo(const Row& row, std::ostream* out);

/// Names of layers with commas between them.
std::string layer_names(const std::vector<sandbox::Layer>& layers);

}  // namespace tests
