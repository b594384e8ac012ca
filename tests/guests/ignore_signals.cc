// Ignores every signal that can be ignored, says so, and sleeps for a minute.

#include <unistd.h>

#include <csignal>
#include <cstdio>

int main() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
  std::puts("deaf");
  std::fflush(stdout);
  for (int i = 0; i < 60; ++i) ::sleep(1);
  return 0;
}
