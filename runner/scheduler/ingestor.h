// Ingestor: takes a change in by an attempt of kind ingest, while somebody waits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runner/context.h"
#include "runner/scheduler/attempt_watch.h"
#include "sandbox/os/guarded.h"
#include "tasks/plan.h"

namespace runner {

// What is taken in. `spec` says what; its files are made from the bytes and paths here.
struct IngestOrder {
  std::string task;        // the id that the task has or will have: goes into the commit's trailer
  std::string repository;  // bare repository, shown read-only
  tasks::Intent intent = tasks::Intent::promote;
  tasks::IngestSpec spec;
  std::string patch;        // bytes of spec.source patch
  std::string pack;         // path of a pack with objects that the project lacks; empty: none
  std::string policy_yaml;  // policy held by the server; empty: the tip's own
};

// What came out. The attempt's directory may be removed once the last copy of this is gone.
class Ingested {
 public:
  tasks::IngestResult result;

  // Canonical JSON of the policy in force.
  os::Result<std::string> policy_json() const;
  // The diff as shown to a reviewer.
  os::Result<std::string> diff() const;
  // The same as lines: canonical JSON of a tasks::DiffView.
  os::Result<std::string> diff_view() const;
  // Copies the candidate's pack and index to quarantine/<task>/<commit>.{pack,idx}.
  os::Result<void> keep_objects(const Config& config, const std::string& task) const;

 private:
  friend class Ingestor;
  struct Directory;
  std::shared_ptr<Directory> directory_;
};

// Safe from any thread; at most config.caps.ingests at a time.
class Ingestor {
 public:
  // Both outlive this object.
  Ingestor(const ServiceContext& context, AttemptWatch& watch);
  ~Ingestor();

  // Runs the ingest to its end. A refusal of the change is in the result. exhausted: too many are
  // under way; timeout: no result in time; unavailable: the executor cannot, or a fault of ours.
  os::Result<Ingested> take(const IngestOrder& order);
  // Removes the directories that nobody needs any more; those of attempts that are still ending
  // are tried again at the next call.
  void remove_ended();

 private:
  os::Result<void> stage(const IngestOrder& order, const std::string& attempt,
                         const std::string& directory);
  os::Result<tasks::Evidence> run(const IngestOrder& order, const std::string& attempt);

  struct Gate;
  const ServiceContext& context_;
  AttemptWatch& watch_;
  std::unique_ptr<Gate> gate_;
  // Attempts whose directories are to go; shared with what take() gave away.
  std::shared_ptr<os::Guarded<std::vector<std::string>>> done_;
};

}  // namespace runner
