#include "sandbox/host.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"

namespace sandbox {
namespace {

constexpr const char* kSlotDirectory = "/run/proofhouse/ids";
constexpr std::uint32_t kSlotSize = 65'536;

struct Range {
  std::uint64_t start = 0;
  std::uint64_t count = 0;
};

bool overlaps(const Range& left, const Range& right) {
  return left.start < right.start + right.count && right.start < left.start + left.count;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ':');) fields.push_back(field);
  return fields;
}

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Ids that somebody else may use: name:start:count of subuid(5), and users and groups.
std::vector<Range> foreign_ranges() {
  std::vector<Range> ranges;
  const auto scan = [&](const char* path, std::size_t start, std::size_t count) {
    const os::Result<std::string> text = os::read_file(path);
    if (!text) return;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> fields = split(line);
      if (fields.size() <= std::max(start, count)) continue;
      const auto first = number(fields[start]);
      const auto length = count == 0 ? std::optional<std::uint64_t>(1) : number(fields[count]);
      if (first && length) ranges.push_back({*first, *length});
    }
  };
  scan("/etc/subuid", 1, 2);
  scan("/etc/subgid", 1, 2);
  scan("/etc/passwd", 2, 0);
  scan("/etc/group", 2, 0);
  return ranges;
}

// The lock of one slot; conflict when another program holds it.
os::Result<os::Fd> lock_slot(int index) {
  TRY(os::make_directories(kSlotDirectory));
  const std::string path = fmt::format("{}/{}", kSlotDirectory, index);
  os::Fd lock = TRY(os::open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK)
    return os::fail(os::Code::conflict, fmt::format("slot {} of ids is taken", index));
  return os::fail_errno("lock " + path);
}

std::uint64_t slot_start(std::uint32_t first, int index) {
  return first + std::uint64_t{kSlotSize} * static_cast<std::uint64_t>(index);
}

}  // namespace

std::vector<std::string> missing_features(const std::vector<Feature>& features,
                                          const std::vector<std::string>& allowed) {
  std::vector<std::string> missing;
  for (const Feature& feature : features)
    if (feature.required && !feature.present &&
        std::ranges::find(allowed, feature.name) == allowed.end())
      missing.push_back(feature.name);
  return missing;
}

os::Result<std::string> environment_digest(const std::vector<std::string>& read_only_paths) {
  os::Sha256Stream stream;
  const os::Result<os::Fd> packages = os::open_file("/var/lib/dpkg/status", O_RDONLY);
  // A machine without dpkg has only its kernel and the given paths to tell it by.
  if (packages) stream.update(TRY(os::sha256_of(packages->get())).digest.hex());
  utsname kernel{};
  if (::uname(&kernel) != 0) return os::fail_errno("uname");
  stream.update(fmt::format("\n{}\n{}\n", kernel.release, kernel.machine));
  for (const std::string& path : read_only_paths) stream.update(path + "\n");
  return stream.finish().hex();
}

os::Result<IdSlot> IdSlot::take(std::uint32_t first, int slots) {
  const std::vector<Range> foreign = foreign_ranges();
  for (int index = 0; index < slots; ++index) {
    const Range range{slot_start(first, index), kSlotSize};
    if (std::ranges::any_of(foreign, [&](const Range& other) { return overlaps(range, other); }))
      continue;
    os::Result<IdSlot> slot = take_index(index, first);
    if (slot || slot.error().code != os::Code::conflict) return slot;
  }
  return os::fail(os::Code::exhausted, fmt::format("all {} slots of ids are taken", slots));
}

os::Result<IdSlot> IdSlot::take_index(int index, std::uint32_t first) {
  const std::uint64_t start = slot_start(first, index);
  // The last id of all is "none" to the kernel.
  if (index < 0 || start + kSlotSize > 0xffff'ffffULL)
    return os::fail(os::Code::invalid, fmt::format("there is no slot {} of ids", index));
  IdSlot slot;
  slot.lock_ = TRY(lock_slot(index));
  slot.index_ = index;
  slot.start_ = static_cast<std::uint32_t>(start);
  return slot;
}

std::vector<int> available_cpus() {
  // Larger than any machine: the kernel refuses a mask shorter than its own.
  constexpr int kMost = 8192;
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(kMost));
  const std::size_t size = CPU_ALLOC_SIZE(kMost);
  std::vector<int> cpus;
  if (!set || ::sched_getaffinity(0, size, set.get()) != 0) return cpus;
  for (int cpu = 0; cpu < kMost; ++cpu)
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set.get())) cpus.push_back(cpu);
  return cpus;
}

os::Result<os::Bytes> total_memory() {
  const std::string text = TRY(os::read_file("/proc/meminfo"));
  std::istringstream in(text);
  std::string key;
  std::uint64_t kibibytes = 0;
  in >> key >> kibibytes;
  if (key != "MemTotal:" || kibibytes == 0)
    return os::fail(os::Code::corrupt, "/proc/meminfo does not begin with MemTotal");
  return os::Bytes{kibibytes << 10U};
}

}  // namespace sandbox
