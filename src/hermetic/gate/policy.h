// Policy: which steps of a pipeline must be hermetic, and what each may do beyond that.
//
// Version 1 is the format that existing gates use; version 2 adds what those lack. Both are
// described in docs/reference/gate-policy.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/draft.h"
#include "hermetic/spec/network.h"

namespace hermetic::gate {

// Somebody answers for it, until a day.
struct GovernedException {
  std::optional<HostRule> host;              // may be reached…
  std::optional<std::uint16_t> listen_port;  // …or listened on…
  std::string unix_socket = {};  // …or served or spoken to; below the workspace if short
  std::string owner;
  std::string reason;
  std::string expires;  // "2027-01-31": the last day on which it holds; "" in version 1
  Origin origin = {};
};

struct EnvironmentPolicy {
  enum class Mode {
    Deny,      // a small base, and what is named
    Sanitize,  // all of the caller's, but for secrets
  };
  Mode mode = Mode::Deny;
  std::set<std::string> pass;  // of the caller's, by name; secrets only if they are named here
  std::set<std::string> deny;  // never, whatever else is said
};

struct Step {
  std::string id;
  std::string description;
  std::vector<std::string> command;  // with the shell, if it was written as a text
  std::map<std::string, std::string> variables;
  EnvironmentPolicy environment;
  std::vector<GovernedException> exceptions;
  bool loopback = false;  // the step's own, without the outside
  std::vector<std::string> needs;
  std::string spec_file;  // absolute; "" for the view that every step has
  std::string target;
  // What that file says, read with the policy: a step that runs earlier could change the file.
  std::optional<Draft> spec;
  Draft draft;         // limits, inputs and the like, over that
  Origin origin = {};  // where the step begins

  // Where the network is decided, for reports.
  [[nodiscard]] Origin network_origin() const;
};

struct Policy {
  enum class Mode {
    Enforce,
    Audit,  // nothing in the network is denied; what would be is reported, and no step fails for it
  };

  std::string file;    // as it was named
  std::string text;    // what stands in it
  std::string digest;  // SHA-256 of its text
  int version = 1;
  Mode mode = Mode::Enforce;
  std::vector<Step> steps;  // in the order of the file
  bool capture_process_tree = true;
  bool capture_open_sockets = true;
  std::size_t most_log_bytes = std::size_t{1} << 20U;
  std::string out_dir;  // may hold ${sha}

  [[nodiscard]] const Step* find(std::string_view id) const;
};

inline constexpr std::string_view kUsualPolicy = "docs/ci/HERMETIC_CI_POLICY.yml";
inline constexpr std::string_view kUsualOutDir = "artifacts/governance/hermetic-ci/${sha}";

// Every way not to follow the format is an InvalidSpec with file, line, column and remedy.
[[nodiscard]] Result<Policy> load_policy(const std::string& file);
// The same of a text, without the specs that it names; `here` is the folder of the policy.
[[nodiscard]] Result<Policy> parse_policy(std::string_view text, const std::string& file_name,
                                          const std::string& here);

// What the step may reach: none, its own loopback, or the hosts of its exceptions.
[[nodiscard]] NetworkPolicy network_of(const Step& step);
[[nodiscard]] std::set<std::uint16_t> listen_ports_of(const Step& step);

// Paths of Unix sockets, as they are written.
[[nodiscard]] std::set<std::string> unix_sockets_of(const Step& step);
// "example.org:443", "port 8080" or the path of a socket.
[[nodiscard]] std::string subject_of(const GovernedException& exception);

// Is it over? `today` as "2026-11-15".
[[nodiscard]] bool has_expired(const GovernedException& exception, std::string_view today);

}  // namespace hermetic::gate
