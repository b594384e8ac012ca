// Makes empty files in the current directory until no more can be made or there are 100,000. Prints
// how many; exits 0 when the file system had no inode left.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

int main() {
  for (int i = 0; i < 100'000; ++i) {
    const int file =
        ::open(("f" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
      std::printf("%d\n", i);
      return errno == ENOSPC ? 0 : 1;
    }
    ::close(file);
  }
  return 1;
}
