// Prints numbered lines until somebody stops it.

#include <cstdio>

int main() {
  for (long line = 0; std::printf("line %ld of very many\n", line) > 0; ++line) {
  }
  return 1;
}
