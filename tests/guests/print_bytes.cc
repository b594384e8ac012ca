// Prints as many bytes as given: lines of ten digits that count the bytes before them.

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0;
  for (long at = 0; at + 10 <= count; at += 10) std::printf("%09ld\n", at);
  return 0;
}
