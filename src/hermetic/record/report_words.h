// The words that all forms of a report share, and what they take from a manifest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/record/redaction.h"
#include "hermetic/record/report.h"

namespace hermetic {

// "curl -o 'a file' https://example.org", redacted and visible: as a shell would read it.
[[nodiscard]] std::string command_line(std::string_view executable,
                                       std::span<const std::string> arguments,
                                       const Redaction& redaction);

[[nodiscard]] std::string_view sign_of(StepVerdict verdict);  // "✓", "✗", "!", "–"

// "2 of 4 steps passed, 1 failed, 1 was skipped; 3 breaches"
[[nodiscard]] std::string summary_of(const Report& report);

// What "enforced", "observed" or "degraded" says about the runs, as a sentence.
[[nodiscard]] std::string_view meaning_of(Assurance assurance);

// How the command ended: "exited with 1". Nothing that depends on how fast the host is.
[[nodiscard]] std::string ending_of(const Ending& ending);

// Why that is no success, as a sentence: "the command ended with exit code 1"; "" if it is one.
[[nodiscard]] std::string failure_of(const Ending& ending);

// "20 of 22 clauses enforced"
[[nodiscard]] std::string clause_count_of(const Plan& plan);

// What is known about the completeness of the record: one sentence each.
[[nodiscard]] std::vector<std::string> coverage_sentences(const RunRecord& record,
                                                          const Redaction& redaction);

// Inputs, as the manifest lists them, and what was published, in the order of their paths.
struct TreeFact {
  std::string path;
  std::string measure;  // "content", "programs"; of outputs: "file", "directory"
  std::string digest;   // "sha256:…", or "" if there is none
  std::uint64_t files = 0;
  std::uint64_t size_bytes = 0;
};
[[nodiscard]] std::vector<TreeFact> inputs_of(const ReportStep& step);
[[nodiscard]] std::vector<TreeFact> outputs_of(const ReportStep& step);

// "512 bytes", "4.3 MiB": for people, so not exact.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// "1 file", "2 files"
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view one);

}  // namespace hermetic
