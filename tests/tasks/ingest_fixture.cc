#include "tests/tasks/ingest_fixture.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tasks/ingest/take.h"

namespace tests {
namespace fs = std::filesystem;

namespace {

void write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace

GitFiles IngestTest::base_files() {
  return {{"proofhouse.yaml", {std::string(kPolicy)}},
          {"README.md", {"# A project\n"}},
          {"run.sh", {"#!/bin/sh\necho one\n", "100755"}},
          {"link", {"src", "120000"}},
          {"empty", {""}},
          {"crlf.txt", {"a\r\nb\r\nc\r\n"}},
          {"open.txt", {"one\ntwo"}},
          {"data.bin", {std::string("\0\1\2\3binary\0", 11)}},
          {"src/lib.cc", {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n"}},
          {"src/other.cc", {"int other;\n"}},
          {"tests/lib_test.cc", {"test\n"}}};
}

IngestTest::IngestTest()
    : inputs_(*os::TempDir::create("ingest-in")),
      repository_(inputs_ / "repo"),
      base_(repository_.commit(base_files())) {}

tasks::IngestSpec IngestTest::spec() {
  tasks::IngestSpec spec;
  spec.base = base_;
  spec.tip = base_;
  spec.author = "alice";
  spec.title = "Make it better";
  spec.time = 1'700'000'000;
  return spec;
}

tasks::IngestResult IngestTest::take(const tasks::IngestSpec& spec) {
  outputs_ = *os::TempDir::create("ingest-out");
  tasks::Plan plan;
  plan.kind = tasks::AttemptKind::ingest;
  plan.task = "t_1";
  plan.ingest = spec;
  const os::Result<tasks::IngestResult> result =
      tasks::ingest::take(plan, {.in = inputs_.path(), .out = outputs_->path()});
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  EXPECT_EQ(read_out("ingest.json"), tasks::ingest_result_to_json(*result));
  return *result;
}

tasks::IngestResult IngestTest::take_patch(std::string_view patch) {
  write(in("change.patch"), patch);
  tasks::IngestSpec asked = spec();
  asked.patch_file = "in/change.patch";
  return take(asked);
}

tasks::IngestResult IngestTest::take_commit(const tasks::CommitId& commit) {
  tasks::IngestSpec asked = spec();
  asked.source = tasks::IngestSpec::Source::commit;
  asked.commit = commit;
  return take(asked);
}

std::string IngestTest::code_of(const tasks::IngestResult& result) {
  return result.refusal ? result.refusal->code : "";
}

std::string IngestTest::read_out(std::string_view name) const {
  const os::Result<std::string> text = os::read_file(out(name));
  return text ? *text : "(" + text.error().message + ")";
}

std::vector<std::string> IngestTest::written(const tasks::TreeId& tree) const {
  const fs::path root = out("trees/" + tree.hex());
  std::vector<std::string> lines;
  if (!fs::exists(root)) return {"(no tree)"};
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name =
        fs::relative(entry.path().parent_path(), root) / entry.path().filename();
    const std::string path = name.starts_with("./") ? name.substr(2) : name;
    if (entry.is_symlink())
      lines.push_back(path + " -> " + fs::read_symlink(entry.path()).string());
    else if (entry.is_regular_file())
      lines.push_back(path + ": " + *os::read_file(entry.path().string()));
  }
  std::ranges::sort(lines);
  return lines;
}

}  // namespace tests
