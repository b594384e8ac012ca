// Writes a file (`filler` in the current directory, or the path given) until nothing more fits or 1
// GiB is there. Prints how many KiB fitted; exits 0 when the file system was full.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

int main(int count, char** arguments) {
  const char* const path = count > 1 ? arguments[1] : "filler";
  const int file = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  static const std::array<char, 65536> kBlock{};
  for (long written = 0; written < 1L << 30U;) {
    const ssize_t put = ::write(file, kBlock.data(), kBlock.size());
    if (put < 0) {
      std::printf("%ld\n", written / 1024);
      return errno == ENOSPC ? 0 : 1;
    }
    written += put;
  }
  return 1;
}
