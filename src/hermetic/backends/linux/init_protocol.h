// What hermetic and its pid 1 say to each other, over one SOCK_SEQPACKET socket, whole messages
// only.
//
// Freestanding: src/init has no standard library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hermetic::linux_backend {

inline constexpr int kInitSocket = 3;  // the descriptor that init finds it under

// The first message to init: this header, then `filter_count` BPF instructions of 8 bytes, then
// `observer_count` more, then the directory with its closing NUL. The command's words and
// environment are init's own argv and envp.
struct InitConfig {
  std::uint32_t filter_count = 0;
  std::uint32_t observer_count =
      0;  // of a filter that only asks to be told; 0: nobody wants to know
  std::uint32_t directory_size = 0;    // with the NUL
  std::uint8_t own_terminal = 0;       // standard input is a terminal of the sandbox's own
  std::uint8_t stay_when_alone = 0;    // go on when hermetic is gone
  std::uint8_t only_this_program = 0;  // allow_exec: false
  std::uint8_t padding = 0;
  // With only_this_program: the one execveat() that the filter lets through carries this number in
  // its unused sixth argument. Nobody inside can look into init or into the filter, and the program
  // that starts does not know it.
  std::uint64_t program_key = 0;
  // With own_uptime: the host's monotonic clock, which that of the command must stand below. Some
  // kernels have time namespaces and let execve() stay in the old one. 0: nothing to check.
  std::uint64_t host_clock_nanoseconds = 0;
};
static_assert(sizeof(InitConfig) == 32);

// Stands in the filter, which is compiled before there is a run, for the key of the run.
inline constexpr std::uint64_t kProgramKeyPlaceholder = 0xC0DE5EEDA11A5EC2;

inline constexpr std::uint32_t kMostFilterInstructions = 2048;
inline constexpr std::size_t kLargestConfig =
    sizeof(InitConfig) + std::size_t{8} * kMostFilterInstructions + 4096;

// Later messages to init: send this signal.
struct InitSignal {
  std::int32_t number = 0;
  std::uint32_t to_all = 0;  // to every process inside, not only to the command
};

// Messages from init, or from the child that becomes it.
struct InitReport {
  enum class Kind : std::uint32_t {
    StepFailed,  // value is the index of the script's step; nothing has run
    NotStarted,  // os_error is why execve() failed
    Terminal,    // comes with a descriptor: our side of the sandbox's terminal
    Observer,    // comes with a descriptor: the listener of the observing filter
    Started,
    Ended,  // wait_status and usage are final: every process inside is gone
  };

  Kind kind = Kind::Started;
  std::uint32_t step = 0;
  std::int32_t os_error = 0;
  std::int32_t wait_status = 0;
  std::uint64_t user_microseconds = 0;  // of all processes that were ever inside
  std::uint64_t system_microseconds = 0;
  std::uint64_t peak_kilobytes = 0;
};

// Steps of init itself, numbered after those of any script, so that an error can name them.
enum class InitStep : std::uint32_t {
  ReadConfig = 1000000,
  StartProcess,
  NewSession,
  TakeTerminal,
  ChangeDirectory,
  CheckClock,
  Observe,
  LoadFilter,
};

}  // namespace hermetic::linux_backend
