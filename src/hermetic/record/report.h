// Report: one or more runs and what was concluded from them, for people and for other tools.
//
// `hermetic run --evidence` reports one step, `hermetic gate` as many as its policy has. All forms
// are made from this one value. SARIF holds nothing that differs between two equal runs; Markdown,
// JUnit and the page (HTML) also show times, and what the CI system said about itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/error.h"
#include "hermetic/record/manifest.h"
#include "hermetic/record/redaction.h"
#include "hermetic/record/run_record.h"

namespace hermetic {

enum class StepVerdict {
  Pass,
  Fail,     // the command failed, or did what it must not
  Error,    // it could not be run, or not as the policy wants it
  Skipped,  // a step that it needs did not pass
};
[[nodiscard]] std::string_view to_string(
    StepVerdict verdict);  // "pass", "fail", "error", "skipped"

// One thing that was tried and is not allowed.
struct Breach {
  std::string rule_id;  // "network-denied", "listener", "limit", "residue"…: one word for tools
  std::string message;  // one sentence for people, redacted and printable
  std::vector<std::string> chain;  // who did it, then its parent, and so on; a command line each
  std::string decided_by;          // the line of the policy or spec that denied it
  std::uint64_t count = 1;
  std::string brief = {};   // "connect 192.0.2.5:9/udp"; "" where the message is as short
  std::string remedy = {};  // what to write into the policy to allow it; "" if nothing would

  friend bool operator==(const Breach&, const Breach&) = default;
};

struct ReportStep {
  std::string id;           // "unit-tests"; for `run`, the program's name
  std::string description;  // may be empty
  Origin origin;            // where the step is written: policy or spec; may be empty
  StepVerdict verdict = StepVerdict::Pass;
  std::string reason;            // why it did not pass: one sentence; "" if it did
  std::vector<Breach> breaches;  // in an order that does not depend on time
  std::optional<RunRecord> run;  // none if it was not run
  std::optional<Manifest> manifest;
  std::string standard_output;  // redacted; perhaps only its end
  std::string standard_error;
  std::vector<std::string> last_lines = {};  // of both, for people: last_lines_of()
  std::vector<std::string> notes = {};       // what is worth knowing and is not a breach
};

// Where the CI system shows what the report is about. The address is http(s), without a character
// that means anything in HTML or Markdown: linked() is the only way to one.
struct ReportLink {
  std::string name;  // "commit", "job"
  std::string address;
};

// What differs from an earlier report of the same policy.
struct StepChange {
  std::string id;
  std::string before;                    // its verdict then; "" if it was not there
  std::string now;                       // its verdict; "" if it is not there any more
  std::vector<std::string> appeared;     // breaches, in brief
  std::vector<std::string> disappeared;  // as well
  std::optional<std::chrono::microseconds> took_before = {};
  std::optional<std::chrono::microseconds> took = {};

  [[nodiscard]] bool is_silent() const {
    return before == now && appeared.empty() && disappeared.empty();
  }
};
struct ReportChanges {
  std::string folder;             // of the earlier evidence
  std::string revision;           // that it was about
  std::vector<StepChange> steps;  // in the order of this report, then those that are gone
};

struct Report {
  std::string title;          // "hermetic run", "hermetic gate"
  std::string revision;       // the commit, if one is known
  std::string policy_file;    // as it was named; "" for a single run
  std::string policy_digest;  // SHA-256
  Assurance assurance = Assurance::Enforced;
  std::vector<ReportStep> steps;
  std::vector<ReportLink> links = {};
  std::optional<ReportChanges> comparison = {};

  [[nodiscard]] StepVerdict verdict() const;  // the worst of all steps; skipped is a failure
};

// Who did it, then its parent, and so on: a command line each, redacted and printable.
[[nodiscard]] std::vector<std::string> chain_of(const Event& event, const Redaction& redaction);

// What a run tried and may not, out of its record.
[[nodiscard]] std::vector<Breach> breaches_of(const RunRecord& record, const Redaction& redaction);

// The whole report, or as much as a CI system shows on one page.
[[nodiscard]] std::string report_as_markdown(const Report& report, const Redaction& redaction);
[[nodiscard]] std::string report_as_summary(const Report& report, const Redaction& redaction);
[[nodiscard]] std::string report_as_html(const Report& report, const Redaction& redaction);
[[nodiscard]] std::string report_as_sarif(const Report& report);
[[nodiscard]] std::string report_as_junit(const Report& report);

}  // namespace hermetic
