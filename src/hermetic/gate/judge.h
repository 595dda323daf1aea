// What a step did in the network, held against its policy: during a run, and long after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hermetic/gate/policy.h"
#include "hermetic/record/report.h"

namespace hermetic::gate {

// One attempt, as evidence keeps it.
struct NetworkAct {
  std::string act;      // "connect", "listen", "resolve"…
  std::string subject;  // for people
  std::string host;     // the name if one is known, else the address; "" if it is neither
  std::uint16_t port = 0;
  bool loopback = false;
  bool denied = false;       // by whoever ran it
  bool unix_socket = false;  // its other end is, or may be, outside; `subject` is its path
  std::vector<std::string> chain;
  std::uint64_t count = 1;

  friend bool operator==(const NetworkAct&, const NetworkAct&) = default;
};

[[nodiscard]] std::vector<NetworkAct> network_acts(const RunRecord& record,
                                                   const Redaction& redaction);

[[nodiscard]] bool is_listener(const NetworkAct& act);
[[nodiscard]] bool is_outbound(const NetworkAct& act);

// Would the step's policy let it? Socket calls that reach nobody are always let.
[[nodiscard]] bool allows(const Step& step, const NetworkAct& act);

// All that the policy does not let, in the order of `acts`. `file` is the policy's name.
[[nodiscard]] std::vector<Breach> breaches_under(const Step& step,
                                                 const std::vector<NetworkAct>& acts);

}  // namespace hermetic::gate
