// What hermetic and its pid 1 say to each other, over one SOCK_SEQPACKET socket, whole messages
// only.
//
// Freestanding: src/init has no standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace hermetic::linux_backend {

inline constexpr int kInitSocket = 3;  // the descriptor that init finds it under

// What must fail inside, and is tried there before the command runs. Bits of InitConfig::probes.
enum class Probe : std::uint32_t { Tcp, Udp, Dns, Ring, Vsock, Listen, Secret, Input };
inline constexpr std::uint32_t kProbeCount = 8;
// A name below it is asked for: the key of the run in 16 hexadecimal digits, so that the question
// is known for the probe's, and no command can ask it. RFC 6761: it is nowhere.
inline constexpr char kProbeDomain[] = "hermetic-probe.invalid";  // NOLINT(*-avoid-c-arrays)

// The first message to init: this header, then `filter_count` BPF instructions of 8 bytes, then
// `observer_count` more, then the directory, the secret and the input, each with its closing NUL.
// The command's words and environment are init's own argv and envp.
struct InitConfig {
  std::uint32_t filter_count = 0;
  std::uint32_t observer_count =
      0;  // of a filter that only asks to be told; 0: nobody wants to know
  std::uint32_t directory_size = 0;  // with the NUL
  std::uint8_t own_terminal = 0;  // 1 and more: the stream that is a terminal of its own, from 1 on
  std::uint8_t stay_when_alone = 0;    // go on when hermetic is gone
  std::uint8_t only_this_program = 0;  // allow_exec: false
  std::uint8_t count_network = 0;      // there is a loopback of its own to count
  // Known to init alone. A sendmsg() that carries it in its unused sixth argument is not asked
  // about, and with only_this_program the filter lets the one execveat() through that does so, too.
  // Nobody inside can look into init or into the filter, and the program that starts does not know
  // it.
  std::uint64_t program_key = 0;
  // With own_uptime: the host's monotonic clock, which that of the command must stand below. Some
  // kernels have time namespaces and let execve() stay in the old one. 0: nothing to check.
  std::uint64_t host_clock_nanoseconds = 0;
  std::uint32_t probes = 0;       // bits; 0: nothing is tried
  std::uint32_t secret_size = 0;  // with the NUL
  std::uint32_t input_size = 0;
  std::uint32_t open_files = 0;  // of each process; 0: as many as the caller may
};
static_assert(sizeof(InitConfig) == 48);

// Stands in the filter, which is compiled before there is a run, for the key of the run.
inline constexpr std::uint64_t kProgramKeyPlaceholder = 0xC0DE5EEDA11A5EC2;

// What of a personality(2) the command may have: the machine's name as a 32-bit one (PER_LINUX32),
// addresses that are not random (ADDR_NO_RANDOMIZE).
inline constexpr std::uint32_t kAllowedPersonality = 0x00040008;

inline constexpr std::uint32_t kMostFilterInstructions = 2048;
inline constexpr std::size_t kLargestConfig =
    sizeof(InitConfig) + std::size_t{8} * kMostFilterInstructions + std::size_t{3} * 4096;

// Where the parts start. In 64 bits: no count can wrap around to a smaller one.
[[nodiscard]] constexpr std::uint64_t observer_begin(const InitConfig& config) {
  return sizeof config + std::uint64_t{8} * config.filter_count;
}
[[nodiscard]] constexpr std::uint64_t directory_begin(const InitConfig& config) {
  return observer_begin(config) + std::uint64_t{8} * config.observer_count;
}

[[nodiscard]] constexpr std::uint64_t secret_begin(const InitConfig& config) {
  return directory_begin(config) + config.directory_size;
}
[[nodiscard]] constexpr std::uint64_t input_begin(const InitConfig& config) {
  return secret_begin(config) + config.secret_size;
}

// Is a message of `size` bytes, which `bytes` holds, all that its header says, and no more? Init
// acts on nothing else: it reads filters and a name from where the header points.
[[nodiscard]] inline bool is_whole_config(const char* bytes, std::size_t size) {
  if (size < sizeof(InitConfig) || size > kLargestConfig) return false;
  InitConfig config;
  __builtin_memcpy(&config, bytes, sizeof config);
  if (std::uint64_t{config.filter_count} + config.observer_count > kMostFilterInstructions)
    return false;
  if (config.probes >> kProbeCount != 0) return false;
  if (config.directory_size == 0 || config.secret_size == 0 || config.input_size == 0) return false;
  return input_begin(config) + config.input_size == size &&
         bytes[secret_begin(config) - 1] == '\0' && bytes[input_begin(config) - 1] == '\0' &&
         bytes[size - 1] == '\0';
}

// Later messages to init: send this signal.
struct InitSignal {
  std::int32_t number = 0;
  std::uint32_t to_all = 0;  // to every process inside, not only to the command
};

inline constexpr std::int32_t kLastSignal = 64;

[[nodiscard]] constexpr bool is_whole_signal(const InitSignal& signal, std::size_t size) {
  return size == sizeof signal && signal.number > 0 && signal.number <= kLastSignal &&
         signal.to_all <= 1;
}

inline constexpr std::size_t kTransferCounts = 6;
inline constexpr std::size_t kLongestName =
    20;  // of a process, as the kernel calls it, with its end

// Messages from init, or from the child that becomes it.
struct InitReport {
  enum class Kind : std::uint32_t {
    StepFailed,  // value is the index of the script's step; nothing has run
    NotStarted,  // os_error is why execve() failed
    Terminal,    // comes with a descriptor: our side of the sandbox's terminal
    Observer,    // comes with a descriptor: the listener of the observing filter
    Processes,   // comes with a descriptor: the /proc of the sandbox
    Started,
    Ended,  // wait_status and usage are final: every process inside is gone
  };

  Kind kind = Kind::Started;
  std::uint32_t step = 0;
  std::int32_t os_error = 0;
  std::int32_t wait_status = 0;
  std::uint32_t probes_tried = 0;       // bits; of Started
  std::uint32_t probes_succeeded = 0;   // of StepFailed: why nothing was run
  std::uint32_t survivors = 0;          // of Ended: who was there when the command was gone
  char survivor[kLongestName] = {};     // NOLINT(modernize-avoid-c-arrays): the name of one of them
  std::uint64_t user_microseconds = 0;  // of all processes that were waited for
  std::uint64_t system_microseconds = 0;
  std::uint64_t peak_kilobytes = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  std::uint64_t started_processes = 0;  // threads included
  std::uint64_t network_bytes = 0;      // received over the sandbox's own loopback
  // In the order of /proc/1/io; std::array is for those who have a library.
  std::uint64_t transfers[kTransferCounts] = {};  // NOLINT(modernize-avoid-c-arrays)
};

// Larger numbers would not fit what they are turned into. A command can make its counts as large as
// it likes, by writing to the null device, so init sends no more than this.
inline constexpr std::uint64_t kLargestUsage = std::uint64_t{1} << 53U;

// Init is inside with the command, so hermetic believes a report only as far as it makes sense:
// whole, of a known kind, and with a descriptor exactly if that kind comes with one.
[[nodiscard]] constexpr bool is_whole_report(const InitReport& report, std::size_t size,
                                             bool has_descriptor) {
  using Kind = InitReport::Kind;
  if (size != sizeof report || report.kind > Kind::Ended) return false;
  const bool brings_one = report.kind == Kind::Terminal || report.kind == Kind::Observer ||
                          report.kind == Kind::Processes;
  if (has_descriptor != brings_one) return false;
  const bool failed = report.kind == Kind::StepFailed || report.kind == Kind::NotStarted;
  if (failed && (report.os_error <= 0 || report.os_error > 4095)) return false;  // no errno
  // As wait(2) gives it for a process that is gone: a code, or a signal and perhaps a core.
  const auto status = static_cast<std::uint32_t>(report.wait_status);
  const std::uint32_t signal = status & 0x7FU;
  const bool gone =
      signal == 0 ? (status & ~0xFF00U) == 0
                  : signal <= static_cast<std::uint32_t>(kLastSignal) && (status & ~0xFFU) == 0;
  if (report.kind == Kind::Ended && !gone) return false;
  // NOLINTNEXTLINE(readability-use-anyofallof): no library
  for (const std::uint64_t number :
       {report.user_microseconds, report.system_microseconds, report.peak_kilobytes,
        report.minor_faults, report.major_faults, report.voluntary_switches,
        report.involuntary_switches, report.started_processes, report.network_bytes})
    if (number > kLargestUsage) return false;
  // NOLINTNEXTLINE(readability-use-anyofallof)
  for (const std::uint64_t number : report.transfers)
    if (number > kLargestUsage) return false;
  return true;
}

// Steps of init itself, numbered after those of any script, so that an error can name them.
enum class InitStep : std::uint32_t {
  ReadConfig = 1000000,
  StartProcess,
  NewSession,
  TakeTerminal,
  ChangeDirectory,
  CheckClock,
  Observe,
  LimitOpenFiles,
  LoadFilter,
  Prove,
  Hide,
  WatchChildren,
};

}  // namespace hermetic::linux_backend
