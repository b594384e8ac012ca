// Leaves a grandchild in a session of its own that sleeps, deaf to all signals that can be ignored.
// The first process sleeps as many seconds as given (default 0), then exits 0.

#include <unistd.h>

#include <csignal>
#include <cstdlib>

int main(int argc, char** argv) {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
    for (int i = 0; i < 3; ++i) ::close(i);
    ::sleep(60);
    ::_exit(0);
  }
  ::usleep(100'000);
  if (argc > 1) ::sleep(static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)));
  return 0;
}
