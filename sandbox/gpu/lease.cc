#include "sandbox/gpu/lease.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process_info.h"
#include "sandbox/wire.h"

namespace sandbox::gpu {
namespace {

using nlohmann::json;

constexpr std::size_t kBookLimit = 1U << 20U;
constexpr std::size_t kMostRecords = 1024;

json to_json(const LeaseRecord& record) {
  return {{"uuid", record.uuid},
          {"state", gpu_state_name(record.state)},
          {"reason", record.reason},
          {"since", record.since},
          {"cordoned", record.is_cordoned},
          {"cordon_reason", record.cordon_reason},
          {"owner", record.owner},
          {"run", record.run},
          {"pid", record.holder.pid},
          {"start", record.holder.start_time},
          {"exclusive", record.is_exclusive},
          {"uses", record.uses}};
}

LeaseRecord record_from(const json& object) {
  LeaseRecord record;
  object.at("uuid").get_to(record.uuid);
  record.state = parse_gpu_state(object.at("state").get<std::string>());
  object.at("reason").get_to(record.reason);
  object.at("since").get_to(record.since);
  object.at("cordoned").get_to(record.is_cordoned);
  object.at("cordon_reason").get_to(record.cordon_reason);
  object.at("owner").get_to(record.owner);
  object.at("run").get_to(record.run);
  object.at("pid").get_to(record.holder.pid);
  object.at("start").get_to(record.holder.start_time);
  object.at("exclusive").get_to(record.is_exclusive);
  object.at("uses").get_to(record.uses);
  return record;
}

// Changes with every start of the machine (man 4 random).
std::string boot_id() {
  return os::read_file("/proc/sys/kernel/random/boot_id", 100).value_or(std::string());
}

// Leases and cleanings of before the last start are over, and so is what was in the memory.
void forget_boot(std::vector<LeaseRecord>& records) {
  for (LeaseRecord& record : records) {
    if (record.state != GpuState::leased && record.state != GpuState::cleaning) continue;
    record.state = GpuState::free;
    record.owner.clear();
    record.run.clear();
    record.holder = {};
  }
}

// Whether the choice is open: nobody has it, and no exclusive lease of a sibling holds it.
bool is_open(const Candidate& one, const std::vector<Candidate>& all, bool exclusive) {
  if (!one.is_free) return false;
  if (one.parent.empty()) return true;
  return std::ranges::none_of(all, [&](const Candidate& other) {
    return other.parent == one.parent && other.uuid != one.uuid && other.is_leased &&
           (exclusive || other.has_exclusive_lease);
  });
}

}  // namespace

bool HolderProcess::is_alive() const {
  if (pid <= 0) return false;
  const os::Result<std::uint64_t> actual = os::process_start_time(pid);
  return actual && *actual == start_time;
}

os::Result<std::vector<std::string>> choose_gpus(std::vector<Candidate> candidates,
                                                 const LeaseRequest& request) {
  const auto is_large = [&](const Candidate& one) { return one.memory >= request.min_memory; };
  const auto large = std::ranges::count_if(candidates, is_large);
  if (std::cmp_less(large, request.count))
    return os::fail(os::Code::invalid,
                    fmt::format("{} GPUs of {} are asked for, and this machine has {}",
                                request.count, os::format_bytes(request.min_memory), large));
  for (const std::string& uuid : request.same) {
    const auto found = std::ranges::find(candidates, uuid, &Candidate::uuid);
    if (found == candidates.end() || !found->is_in_service)
      return os::fail(os::Code::unavailable, fmt::format("{} has left service", uuid));
  }
  std::ranges::sort(candidates, {}, [](const Candidate& one) {
    return std::tuple(one.memory, one.uses, one.uuid);
  });
  const auto is_allowed = [&](const Candidate& one) {
    return request.same.empty() || std::ranges::find(request.same, one.uuid) != request.same.end();
  };
  std::vector<std::string> chosen;
  std::map<std::string, int> siblings;
  for (const Candidate& one : candidates) {
    if (!is_large(one) || !is_allowed(one) || !is_open(one, candidates, request.exclusive))
      continue;
    // Two instances of one GPU would not have it for themselves.
    if (request.exclusive && !one.parent.empty() && siblings[one.parent]++ > 0) continue;
    chosen.push_back(one.uuid);
    if (std::cmp_equal(chosen.size(), request.count)) return chosen;
  }
  return os::fail(os::Code::exhausted,
                  fmt::format("{} of {} GPUs are free", chosen.size(), request.count));
}

os::Result<LeaseBook> LeaseBook::open(const std::string& directory) {
  TRY(os::make_directories(directory, 0755));
  return LeaseBook(directory);
}

os::Result<std::vector<LeaseRecord>> LeaseBook::load() const {
  const os::Result<std::string> text = os::read_file(directory_ + "/book.json", kBookLimit);
  if (!text && text.error().code == os::Code::not_found) return std::vector<LeaseRecord>();
  if (!text) return std::unexpected(text.error());
  std::vector<LeaseRecord> records;
  try {
    const json book = TRY(parse_json(*text));
    if (book.at("schema").get<int>() != 1)
      return os::fail(os::Code::corrupt, "the book of GPU leases is of another version");
    for (const json& object : book.at("gpus")) records.push_back(record_from(object));
    if (book.at("boot").get<std::string>() != boot_id()) forget_boot(records);
  } catch (const json::exception& error) {
    return os::fail(os::Code::corrupt, fmt::format("{}/book.json: {}", directory_, error.what()));
  }
  return records;
}

os::Result<std::vector<LeaseRecord>> LeaseBook::read() const { return load(); }

os::Result<void> LeaseBook::update(
    const std::function<os::Result<void>(std::vector<LeaseRecord>&)>& change) const {
  const os::Fd lock = TRY(os::open_file(directory_ + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) return os::fail_errno("lock the book of GPU leases");
  std::vector<LeaseRecord> records = TRY(load());
  TRY(change(records));
  if (records.size() > kMostRecords)
    return os::fail(os::Code::exhausted, "the book of GPU leases is full");
  json gpus = json::array();
  for (const LeaseRecord& record : records) gpus.push_back(to_json(record));
  return os::write_file_durably(
      directory_ + "/book.json",
      dump_json({{"schema", 1}, {"boot", boot_id()}, {"gpus", std::move(gpus)}}), 0644);
}

LeaseRecord& record_of(std::vector<LeaseRecord>& records, const std::string& uuid) {
  const auto found = std::ranges::find(records, uuid, &LeaseRecord::uuid);
  if (found != records.end()) return *found;
  LeaseRecord& made = records.emplace_back();
  made.uuid = uuid;
  made.since = os::format_time(std::chrono::system_clock::now());
  return made;
}

}  // namespace sandbox::gpu
