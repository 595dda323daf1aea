// Asks for the process number by the system calls of another architecture.
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

#include "tests/misbehave/act.h"

int main(int count, char** words) {
  const std::string_view way = count > 1 ? words[1] : "";
#if defined(__x86_64__)
  if (way == "int80") {
    long result = 20;  // getpid() of i386
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    misbehave::tell(result > 0, static_cast<int>(-result));
  }
  if (way == "x32") misbehave::tell(::syscall(0x40000000L + SYS_getpid) > 0);
#endif
  misbehave::usage("other_architecture int80|x32");
}
