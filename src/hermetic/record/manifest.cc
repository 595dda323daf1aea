#include "hermetic/record/manifest.h"

#include <sys/utsname.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/plan/print.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/event_json.h"
#include "hermetic/record/secret_names.h"
#include "hermetic/record/usage_json.h"

#ifndef HERMETIC_VERSION
#error "the build defines HERMETIC_VERSION"
#endif

namespace hermetic {
namespace {

using nlohmann::json;

std::string marked(std::string_view digest) { return "sha256:" + std::string(digest); }

// The end, without what depends on how fast the host is.
struct EndingFacts {
  json operator()(const Exited& ending) const {
    return {{"ending", "exited"}, {"code", ending.code}};
  }
  json operator()(const Signaled& ending) const {
    return {{"ending", "signaled"}, {"signal", ending.signal}};
  }
  json operator()(const TimedOut& ending) const {
    const bool idle = ending.which == TimedOut::Which::IdleTime;
    return {{"ending", "timed_out"},
            {"which", idle ? "idle_time" : "wall_time"},
            {"limit_ms", ending.limit.count()}};
  }
  json operator()(const OverLimit& ending) const {
    return {{"ending", "over_limit"}, {"which", ending.which}, {"limit", ending.limit}};
  }
  json operator()(const EndedByViolation& /*ending*/) const { return {{"ending", "violation"}}; }
  json operator()(const NotStarted& ending) const {
    return {{"ending", "not_started"}, {"os_error", ending.os_error}};
  }
};

// The digest of a short secret would tell it to whoever tries all: a secret has none.
json environment_facts(const Plan& plan) {
  json list = json::array();
  for (const auto& [name, value] : plan.environment) {
    const bool secret = is_secret_variable(name);
    list.push_back({{"name", printable(name)},
                    {"secret", secret},
                    {"digest", secret ? json() : json(marked(sha256(value)))}});
  }
  return list;
}

// How a clause is kept differs between kernels; that it is kept does not.
json clause_facts(const Plan& plan) {
  json list = json::array();
  for (const PlannedClause& planned : plan.clauses)
    list.push_back({{"clause", to_string(planned.clause)},
                    {"strength", to_string(planned.strength)},
                    {"given_up", planned.given_up}});
  return list;
}

json plan_facts(const Plan& plan) {
  json document = json::parse(plan_as_json(plan));
  document.erase("environment");  // names and digests stand beside it
  document.erase("command");
  document.erase("view");  // how it is put together depends on what the host has already
  document["clauses"] = clause_facts(plan);
  return document;
}

json spec_facts(const std::string& canonical) {
  json document = json::parse(canonical, nullptr, false);
  if (!document.is_object()) return nullptr;
  document.erase("environment");
  document.erase("command");
  return document;
}

json input_facts(const std::vector<InputDigest>& inputs) {
  json list = json::array();
  for (const InputDigest& input : inputs) {
    list.push_back({{"path", printable(input.path)},
                    {"measure", to_string(input.measure)},
                    {"digest", marked(input.digest)},
                    {"files", input.files},
                    {"size", input.size_bytes}});
    if (!input.source.empty()) list.back()["source"] = printable(input.source);
  }
  return list;
}

json output_facts(const Outcome& outcome) {
  std::vector<PublishedOutput> outputs = outcome.outputs;
  std::sort(outputs.begin(), outputs.end(),
            [](const PublishedOutput& a, const PublishedOutput& b) { return a.path < b.path; });
  json list = json::array();
  for (const PublishedOutput& output : outputs)
    list.push_back({{"path", printable(output.path)},
                    {"type", to_string(output.type)},
                    {"digest", output.digest.empty() ? json() : json(marked(output.digest))},
                    {"files", output.files},
                    {"size", output.size_bytes}});
  return list;
}

// How often the same was tried depends on how patient the command was.
json violation_facts(const Outcome& outcome, const Redaction& redaction) {
  std::set<std::tuple<std::string, std::string, std::string>> distinct;
  for (const Violation& violation : outcome.violations)
    distinct.emplace(violation.act, violation.subject, violation.rule);
  const auto text = [&](const std::string& raw) { return printable(redaction.clean(raw)); };
  json list = json::array();
  for (const auto& [act, subject, rule] : distinct)
    list.push_back({{"act", text(act)}, {"subject", text(subject)}, {"rule", text(rule)}});
  return list;
}

json probe_facts(const Outcome& outcome) {
  json list = json::array();
  for (const NegativeControl& probe : outcome.probes)
    list.push_back({{"probe", probe.name}, {"result", probe.tried ? "held" : "not_tried"}});
  return list;
}

json coverage_facts(const RunRecord& record) {
  json list = json::array();
  for (const Coverage& coverage : record.coverage)
    list.push_back({{"detector", printable(coverage.detector)},
                    {"on", coverage.on},
                    {"why", printable(coverage.why)}});
  return list;
}

json command_facts(const Plan& plan, const Redaction& redaction) {
  json list = json::array();
  for (const std::string& word : redaction.clean_arguments(plan.command))
    list.push_back(printable(word));
  return list;
}

struct utsname host_names() {
  struct utsname names = {};
  ::uname(&names);
  return names;
}

json host_facts() {
  const struct utsname names = host_names();
  return {{"name", printable(names.nodename)},
          {"kernel", printable(names.release)},
          {"kernel_version", printable(names.version)}};
}

json mechanism_facts(const Plan& plan) {
  json object = json::object();
  for (const PlannedClause& planned : plan.clauses)
    object[std::string(to_string(planned.clause))] =
        printable(planned.mechanism.empty() ? planned.reason : planned.mechanism);
  return object;
}

}  // namespace

std::string Manifest::canonical() const { return canonical_json(stable); }
std::string Manifest::digest() const { return sha256(canonical()); }

Manifest make_manifest(const RunRecord& record, const ManifestFacts& facts,
                       const Redaction& redaction) {
  const Plan& plan = record.plan;
  const Outcome& outcome = record.outcome;
  json result = std::visit(EndingFacts{}, outcome.ending);
  result["exit_code"] = record.exit_code;
  result["success"] = outcome.success();
  result["hermetic"] = was_hermetic(plan, outcome);
  const json inputs = input_facts(facts.inputs);
  Manifest manifest;
  manifest.stable = {
      {"version", 1},
      {"type", "hermetic.run"},
      {"tool", {{"name", "hermetic"}, {"version", HERMETIC_VERSION}}},
      {"platform", {{"system", "linux"}, {"architecture", host_names().machine}}},
      {"backend", plan.backend},
      {"assurance", to_string(record.assurance)},
      {"spec_digest", marked(plan.spec_digest)},
      {"policy_digest", facts.policy_digest.empty() ? json() : json(marked(facts.policy_digest))},
      {"command", command_facts(plan, redaction)},
      {"environment", environment_facts(plan)},
      {"spec", spec_facts(facts.spec)},
      {"plan", plan_facts(plan)},
      {"inputs", inputs},
      {"input_digest", marked(sha256(canonical_json(inputs)))},
      {"outputs", output_facts(outcome)},
      {"probes", probe_facts(outcome)},
      {"coverage", coverage_facts(record)},
      {"violations", violation_facts(outcome, redaction)},
      {"result", std::move(result)},
      {"passed", record.exit_code == 0},
  };
  if (!facts.task.is_null()) manifest.stable["task"] = facts.task;
  const auto wall =
      std::chrono::duration_cast<std::chrono::system_clock::duration>(outcome.usage.wall_time);
  json pids = json::array();
  for (const ProcessNode& root : record.processes) pids.push_back(root.pid);
  manifest.rest = {{"version", 1},
                   {"started", timestamp(record.started)},
                   {"ended", timestamp(record.started + wall)},
                   {"wall_us", outcome.usage.wall_time.count()},
                   {"usage", usage_as_json(outcome.usage)},
                   {"host", host_facts()},
                   {"mechanisms", mechanism_facts(plan)},
                   {"view", json::parse(plan_as_json(plan))["view"]},
                   {"processes", std::move(pids)},
                   {"lost_events", record.lost_events},
                   {"stable_digest", marked(manifest.digest())}};
  return manifest;
}

}  // namespace hermetic
