// Opens files until the limit of the process. Prints how many; exits 0 when it was EMFILE.

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

int main() {
  int count = 0;
  while (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 && count < 1'000'000) ++count;
  std::printf("%d\n", count);
  return errno == EMFILE ? 0 : 1;
}
