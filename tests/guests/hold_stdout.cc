// Exits 0 at once, but leaves a child that keeps standard output open for a minute.

#include <unistd.h>

#include <cstdio>

int main() {
  std::puts("before the end");
  std::fflush(stdout);
  if (::fork() == 0) ::sleep(60);
  return 0;
}
