// What a spec allows that one run of it did not need.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "hermetic/learn/observation.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

struct Needless {
  std::string what;    // "input /srv/data"
  std::string detail;  // "nothing in it was used"; or what was, if that is little

  friend bool operator==(const Needless&, const Needless&) = default;
};

// Collects which hosts a run under a spec reached, and by which rules.
class ReachCollector final : public EventSink {
 public:
  void on_event(const Event& event) override;

  std::set<std::string> rules;  // as they are written
  std::set<std::string> names;  // that were looked up and may be
  bool anybody = false;         // somebody was reached, or could have reached the command
};

// What of the network nobody was reached by. A name that was only looked up was needed, too.
[[nodiscard]] std::vector<Needless> needless_hosts(const NetworkPolicy& network,
                                                   const ReachCollector& reached);

// Passed variables that no program asked the C library for. A program without it, or a shell that
// takes them all, asks in a way that is not heard.
[[nodiscard]] std::vector<Needless> needless_variables(const EnvironmentDraft& environment,
                                                       const std::set<std::string>& asked);

// In the order of the spec. A tree is used by what was read, executed or written in it and is
// there; a name that nothing had is no use.
[[nodiscard]] std::vector<Needless> needless(const Spec& spec, const std::vector<SeenPath>& seen);

}  // namespace hermetic
