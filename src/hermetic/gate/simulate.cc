#include "hermetic/gate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"
#include "hermetic/gate/exception_text.h"
#include "hermetic/gate/judge.h"
#include "hermetic/gate/step_files.h"
#include "hermetic/record/canonical_json.h"

namespace hermetic::gate {
namespace {

Result<std::vector<std::string>> steps_in(const std::string& evidence) {
  std::vector<std::string> ids;
  std::error_code error;
  std::filesystem::directory_iterator entries(evidence + "/logs", error);
  const std::filesystem::directory_iterator end;
  while (!error && entries != end) {
    if (std::error_code ignored; entries->is_directory(ignored))
      ids.push_back(entries->path().filename().string());
    entries.increment(error);
  }
  if (error)
    return system_error(fmt::format("'{}' is no evidence of a gate", printable(evidence)),
                        error.value(), "name a folder that 'hermetic gate' has left");
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

Result<std::vector<SimulatedStep>> simulate(const Policy& policy, const std::string& evidence,
                                            const std::string& today) {
  std::vector<SimulatedStep> steps;
  for (const std::string& id : TRY(steps_in(evidence))) {
    const std::string folder = fmt::format("{}/logs/{}/", evidence, id);
    std::vector<NetworkAct> acts = TRY(read_network_acts(folder + "network.json"));
    for (NetworkAct& act : TRY(read_network_acts(folder + "listeners.json")))
      acts.push_back(std::move(act));
    SimulatedStep simulated{.evidence = evidence, .id = id, .known = true, .breaches = {}};
    const Step* step = policy.find(id);
    simulated.known = step != nullptr;
    if (step != nullptr) {
      for (const GovernedException& exception : step->exceptions)
        if (has_expired(exception, today))
          simulated.breaches.push_back(
              {.rule_id = "expired",
               .message = fmt::format("the exception of '{}' has expired on {}",
                                      printable(exception.owner), exception.expires),
               .chain = {},
               .decided_by = to_string(exception.origin)});
      if (network_of(*step).mode == NetworkPolicy::Mode::Hosts)
        std::erase_if(acts, asks_name_server);
      for (Breach& breach : breaches_under(*step, acts))
        simulated.breaches.push_back(std::move(breach));
    }
    steps.push_back(std::move(simulated));
  }
  return steps;
}

std::string as_json(const Policy& policy, const std::vector<SimulatedStep>& steps) {
  using nlohmann::json;
  json list = json::array();
  std::size_t fails = 0;
  for (const SimulatedStep& step : steps) {
    json breaches = json::array();
    for (const Breach& breach : step.breaches) {
      json processes = json::array();
      for (const std::string& process : breach.chain) processes.push_back(printable(process));
      breaches.push_back({{"rule", breach.rule_id},
                          {"message", printable(breach.message)},
                          {"processes", std::move(processes)},
                          {"decided_by", printable(breach.decided_by)},
                          {"count", breach.count}});
    }
    fails += step.fails() ? 1U : 0U;
    list.push_back({{"evidence", printable(step.evidence)},
                    {"step", printable(step.id)},
                    {"verdict", !step.known    ? "unknown"
                                : step.fails() ? "fail"
                                               : "pass"},
                    {"breaches", std::move(breaches)}});
  }
  const json document = {
      {"policy", printable(policy.file)}, {"fails", fails}, {"steps", std::move(list)}};
  return readable_json(document);
}

}  // namespace hermetic::gate
