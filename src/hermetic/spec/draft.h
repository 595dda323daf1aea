// Draft: what has been said so far about a command, before anyone checked that it can be meant.
//
// Files, options and HERMETIC_* variables each make a draft; overlay() puts the stronger over the
// weaker, and SpecBuilder::build() turns the result into a Spec.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hermetic/spec/declaration.h"
#include "hermetic/spec/limits.h"
#include "hermetic/spec/network.h"

namespace hermetic {

// Who the command is inside. Outside it is always the caller.
enum class Identity {
  Builder,  // uid 1000, gid 1000, "builder"
  Root,     // uid 0 inside the sandbox's own user namespace; no capabilities
};
[[nodiscard]] std::string_view to_string(Identity identity);  // "builder", "root"

enum class OnViolation {
  Report,  // deny, record, go on
  Fail,    // deny, record, go on, and end with exit code 123
  Kill,    // deny, record and end the run at once
};
[[nodiscard]] std::string_view to_string(OnViolation policy);  // "report", "fail", "kill"

// The whole environment of the command is: the built-in minimum, then what is passed, then what is
// set.
struct EnvironmentDraft {
  std::map<std::string, std::string> set;
  std::set<std::string> pass;  // taken from the caller if the caller has them

  friend bool operator==(const EnvironmentDraft&, const EnvironmentDraft&) = default;
};

struct ProcessDraft {
  std::optional<std::uint64_t> max_children;
  std::optional<std::uint64_t> cpus;
  std::optional<std::uint64_t> nice;
  std::optional<bool> kill_on_parent_exit;
  std::optional<bool> allow_fork;
  std::optional<bool> allow_exec;
};

struct Draft {
  std::vector<std::string> command;  // empty: not said
  std::optional<std::string> directory;
  std::vector<Declaration> declarations;
  std::optional<NetworkPolicy> network;
  // Paths of Unix sockets that may lead out of the sandbox, to whoever serves or calls there.
  std::set<std::string> unix_sockets;
  EnvironmentDraft environment;
  ResourceLimits limits;
  ProcessDraft process;
  std::optional<Identity> identity;
  std::optional<std::string> hostname;
  std::optional<OnViolation> on_violation;
  std::optional<bool> strict_outputs;           // outputs can be written but not read back
  std::optional<bool> allow_nested_namespaces;  // the command may make user namespaces of its own
  std::optional<bool> own_uptime;               // the host's uptime does not show
  std::optional<bool> allow_unsandboxed;        // HERMETIC=off may run this spec without a sandbox
  std::set<std::string> give_up;                // names of clauses that need not be enforced

  // Where single values were written, by key ("directory", "limits.memory"), for error messages.
  std::map<std::string, Origin> origins;
};

// `top` wins value by value; lists of declarations, variables and given-up clauses add up. A
// declaration of `top` replaces one in `base` of the same kind that stands at the same place
// inside; a root replaces any other root.
[[nodiscard]] Draft overlay(Draft base, const Draft& top);

}  // namespace hermetic
