// Leaks; built with LeakSanitizer, which stops and traces its own process to find it.
#include <cstdlib>

static void* volatile lost;

int main() {
  lost = std::malloc(64);
  lost = nullptr;
  return 0;
}
