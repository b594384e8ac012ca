// Words and members that several of our records share.
#pragma once

#include <array>
#include <string_view>

#include "tasks/change.h"
#include "tasks/json_archive.h"
#include "tasks/policy.h"

namespace tasks::archive {

template <>
struct Words<ReportFormat> {
  static constexpr std::array<std::string_view, 13> kAll{
      "gtest-json", "ctest-junit", "tap",        "google-benchmark", "gtest-xml",
      "pytest",     "catch2",      "nextest",    "go-test",          "criterion",
      "metrics",    "npy",         "safetensors"};
};
template <>
struct Words<GateKind> {
  static constexpr std::array<std::string_view, 5> kAll{"tests", "benchmark", "diff", "determinism",
                                                        "parity"};
};
template <>
struct Words<GateClock> {
  static constexpr std::array<std::string_view, 3> kAll{"report", "outside-cpu", "outside-wall"};
};
template <>
struct Words<Assurance> {
  static constexpr std::array<std::string_view, 3> kAll{"in-process", "out-of-process", "sealed"};
};
template <>
struct Words<Intent> {
  static constexpr std::array<std::string_view, 3> kAll{"run", "verify", "promote"};
};

template <>
struct Fields<Claims> {
  static void visit(auto& archive, auto& claims) {
    archive("text", claims.text);
    archive("fixes", claims.fixes);
    archive("removes", claims.removes);
    archive.added("faster", claims.faster);
  }
};

template <>
struct Fields<DiffFile> {
  static void visit(auto& archive, auto& file) {
    archive("status", file.status);
    archive("path", file.path);
    archive("old_path", file.old_path);
    archive("added", file.added);
    archive("removed", file.removed);
    archive("binary", file.binary);
  }
};

template <>
struct Fields<Diff> {
  static void visit(auto& archive, auto& diff) {
    archive("files", diff.files);
    archive("digest", diff.digest);
  }
};

template <>
struct Fields<Refusal> {
  static void visit(auto& archive, auto& refusal) {
    archive("code", refusal.code);
    archive("path", refusal.path);
    archive("line", refusal.line);
    archive("detail", refusal.detail);
  }
};

template <>
struct Fields<IngestResult> {
  static void visit(auto& archive, auto& result) {
    archive.schema(1);
    archive("refusal", result.refusal);
    archive("base", result.base);
    archive("base_tree", result.base_tree);
    archive("candidate", result.candidate);
    archive("tree", result.tree);
    archive("mixed_tree", result.mixed_tree);
    archive("guarded", result.guarded);
    archive("diff", result.diff);
    archive("policy_sha256", result.policy_sha256);
  }
};

}  // namespace tasks::archive
