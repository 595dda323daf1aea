// Learning: run a command observed, write the spec that it needs, and prove it by a run under it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/learn/generalise.h"
#include "hermetic/learn/observation.h"
#include "hermetic/run/backend.h"

namespace hermetic {

// Waits for a run; whoever wants to pass signals on does so meanwhile.
// `what` says what the run is for: "observing", "proving".
using Wait = std::function<Result<Outcome>(Run& run, const std::string& what)>;

struct Observed {
  Observation observation;
  Outcome outcome;
};

struct ObserveOptions {
  int standard_output = 1;  // what the command prints goes to this descriptor
  bool variables = false;   // hear which of them programs ask the C library for
  Earlier earlier = {};     // what the spec that is to be added to says
};

// Runs the command where we are, with the environment that we have and nothing to read on its
// standard input. `observing` carries it out without a sandbox.
[[nodiscard]] Result<Observed> observe(const std::vector<std::string>& command,
                                       const ObserveOptions& options, Backend& observing,
                                       EventSink& events, const Wait& wait);

struct Proof {
  bool proved = false;  // it ended as it did when observed, with nothing lacking and no violation
  std::optional<Outcome> outcome;  // none: it could not be run
  std::string refusal;             // why
  std::vector<AskedPath> lacking;
  std::vector<std::string> withheld;  // asked for, and left out as they look like secrets
};

struct Lesson {
  std::string text;  // of the spec
  Learned learned;
  Proof proof;
  int runs = 0;  // under a spec, until this one was proved or nothing more could be done
};

// Generalises, proves, and adds what turned out to be lacking.
[[nodiscard]] Result<Lesson> learn(Observed observed, const Surroundings& surroundings,
                                   const std::string& here, Backend& proving, EventSink& events,
                                   const Wait& wait);

}  // namespace hermetic
