#include "hermetic/record/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/dsse.h"
#include "hermetic/record/usage_json.h"

namespace hermetic {
namespace {

using nlohmann::json;

json samples_as_json(const std::vector<Usage>& samples) {
  json list = json::array();
  for (const Usage& sample : samples) list.push_back(json::parse(sample_line(sample)));
  return list;
}

json listings(const std::vector<InputDigest>& inputs, const Redaction& redaction) {
  json list = json::array();
  for (const InputDigest& input : inputs) {
    json entries = input.listing;
    // Hardly any name has a secret in it: they are looked at one by one only if one has.
    const std::string all = fmt::format("{}", fmt::join(input.listing, "\n"));
    if (redaction.clean(all) != all)
      for (json& entry : entries) entry = redaction.clean(entry.get<std::string>());
    list.push_back({{"path", printable(redaction.clean(input.path))},
                    {"measure", to_string(input.measure)},
                    {"digest", "sha256:" + input.digest},
                    {"entries", std::move(entries)}});
    if (!input.source.empty()) list.back()["source"] = printable(redaction.clean(input.source));
  }
  return list;
}

}  // namespace

Result<void> write_run_files(EvidenceFolder& folder, const std::string& prefix,
                             const ReportStep& step, const std::vector<InputDigest>& inputs,
                             const Redaction& redaction) {
  const RunRecord& run = *step.run;
  TRY(folder.write(prefix + std::string(kManifestFile), step.manifest->canonical()));
  TRY(folder.write(prefix + "inputs.json", readable_json(listings(inputs, redaction))));
  TRY(folder.write(prefix + "stdout.txt", step.standard_output));
  TRY(folder.write(prefix + "stderr.txt", step.standard_error));
  TRY(folder.write(prefix + "process_tree.json",
                   readable_json(process_tree_as_json(run.processes, redaction))));
  json usage = usage_as_json(run.outcome.usage);
  usage["samples"] = samples_as_json(run.samples);
  return folder.write(prefix + "usage.json", readable_json(usage));
}

Result<void> write_conclusion(EvidenceFolder& folder, const Report& report,
                              const std::string& stable, json rest, const SigningKey* key,
                              const Redaction& redaction) {
  TRY(folder.write("report.md", report_as_markdown(report, redaction)));
  TRY(folder.write("report.html", report_as_html(report, redaction)));
  TRY(folder.write("report.sarif", report_as_sarif(report)));
  TRY(folder.write("junit.xml", report_as_junit(report)));

  std::map<std::string, Subject> files = TRY(folder.files());
  const Subject stable_file = files.at(stable);
  std::string attestations;
  const auto attest = [&](const std::string& statement) {
    attestations += envelope(statement, key) + "\n";
  };
  for (const ReportStep& step : report.steps) {
    if (!step.run || !step.manifest) continue;
    // Of a single run the manifest is the stable part; a gate has one for each step.
    const std::string name =
        stable == kManifestFile ? stable : fmt::format("logs/{}/{}", step.id, kManifestFile);
    attest(provenance_statement(report, step, files.at(name), redaction));
    attest(trace_statement(report, step, files.at(name), redaction));
  }
  attest(test_result_statement(report, stable_file));
  TRY(folder.write(std::string(kAttestationsFile), attestations));

  files = TRY(folder.files());
  rest["files"] = json::object();
  for (const auto& [name, file] : files) rest["files"][name] = "sha256:" + file.digest;
  const std::string list = canonical_json(rest);
  TRY(folder.write(std::string(kVolatileFile), list));
  return folder.write(
      std::string(kVolatileAttestationFile),
      envelope(evidence_statement({std::string(kVolatileFile), sha256(list)}, stable_file), key) +
          "\n");
}

}  // namespace hermetic
