// Every process forks as fast as it can. Bounded: 12 generations, and each process ends after 20 s.
// With the argument `wait`, the first process then sleeps; else it exits 0 after a second.

#include <unistd.h>

#include <cstring>

int main(int argc, char** argv) {
  const pid_t first = ::getpid();
  ::alarm(20);
  for (int generation = 0; generation < 12; ++generation)
    if (::fork() == 0) ::alarm(20);
  if (::getpid() != first) {
    ::sleep(20);
    return 0;
  }
  const bool waits = argc > 1 && std::strcmp(argv[1], "wait") == 0;
  ::sleep(waits ? 20 : 1);
  return 0;
}
