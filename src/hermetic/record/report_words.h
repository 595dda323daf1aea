// The words that all forms of a report share, and what they take from a manifest.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hermetic/record/redaction.h"
#include "hermetic/record/report.h"

namespace hermetic {

// "curl -o 'a file' https://example.org", redacted and visible: as a shell would read it.
[[nodiscard]] std::string command_line(std::string_view executable,
                                       std::span<const std::string> arguments,
                                       const Redaction& redaction);

// "connect 192.0.2.5:9/udp by python3": what a list shows of it.
[[nodiscard]] std::string brief_of(const Breach& breach);

// "connect 192.0.2.5:9/udp by python3, and 2 more"; "" if there is none.
[[nodiscard]] std::string brief_of(const std::vector<Breach>& breaches);

// The places of the steps: errors and failures first, then skipped, then passed, otherwise as they
// stand.
[[nodiscard]] std::vector<std::size_t> worst_first(const Report& report);

// How long the command of a step ran.
[[nodiscard]] std::optional<std::chrono::microseconds> took(const ReportStep& step);

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

// What was reached for, once for all steps: names and addresses with their ports.
struct Destination {
  std::string name;  // "web.example.org:443/tcp"
  bool denied = false;
  std::uint64_t count = 0;
  std::set<std::string> programs;  // by their short names
  std::set<std::string> steps;
};
// Denied ones first, then by name. What only looks for a way to 127.0.0.53 and the like is not one.
[[nodiscard]] std::vector<Destination> destinations_of(const Report& report,
                                                       const Redaction& redaction);

// What is worth knowing, once for all steps that it is about.
[[nodiscard]] std::map<std::string, std::set<std::string>> notes_of(const Report& report);

// "2 steps fail that passed: a, b", one sentence each; none if nothing has changed.
[[nodiscard]] std::vector<std::string> changes_in(const ReportChanges& comparison);

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

// Those that hold something, and the names of those that do not, by what is to be said of them.
struct TreesByUse {
  std::vector<TreeFact> used;
  std::vector<std::pair<std::string_view, std::vector<std::string>>> empty;
};
[[nodiscard]] TreesByUse without_empty(const std::vector<TreeFact>& facts);

// "512 bytes", "4.3 MiB": for people, so not exact.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// "1 file", "2 files"
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view one);

}  // namespace hermetic
