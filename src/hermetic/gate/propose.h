// From what a step did in an audit to the exceptions that it would need, for people to decide on.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hermetic/gate/judge.h"
#include "hermetic/gate/policy.h"

namespace hermetic::gate {

struct ProposedException {
  std::string host;  // "example.org:443"; "" for one to listen
  std::optional<std::uint16_t> listen;
  std::uint64_t count = 0;         // how often it was done
  std::set<std::string> programs;  // who did it
  std::string warning;             // why one should think twice; may be empty

  friend bool operator==(const ProposedException&, const ProposedException&) = default;
};

struct Proposal {
  std::string step;
  Origin origin;
  bool loopback = false;                      // its own would do
  std::vector<ProposedException> exceptions;  // hosts, then ports, sorted
  std::vector<std::string> remarks;           // what no exception covers, and what is too wide

  [[nodiscard]] bool empty() const { return !loopback && exceptions.empty() && remarks.empty(); }
};

// Only what the step's policy does not allow yet.
[[nodiscard]] Proposal propose(const Step& step, const std::vector<NetworkAct>& acts);

// Why a name allows more than it seems to: it is rented out to anybody. "" if it does not.
[[nodiscard]] std::string shared_name_warning(std::string_view host);

}  // namespace hermetic::gate
