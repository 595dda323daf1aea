// Clause: one promise that a sandbox keeps. A spec needs clauses, a backend gives them, a plan
// lists them; a spec can give one up by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hermetic {

enum class Clause : std::uint8_t {
  InputsReadOnly,
  UndeclaredHidden,
  OutputsPrivate,
  OutputsWriteOnly,
  LayersUnchanged,
  NoNetwork,
  LoopbackOnly,
  AllowedHostsOnly,
  NetworkWatched,
  ExactEnvironment,
  FixedIdentity,
  FixedHostname,
  OwnProcessTree,
  KillOnParentExit,
  OwnIpc,
  OwnUptime,
  OwnSession,
  NoInheritedDescriptors,
  NoNewPrivileges,
  SystemCallsFiltered,
  NoNestedNamespaces,
  SecondLine,
  MemoryLimit,
  CpuTimeLimit,
  WallTimeLimit,
  IdleTimeLimit,
  ProcessesLimit,
  FileSizeLimit,
  OpenFilesLimit,
  DiskWriteLimit,
  DiskReadRate,
  DiskWriteRate,
  NetworkBytesLimit,
  CpuWeight,
  MaxChildren,
  CpuCount,
  NoFork,
  NoExec,
};

[[nodiscard]] std::span<const Clause> all_clauses();       // in the order above
[[nodiscard]] std::string_view to_string(Clause clause);   // "inputs-read-only"
[[nodiscard]] std::string_view promise_of(Clause clause);  // one line for people
[[nodiscard]] std::optional<Clause> clause_named(std::string_view name);
[[nodiscard]] std::string_view clause_nearest_to(std::string_view name);  // "" if none is near

}  // namespace hermetic
