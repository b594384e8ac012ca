// Writes to a file in the directory given (default /dev/shm) until that fails or 1 GiB is there.
// Exits 0 when the file system was full (ENOSPC), else 1.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

int main(int argc, char** argv) {
  const std::string path = std::string(argc > 1 ? argv[1] : "/dev/shm") + "/hog";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  static const std::array<char, 1U << 20U> kBlock{};
  for (int i = 0; i < 1024; ++i)
    if (::write(file, kBlock.data(), kBlock.size()) < 0) return errno == ENOSPC ? 0 : 1;
  return 1;
}
