#include "hermetic/backends/linux/filter_program.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace hermetic::linux_backend {
namespace {

constexpr std::uint32_t kNotUnderstood = SECCOMP_RET_ERRNO | unsigned{EPERM};

bool holds(const sock_filter& instruction, std::uint32_t accumulator) {
  switch (BPF_OP(instruction.code)) {
    case BPF_JEQ: return accumulator == instruction.k;
    case BPF_JGT: return accumulator > instruction.k;
    case BPF_JGE: return accumulator >= instruction.k;
    case BPF_JSET: return (accumulator & instruction.k) != 0;
    default: return false;
  }
}

}  // namespace

// The part of classic BPF that libseccomp writes: loads of a word, a mask, jumps and answers.
std::uint32_t answer_of(std::span<const sock_filter> program, const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  for (std::size_t place = 0; place < program.size(); ++place) {
    const sock_filter& instruction = program[place];
    switch (instruction.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (instruction.k > sizeof data - sizeof accumulator) return kNotUnderstood;
        std::memcpy(&accumulator, reinterpret_cast<const std::byte*>(&data) + instruction.k,
                    sizeof accumulator);
        break;
      case BPF_ALU | BPF_AND | BPF_K: accumulator &= instruction.k; break;
      case BPF_JMP | BPF_JA: place += instruction.k; break;
      case BPF_JMP | BPF_JEQ | BPF_K:
      case BPF_JMP | BPF_JGT | BPF_K:
      case BPF_JMP | BPF_JGE | BPF_K:
      case BPF_JMP | BPF_JSET | BPF_K:
        place += holds(instruction, accumulator) ? instruction.jt : instruction.jf;
        break;
      case BPF_RET | BPF_K: return instruction.k;
      default: return kNotUnderstood;
    }
  }
  return kNotUnderstood;
}

}  // namespace hermetic::linux_backend
