#include "hermetic/spec/clause.h"

#include <array>
#include <vector>

#include "hermetic/base/check.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

struct Entry {
  Clause clause;
  std::string_view name;
  std::string_view promise;
};

constexpr std::array kEntries = {
    Entry{Clause::InputsReadOnly, "inputs-read-only",
          "inputs can be read and not changed, not even by root"},
    Entry{Clause::UndeclaredHidden, "undeclared-hidden",
          "paths that are not declared do not exist inside"},
    Entry{Clause::OutputsPrivate, "outputs-private",
          "outputs and temps start fresh and private; outputs appear outside only if the command "
          "succeeds"},
    Entry{Clause::OutputsWriteOnly, "outputs-write-only",
          "outputs can be written but not read back"},
    Entry{Clause::LayersUnchanged, "layers-unchanged",
          "what a temp starts as can be changed inside and stays as it is outside"},
    Entry{Clause::NoNetwork, "no-network", "nothing outside can be reached over any network"},
    Entry{Clause::LoopbackOnly, "loopback-only", "only the sandbox's own loopback can be reached"},
    Entry{Clause::AllowedHostsOnly, "allowed-hosts-only", "only the listed hosts can be reached"},
    Entry{Clause::NetworkWatched, "network-watched",
          "every attempt to reach the network is recorded, with who made it"},
    Entry{Clause::ExactEnvironment, "exact-environment",
          "the environment is exactly the declared one"},
    Entry{Clause::FixedIdentity, "fixed-identity", "user and group are the same on every host"},
    Entry{Clause::FixedHostname, "fixed-hostname", "the host name is the declared one"},
    Entry{Clause::OwnProcessTree, "own-process-tree",
          "only the command's own processes are visible, and all of them end with the run"},
    Entry{Clause::KillOnParentExit, "kill-on-parent-exit",
          "nothing outlives hermetic, even if it is killed"},
    Entry{Clause::OwnIpc, "own-ipc", "shared memory, semaphores and message queues are private"},
    Entry{Clause::OwnUptime, "own-uptime",
          "uptime and monotonic clocks count from the start of the run"},
    Entry{Clause::OwnSession, "own-session", "the caller's terminal cannot be typed into"},
    Entry{Clause::NoInheritedDescriptors, "no-inherited-descriptors",
          "no open file of the caller is passed on but standard input, output and error"},
    Entry{Clause::NoNewPrivileges, "no-new-privileges", "no capability is held or can be gained"},
    Entry{Clause::SystemCallsFiltered, "system-calls-filtered",
          "system calls that no build needs and that widen the kernel's surface are refused"},
    Entry{Clause::NoNestedNamespaces, "no-nested-namespaces",
          "no user namespace can be made inside"},
    Entry{Clause::SecondLine, "second-line",
          "file access is checked a second time, independently of mounts"},
    Entry{Clause::MemoryLimit, "memory-limit",
          "memory of all processes together stays below the limit"},
    Entry{Clause::CpuTimeLimit, "cpu-time-limit",
          "CPU time of all processes together stays below the limit"},
    Entry{Clause::WallTimeLimit, "wall-time-limit", "the run ends within the limit"},
    Entry{Clause::IdleTimeLimit, "idle-time-limit",
          "a run that neither writes nor computes ends within the limit"},
    Entry{Clause::ProcessesLimit, "processes-limit",
          "the number of processes stays below the limit"},
    Entry{Clause::FileSizeLimit, "file-size-limit", "no file grows above the limit"},
    Entry{Clause::OpenFilesLimit, "open-files-limit", "no process opens more files than the limit"},
    Entry{Clause::DiskWriteLimit, "disk-write-limit", "no more than the limit is written to disk"},
    Entry{Clause::DiskReadRate, "disk-read-rate",
          "no more than so many bytes a second are read from each disk"},
    Entry{Clause::DiskWriteRate, "disk-write-rate",
          "no more than so many bytes a second of files are written to each disk"},
    Entry{Clause::NetworkBytesLimit, "network-bytes-limit",
          "no more than the limit goes over the network"},
    Entry{Clause::CpuWeight, "cpu-weight",
          "the share of the CPU under contention is the declared one"},
    Entry{Clause::MaxChildren, "max-children",
          "the command has no more child processes than declared"},
    Entry{Clause::CpuCount, "cpu-count", "the command runs on no more CPUs than declared"},
    Entry{Clause::NoFork, "no-fork", "the command starts no other process"},
    Entry{Clause::NoExec, "no-exec", "the declared command is the only program that runs"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kEntries.size(); ++i)
    if (static_cast<std::size_t>(kEntries[i].clause) != i) return false;
  return true;
}
static_assert(in_order(), "kEntries follows the order of the enumerators");

constexpr auto clauses_of_entries() {
  std::array<Clause, kEntries.size()> clauses = {};
  for (std::size_t i = 0; i < kEntries.size(); ++i) clauses[i] = kEntries[i].clause;
  return clauses;
}
constexpr auto kClauses = clauses_of_entries();

const Entry& entry_of(Clause clause) {
  const auto number = static_cast<std::size_t>(clause);
  CHECK(number < kEntries.size());
  return kEntries[number];
}

}  // namespace

std::span<const Clause> all_clauses() { return kClauses; }
std::string_view to_string(Clause clause) { return entry_of(clause).name; }
std::string_view promise_of(Clause clause) { return entry_of(clause).promise; }

std::optional<Clause> clause_named(std::string_view name) {
  for (const Entry& entry : kEntries)
    if (entry.name == name) return entry.clause;
  return std::nullopt;
}

std::string_view clause_nearest_to(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) names.push_back(entry.name);
  return closest(name, names);
}

}  // namespace hermetic
