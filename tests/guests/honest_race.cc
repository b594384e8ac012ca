// Two threads write without a lock; built with ThreadSanitizer, which says so.
#include <thread>

static int shared_value;

int main() {
  std::thread other([] { shared_value = 1; });
  shared_value = 2;
  other.join();
  return shared_value == 3 ? 1 : 0;
}
