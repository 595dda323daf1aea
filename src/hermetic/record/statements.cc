#include "hermetic/record/statements.h"

#include <fmt/format.h>

#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"
#include "hermetic/record/canonical_json.h"

namespace hermetic {
namespace {

using nlohmann::json;

std::string statement(json subject, std::string_view type, json predicate) {
  return canonical_json({{"_type", "https://in-toto.io/Statement/v1"},
                         {"subject", std::move(subject)},
                         {"predicateType", type},
                         {"predicate", std::move(predicate)}});
}

json descriptor(const Subject& subject) {
  return {{"name", subject.name}, {"digest", {{"sha256", subject.digest}}}};
}

// "sha256:ab…" of the manifest; that of a directory is of its listing, which no other tool computes
// as a SHA-256 of something.
json descriptor(const json& entry, bool directory) {
  std::string digest = entry.value("digest", "");
  digest = digest.substr(digest.find(':') + 1);
  return {{"name", entry["path"]},
          {"digest", {{directory ? "hermeticTree" : "sha256", std::move(digest)}}}};
}

json dependencies(const Report& report, const json& stable) {
  json list = json::array();
  if (!report.revision.empty())
    list.push_back({{"uri", "git+file:."}, {"digest", {{"gitCommit", report.revision}}}});
  if (!report.policy_digest.empty())
    list.push_back(descriptor(Subject{printable(report.policy_file), report.policy_digest}));
  for (const json& input : stable["inputs"]) list.push_back(descriptor(input, true));
  return list;
}

json network_log(const RunRecord& run, const Redaction& redaction) {
  json list = json::array();
  const auto text = [&](const std::string& raw) { return printable(redaction.clean(raw)); };
  for (const Attempt& attempt : run.network) {
    const Event& event = attempt.event;
    json entry = {{"op", text(event.act)},
                  {"subject", text(event.subject)},
                  {"decision", event.verdict == Verdict::Deny ? "blocked" : "allowed"},
                  {"rule", text(event.rule)}};
    if (event.endpoint) {
      entry["address"] = text(event.endpoint->address);
      entry["port"] = event.endpoint->port;
      entry["name"] = text(event.endpoint->name);
    }
    if (!event.processes.empty()) entry["exe"] = text(event.processes.front().executable);
    // The same call of two command lines is one thing here.
    if (list.empty() || list.back() != entry) list.push_back(std::move(entry));
  }
  return list;
}

json process_log(const RunRecord& run, const Redaction& redaction) {
  json list = json::array();
  for (const std::string& program : executed_programs(run.processes))
    list.push_back({{"exe", printable(redaction.clean(program))}});
  return list;
}

json coverage_of(const RunRecord& run) {
  json object = json::object();
  for (const Coverage& coverage : run.coverage)
    object[printable(coverage.detector)] = coverage.on ? "on" : "off";
  return object;
}

}  // namespace

std::string builder_id(Assurance assurance) {
  return fmt::format("urn:hermetic:builder:{}:v1", to_string(assurance));
}

std::string provenance_statement(const Report& report, const ReportStep& step,
                                 const Subject& manifest, const Redaction& redaction) {
  const json& stable = step.manifest->stable;
  json subjects = json::array({descriptor(manifest)});
  for (const json& output : stable["outputs"])
    if (output["digest"].is_string())
      subjects.push_back(descriptor(output, output["type"] == "directory"));
  json command = json::array();
  for (const std::string& word : redaction.clean_arguments(step.run->plan.command))
    command.push_back(printable(word));
  const json definition = {
      {"buildType", "urn:hermetic:run:v1"},
      {"externalParameters",
       {{"step", printable(step.id)},
        {"command", std::move(command)},
        {"directory", printable(step.run->plan.directory)},
        {"policy", printable(report.policy_file)},
        {"spec_digest", stable["spec_digest"]}}},
      {"internalParameters", {{"backend", stable["backend"]}, {"assurance", stable["assurance"]}}},
      {"resolvedDependencies", dependencies(report, stable)}};
  const json details = {{"builder",
                         {{"id", builder_id(step.run->assurance)},
                          {"version", {{"hermetic", stable["tool"]["version"]}}}}},
                        {"metadata", {{"invocationId", "sha256:" + step.manifest->digest()}}},
                        {"byproducts", json::array()}};
  return statement(std::move(subjects), "https://slsa.dev/provenance/v1",
                   {{"buildDefinition", definition}, {"runDetails", details}});
}

std::string trace_statement(const Report& report, const ReportStep& step, const Subject& manifest,
                            const Redaction& redaction) {
  const RunRecord& run = *step.run;
  json monitor = {{"type", "urn:hermetic:monitor:v1"},
                  {"tracePolicy",
                   {{"network", to_string(run.plan.network.mode)},
                    {"assurance", to_string(run.assurance)},
                    {"detectors", coverage_of(run)}}}};
  if (!report.policy_digest.empty())
    monitor["configSource"] =
        descriptor(Subject{printable(report.policy_file), report.policy_digest});
  return statement(
      json::array({descriptor(manifest)}), "https://in-toto.io/attestation/runtime-trace/v0.1",
      {{"monitor", std::move(monitor)},
       {"monitoredProcess",
        {{"hostID", "urn:hermetic:host"},
         {"type", "urn:hermetic:run:v1"},
         {"event", printable(step.id)}}},
       {"monitorLog",
        {{"process", process_log(run, redaction)}, {"network", network_log(run, redaction)}}}});
}

std::string test_result_statement(const Report& report, const Subject& subject) {
  json passed = json::array();
  json warned = json::array();
  json failed = json::array();
  for (const ReportStep& step : report.steps) {
    if (step.verdict != StepVerdict::Pass)
      failed.push_back(printable(step.id));
    else
      (step.breaches.empty() ? passed : warned).push_back(printable(step.id));
  }
  json configuration = json::array();
  if (!report.policy_digest.empty())
    configuration.push_back(
        descriptor(Subject{printable(report.policy_file), report.policy_digest}));
  else
    for (const ReportStep& step : report.steps)
      if (step.run)
        configuration.push_back(descriptor(Subject{"spec", step.run->plan.spec_digest}));
  const char* result = report.verdict() != StepVerdict::Pass ? "FAILED"
                       : warned.empty()                      ? "PASSED"
                                                             : "WARNED";
  return statement(json::array({descriptor(subject)}),
                   "https://in-toto.io/attestation/test-result/v0.1",
                   {{"result", result},
                    {"configuration", std::move(configuration)},
                    {"passedTests", std::move(passed)},
                    {"warnedTests", std::move(warned)},
                    {"failedTests", std::move(failed)}});
}

std::string evidence_statement(const Subject& list, const Subject& stable) {
  return statement(json::array({descriptor(list), descriptor(stable)}), "urn:hermetic:evidence:v1",
                   {{"stable", stable.name}, {"list", list.name}});
}

}  // namespace hermetic
