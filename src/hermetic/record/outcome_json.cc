#include "hermetic/record/outcome_json.h"

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/usage_json.h"

namespace hermetic {
namespace {

using nlohmann::json;

struct EndingAsJson {
  json& document;
  void operator()(const Exited&) const { document["ending"] = "exited"; }
  void operator()(const Signaled& ending) const {
    document["ending"] = "signaled";
    document["signal"] = ending.signal;
  }
  void operator()(const TimedOut& ending) const {
    document["ending"] = "timed_out";
    const bool idle = ending.which == TimedOut::Which::IdleTime;
    document["limit"] = {{"which", idle ? "idle_time" : "wall_time"},
                         {"limit_ms", ending.limit.count()}};
  }
  void operator()(const OverLimit& ending) const {
    document["ending"] = "over_limit";
    document["limit"] = {
        {"which", ending.which}, {"actual", ending.actual}, {"limit", ending.limit}};
  }
  void operator()(const EndedByViolation&) const { document["ending"] = "violation"; }
  void operator()(const NotStarted& ending) const {
    document["ending"] = "not_started";
    document["os_error"] = ending.os_error;
  }
};

json violation_as_json(const Violation& violation, const Redaction& redaction) {
  const auto text = [&](std::string_view raw) { return printable(redaction.clean(raw)); };
  return {{"act", text(violation.act)},       {"subject", text(violation.subject)},
          {"detail", text(violation.detail)}, {"rule", text(violation.rule)},
          {"reason", text(violation.reason)}, {"count", violation.count}};
}

json output_as_json(const PublishedOutput& output) {
  json object = {{"path", printable(output.path)},
                 {"type", to_string(output.type)},
                 {"size", output.size_bytes},
                 {"files", output.files}};
  object["digest"] = output.digest.empty() ? json() : json("sha256:" + output.digest);
  return object;
}

json clause_as_json(const PlannedClause& planned) {
  return {{"clause", to_string(planned.clause)},
          {"strength", to_string(planned.strength)},
          {"given_up", planned.given_up}};
}

}  // namespace

std::string outcome_as_json(const Plan& plan, const Outcome& outcome, int exit_code) {
  return outcome_as_json(plan, outcome, exit_code, Redaction(plan.environment));
}

std::string outcome_as_json(const Plan& plan, const Outcome& outcome, int exit_code,
                            const Redaction& redaction) {
  json document = {{"version", 1},
                   {"hermetic", was_hermetic(plan, outcome)},
                   {"backend", plan.backend},
                   {"spec_digest", "sha256:" + plan.spec_digest},
                   {"exit_code", exit_code},
                   {"signal", nullptr}};
  std::visit(EndingAsJson{document}, outcome.ending);
  document["clauses"] = json::array();
  for (const PlannedClause& planned : plan.clauses)
    document["clauses"].push_back(clause_as_json(planned));
  document["violations"] = json::array();
  for (const Violation& violation : outcome.violations)
    document["violations"].push_back(violation_as_json(violation, redaction));
  for (const RefusedCall& call : outcome.refused_calls)
    document["refused_calls"].push_back({{"call", call.call},
                                         {"program", printable(redaction.clean(call.by))},
                                         {"count", call.count}});
  document["probes"] = json::array();
  for (const NegativeControl& probe : outcome.probes)
    document["probes"].push_back(
        {{"probe", probe.name}, {"result", probe.tried ? "held" : "not_tried"}});
  document["outputs"] = json::array();
  for (const PublishedOutput& output : outcome.outputs)
    document["outputs"].push_back(output_as_json(output));
  document["usage"] = usage_as_json(outcome.usage);
  return readable_json(document);
}

}  // namespace hermetic
