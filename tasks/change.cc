#include "tasks/change.h"

#include <set>

#include "tasks/shared_json.h"

namespace tasks {

std::string_view intent_name(Intent intent) {
  return archive::Words<Intent>::kAll.at(static_cast<std::size_t>(intent));
}

os::Result<Intent> parse_intent(std::string_view name) {
  return archive::parse_word<Intent>(name, "intent");
}

std::vector<std::string> Diff::paths() const {
  std::set<std::string> paths;
  for (const DiffFile& file : files) {
    paths.insert(file.path);
    if (!file.old_path.empty()) paths.insert(file.old_path);
  }
  return {paths.begin(), paths.end()};
}

std::set<TreeId> trees_of(const IngestResult& result) {
  std::set<TreeId> trees{result.base_tree, result.tree};
  if (result.mixed_tree) trees.insert(*result.mixed_tree);
  return trees;
}

std::string ingest_result_to_json(const IngestResult& result) {
  return archive::write_record(result);
}

os::Result<IngestResult> ingest_result_from_json(std::string_view json) {
  return archive::read_record<IngestResult>(json, "ingest result");
}

}  // namespace tasks
