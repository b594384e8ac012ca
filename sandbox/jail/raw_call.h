// System calls without the C library, for processes that borrow the memory of another one: errno
// and the allocator's state belong to that one while it runs.
#pragma once

#include <sys/syscall.h>

namespace sandbox::jail {

// One system call (x86-64; man 2 syscall). The result, or an error number negated.
inline long raw_call(long number, long first = 0, long second = 0, long third = 0, long fourth = 0,
                     long fifth = 0) {
  long result = number;
  register long argument_four __asm__("r10") = fourth;
  register long argument_five __asm__("r8") = fifth;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(first), "S"(second), "d"(third), "r"(argument_four), "r"(argument_five)
                   : "rcx", "r11", "memory");
  return result;
}

// The same with an address as argument.
template <class T>
long raw_address(T* pointer) {
  return static_cast<long>(reinterpret_cast<__UINTPTR_TYPE__>(pointer));
}

}  // namespace sandbox::jail
