// The system calls of init, made directly: it has no C library, whose start-up alone would cost
// more than everything that init does.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "init knows how to make system calls on x86-64 and arm64"
#endif

namespace hermetic::init {

// Returns the kernel's answer: a negative errno on failure.
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
#if defined(__x86_64__)
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#else
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#endif
}

inline long address(const void* pointer) { return reinterpret_cast<long>(pointer); }

}  // namespace hermetic::init
