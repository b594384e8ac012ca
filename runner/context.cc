#include "runner/context.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "sandbox/os/files.h"

namespace runner {

std::string attempt_path(const Config& config, const std::string& attempt, std::int64_t fence) {
  return config.data + "/attempts/" + attempt + "/" + std::to_string(fence);
}

std::string quarantine_path(const Config& config, const std::string& task) {
  return config.data + "/quarantine/" + task;
}

std::string pack_path(const Config& config, const std::string& id) {
  return config.data + "/packs/" + id + ".pack";
}

std::string layer_path(const Config& config, const std::string& key) {
  return config.data + "/layers/" + key;
}

os::Result<void> make_data_directory(const Config& config) {
  // Attempts reach their own directories by way of data/ and attempts/, and can list neither.
  TRY(os::make_directories(config.data, 0711));
  for (const auto& [name, mode] :
       {std::pair{"attempts", mode_t{0711}}, std::pair{"trees", mode_t{0700}},
        std::pair{"layers", mode_t{0700}}, std::pair{"repos", mode_t{0700}},
        std::pair{"quarantine", mode_t{0700}}, std::pair{"packs", mode_t{0700}},
        std::pair{"evidence", mode_t{0700}}, std::pair{"keys", mode_t{0700}}})
    TRY(os::make_directories(config.data + "/" + name, mode));
  return {};
}

os::Result<bool> copy_file_beneath(int directory, const std::string& path,
                                   const std::string& target, std::size_t limit) {
  const os::Result<os::Fd> source = os::open_beneath(directory, path, O_RDONLY | O_NONBLOCK);
  if (!source && source.error().code == os::Code::not_found) return false;
  if (!source) return std::unexpected(source.error());
  struct stat info{};
  if (::fstat(source->get(), &info) != 0) return os::fail_errno("stat " + path);
  if (!S_ISREG(info.st_mode)) return os::fail(os::Code::corrupt, path + " is no plain file");
  const std::string unfinished = target + ".tmp";
  const os::Fd file = TRY(os::open_file(unfinished, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  std::string piece(std::size_t{256} << 10U, '\0');
  std::size_t copied = 0;
  while (true) {
    const ssize_t count = ::read(source->get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::fail_errno("read " + path);
    if (count == 0) break;
    copied += static_cast<std::size_t>(count);
    if (copied > limit) return os::fail(os::Code::exhausted, path + " is too large");
    TRY(os::write_all(file.get(), {piece.data(), static_cast<std::size_t>(count)}));
  }
  if (::fsync(file.get()) != 0) return os::fail_errno("sync " + target);
  if (::rename(unfinished.c_str(), target.c_str()) != 0) return os::fail_errno("keep " + target);
  const os::Fd parent =
      TRY(os::open_file(target.substr(0, target.rfind('/')), O_RDONLY | O_DIRECTORY));
  if (::fsync(parent.get()) != 0) return os::fail_errno("sync the directory of " + target);
  return true;
}

os::Result<std::int64_t> disk_use_millionths(const Config& config) {
  struct statvfs info{};
  if (::statvfs(config.data.c_str(), &info) != 0) return os::fail_errno("statvfs " + config.data);
  // As df(1) counts: what is reserved for root counts as used.
  const std::uint64_t used = info.f_blocks - info.f_bfree;
  const std::uint64_t usable = used + info.f_bavail;
  if (usable == 0) return 0;
  return static_cast<std::int64_t>(used * 1'000'000 / usable);
}

}  // namespace runner
