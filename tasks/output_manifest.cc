#include "tasks/output_manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sandbox/os/digest.h"
#include "sandbox/os/fd.h"

namespace tasks {
namespace {

constexpr std::size_t kMaxFiles = 100'000;

struct Pending {
  os::Fd directory;
  std::string path;
};

os::Result<std::vector<std::string>> names_in(os::Fd directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), ::closedir);
  if (stream == nullptr) return os::fail_errno("list output");
  directory.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxFiles) return os::fail(os::Code::exhausted, "too many output files");
    names.emplace_back(name);
  }
  return names;
}

}  // namespace

os::Result<std::string> output_digest(int directory, const std::string& path) {
  const os::Fd top = TRY(os::open_beneath(directory, path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(top.get(), &info) != 0) return os::fail_errno("stat output");
  if (S_ISREG(info.st_mode)) return TRY(os::sha256_of(top.get())).digest.hex();
  std::vector<std::string> lines;
  std::vector<Pending> pending;
  pending.push_back({TRY(top.duplicate()), ""});
  while (!pending.empty()) {
    const Pending next = std::move(pending.back());
    pending.pop_back();
    const os::Fd again = TRY(os::open_beneath(next.directory.get(), ".", O_RDONLY | O_DIRECTORY));
    for (const std::string& name : TRY(names_in(TRY(again.duplicate())))) {
      const std::string full = next.path.empty() ? name : next.path + "/" + name;
      os::Fd entry = TRY(os::open_beneath(next.directory.get(), name, O_RDONLY | O_NONBLOCK));
      if (::fstat(entry.get(), &info) != 0) return os::fail_errno("stat output");
      if (S_ISDIR(info.st_mode)) {
        pending.push_back({std::move(entry), full});
        continue;
      }
      if (!S_ISREG(info.st_mode)) return os::fail(os::Code::invalid, full + " is no plain file");
      const os::FileDigest file = TRY(os::sha256_of(entry.get()));
      lines.push_back(full + '\0' + file.digest.hex() + " " + std::to_string(file.bytes));
      if (lines.size() > kMaxFiles) return os::fail(os::Code::exhausted, "too many output files");
    }
  }
  std::ranges::sort(lines);
  os::Sha256Stream stream;
  for (const std::string& line : lines) {
    const std::size_t cut = line.find('\0');
    stream.update(line.substr(cut + 1) + " " + line.substr(0, cut) + "\n");
  }
  return stream.finish().hex();
}

}  // namespace tasks
