// What a gate leaves for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/gate/gate.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/report_words.h"

namespace hermetic::gate {
namespace {

using nlohmann::json;

json breach_as_json(const Breach& breach) {
  return {
      {"rule", breach.rule_id},    {"brief", brief_of(breach)},
      {"message", breach.message}, {"remedy", breach.remedy.empty() ? json() : json(breach.remedy)},
      {"processes", breach.chain}, {"decided_by", breach.decided_by}};
}

// How the command ended. Its exit code is null if it has none.
json ending_as_json(const Ending& ending) {
  const auto* exited = std::get_if<Exited>(&ending);
  const auto* signaled = std::get_if<Signaled>(&ending);
  return {{"ending", ending_of(ending)},
          {"exit_code", exited != nullptr ? json(exited->code) : json()},
          {"signal", signaled != nullptr ? json(signaled->signal) : json()}};
}

json exceptions_as_json(const Step& step) {
  json list = json::array();
  for (const GovernedException& exception : step.exceptions) {
    json entry = {{"owner", printable(exception.owner)},
                  {"reason", printable(exception.reason)},
                  {"expires", exception.expires.empty() ? json() : json(exception.expires)},
                  {"line", exception.origin.line}};
    if (exception.host) entry["host"] = printable(to_string(*exception.host));
    if (exception.listen_port) entry["listen"] = *exception.listen_port;
    if (!exception.unix_socket.empty()) entry["unix_socket"] = printable(exception.unix_socket);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string report_as_json(const Policy& policy, const Report& report,
                           const std::optional<std::vector<std::string>>& modified) {
  json steps = json::array();
  for (const ReportStep& step : report.steps) {
    json breaches = json::array();
    for (const Breach& breach : step.breaches) breaches.push_back(breach_as_json(breach));
    const Step* written = policy.find(step.id);
    steps.push_back(
        {{"id", step.id},
         {"description", printable(step.description)},
         {"line", step.origin.line},
         {"verdict", to_string(step.verdict)},
         {"reason", step.reason},
         {"result", step.run ? ending_as_json(step.run->outcome.ending) : json()},
         {"breaches", std::move(breaches)},
         {"exceptions", written != nullptr ? exceptions_as_json(*written) : json::array()},
         {"assurance", step.run ? json(to_string(step.run->assurance)) : json()},
         {"manifest", step.manifest ? json("sha256:" + step.manifest->digest()) : json()}});
  }
  return canonical_json({{"version", 1},
                         {"type", "hermetic.gate"},
                         {"revision", printable(report.revision)},
                         {"modified_files", modified ? json(*modified) : json()},
                         {"policy",
                          {{"file", printable(policy.file)},
                           {"digest", "sha256:" + policy.digest},
                           {"schema_version", policy.version},
                           {"mode", policy.mode == Policy::Mode::Audit ? "audit" : "enforce"}}},
                         {"assurance", to_string(report.assurance)},
                         {"verdict", to_string(report.verdict())},
                         {"steps", std::move(steps)}});
}

json rest_of_gate(const Report& report, const std::string& stable, const std::string& started) {
  json steps = json::object();
  for (const ReportStep& step : report.steps)
    steps[step.id] = step.manifest ? step.manifest->rest : json();
  return {{"version", 1},
          {"started", started},
          {"stable_digest", "sha256:" + sha256(stable)},
          {"steps", std::move(steps)}};
}

std::string report_as_code_quality(const Report& report) {
  json list = json::array();
  for (const ReportStep& step : report.steps) {
    const auto add = [&](const std::string& rule, const std::string& message) {
      list.push_back({{"description", fmt::format("{}: {}", step.id, message)},
                      {"check_name", "hermetic/" + rule},
                      {"fingerprint", sha256(step.id + '\0' + rule + '\0' + message)},
                      {"severity", step.verdict == StepVerdict::Pass ? "minor" : "blocker"},
                      {"location",
                       {{"path", printable(step.origin.source)},
                        {"lines", {{"begin", std::max(step.origin.line, 1)}}}}}});
    };
    for (const Breach& breach : step.breaches) add(breach.rule_id, breach.message);
    if (step.breaches.empty() && step.verdict != StepVerdict::Pass) add("step", step.reason);
  }
  return readable_json(list);
}

}  // namespace hermetic::gate
