#include "hermetic/gate/step_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/evidence.h"

namespace hermetic::gate {
namespace {

using nlohmann::json;

json act_as_json(const NetworkAct& act) {
  json entry = {{"act", act.act},           {"subject", act.subject},
                {"host", act.host},         {"port", act.port},
                {"loopback", act.loopback}, {"verdict", act.denied ? "deny" : "allow"},
                {"processes", act.chain},   {"count", act.count}};
  if (act.unix_socket) entry["unix_socket"] = true;
  return entry;
}

}  // namespace

Result<void> write_step_files(EvidenceFolder& folder, const std::string& prefix,
                              const StepFacts& facts, ReportStep& report,
                              const Redaction& redaction) {
  // The tools that every step sees are the host's; what it works on is the commit's.
  const auto measure =
      facts.step.spec_file.empty() ? InputDigest::Measure::Programs : InputDigest::Measure::Content;
  const std::vector<InputDigest> inputs =
      TRY(digest_inputs(facts.spec, executed_programs(report.run->processes), measure));
  report.manifest = make_manifest(
      *report.run,
      {.inputs = inputs, .spec = facts.spec.canonical(), .policy_digest = facts.policy.digest},
      redaction);
  if (!facts.policy.capture_process_tree) report.run->processes.clear();
  TRY(write_run_files(folder, prefix, report, inputs, redaction));
  json network = json::array();
  json listeners = json::array();
  for (const NetworkAct& act : network_acts(*report.run, redaction))
    (is_listener(act) ? listeners : network).push_back(act_as_json(act));
  if (!facts.policy.capture_open_sockets) listeners.clear();
  TRY(folder.write(prefix + "network.json", readable_json(network)));
  TRY(folder.write(prefix + "listeners.json", readable_json(listeners)));
  json names = json::array();
  for (const auto& [name, value] : facts.environment.variables) names.push_back(printable(name));
  json stripped = json::array();
  for (const std::string& name : facts.environment.stripped) stripped.push_back(printable(name));
  return folder.write(
      prefix + "environment.json",
      readable_json({{"passed", std::move(names)}, {"stripped", std::move(stripped)}}));
}

Result<std::vector<NetworkAct>> read_network_acts(const std::string& file) {
  const std::string text = TRY(read_whole_file(file));
  const json document = parse_bounded_json(text);
  const auto bad = [&] {
    return invalid(fmt::format("'{}' is not what a gate has written", printable(file)));
  };
  if (!document.is_array()) return bad();
  std::vector<NetworkAct> acts;
  for (const json& entry : document) {
    if (!entry.is_object()) return bad();
    const auto text_of = [&](const char* key) {
      const auto found = entry.find(key);
      return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
    };
    const auto number_of = [&](const char* key) -> std::uint64_t {
      const auto found = entry.find(key);
      return found != entry.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
    };
    NetworkAct act{.act = text_of("act"),
                   .subject = text_of("subject"),
                   .host = text_of("host"),
                   .port = static_cast<std::uint16_t>(number_of("port")),
                   .loopback = entry.value("loopback", json()) == json(true),
                   .denied = text_of("verdict") == "deny",
                   .unix_socket = entry.value("unix_socket", json()) == json(true),
                   .chain = {},
                   .count = number_of("count")};
    if (const auto chain = entry.find("processes"); chain != entry.end() && chain->is_array())
      for (const json& line : *chain)
        if (line.is_string()) act.chain.push_back(line.get<std::string>());
    acts.push_back(std::move(act));
  }
  return acts;
}

}  // namespace hermetic::gate
