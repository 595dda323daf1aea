// What is attested about runs: in-toto statements (version 1), as canonical JSON.
//
// They hold nothing that differs between two equal runs, but for evidence_statement().
#pragma once

#include <string>

#include "hermetic/record/report.h"

namespace hermetic {

// A file in the folder of evidence that a statement is about.
struct Subject {
  std::string name;
  std::string digest;  // SHA-256
};

// Whose runs these are: it differs between enforced, observed and degraded ones, so that who trusts
// the first does not get the others.
[[nodiscard]] std::string builder_id(Assurance assurance);

// SLSA provenance, version 1: what was run, on what, and what came out. The step was run.
[[nodiscard]] std::string provenance_statement(const Report& report, const ReportStep& step,
                                               const Subject& manifest, const Redaction& redaction);
// Runtime trace, version 0.1: what the monitor saw.
[[nodiscard]] std::string trace_statement(const Report& report, const ReportStep& step,
                                          const Subject& manifest, const Redaction& redaction);
// Test result, version 0.1: which steps passed.
[[nodiscard]] std::string test_result_statement(const Report& report, const Subject& subject);

// Binds the files that differ from run to run, through the one that lists their digests.
[[nodiscard]] std::string evidence_statement(const Subject& list, const Subject& stable);

}  // namespace hermetic
