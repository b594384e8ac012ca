// What the threads of serve share, and where things lie in the data directory.
#pragma once

#include <cstdint>
#include <string>

#include "runner/attest/audit_log.h"
#include "runner/attest/notary.h"
#include "runner/config.h"
#include "runner/evidence_copy.h"
#include "runner/executor/executor.h"
#include "runner/promotion/project_git.h"
#include "runner/store/store.h"
#include "runner/tree_folder.h"

namespace runner {

// Made once by the service; all references outlive every thread that uses them.
struct ServiceContext {
  const Config& config;
  std::string instance;
  store::Store& store;
  EvidenceFolder& evidence;
  TreeFolder& trees;
  Executor& executor;
  ProjectGit& git;
  const Notary& notary;   // signs what is promoted
  const AuditLog& audit;  // every decision is appended to it
};

// attempts/<attempt>/<fence>
std::string attempt_path(const Config& config, const std::string& attempt, std::int64_t fence);
// quarantine/<task>: <candidate>.pack and <candidate>.idx
std::string quarantine_path(const Config& config, const std::string& task);
// packs/<id>.pack
std::string pack_path(const Config& config, const std::string& id);
// layers/<key>
std::string layer_path(const Config& config, const std::string& key);

// Makes the data directory and what it holds.
os::Result<void> make_data_directory(const Config& config);

// Copies a plain file beneath `directory` to `target`, durably; at most `limit` bytes. False: there
// is no such file.
os::Result<bool> copy_file_beneath(int directory, const std::string& path,
                                   const std::string& target, std::size_t limit);

// Share of the data's file system in use, in millionths.
os::Result<std::int64_t> disk_use_millionths(const Config& config);

}  // namespace runner
