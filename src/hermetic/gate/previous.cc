#include "hermetic/gate/previous.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/record/evidence_folder.h"
#include "hermetic/record/markup.h"
#include "hermetic/record/report_words.h"

namespace hermetic::gate {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestText = 400;

class Reader {
 public:
  Reader(std::string folder, const Redaction& redaction)
      : folder_(std::move(folder)), redaction_(redaction) {}

  Result<PreviousGate> read() {
    const json report = TRY(document(std::string(kReportFile)));
    if (text(report, "type") != "hermetic.gate" || !member(report, "steps").is_array())
      return refuse(std::string(kReportFile));
    PreviousGate previous{.folder = visible(redaction_.clean(folder_)),
                          .revision = text(report, "revision"),
                          .steps = {}};
    for (const json& step : member(report, "steps")) {
      PreviousGate::Step& known = previous.steps[text(step, "id")];
      known.verdict = text(step, "verdict");
      if (const json breaches = member(step, "breaches"); breaches.is_array())
        for (const json& breach : breaches) known.breaches.insert(brief(breach));
    }
    // Without it nothing is known of times, and the rest is.
    if (const Result<json> rest = document(std::string(kVolatileFile)))
      if (const json steps = member(*rest, "steps"); steps.is_object())
        for (auto& [id, known] : previous.steps)
          if (const json time = member(member(steps, id.c_str()), "wall_us");
              time.is_number_unsigned())
            known.took = std::chrono::microseconds(static_cast<std::int64_t>(
                std::min<std::uint64_t>(time.get<std::uint64_t>(), kMostTime)));
    return previous;
  }

 private:
  static constexpr std::uint64_t kMostTime = 1'000'000ULL * 86'400 * 365;

  Result<json> document(const std::string& name) {
    const std::string text = TRY(read_whole_file(folder_ + "/" + name));
    json parsed = parse_bounded_json(text);
    if (!parsed.is_object()) return refuse(name);
    return parsed;
  }
  [[nodiscard]] Error refuse(const std::string& name) const {
    return invalid(fmt::format("'{}/{}' is not what a gate has written", printable(folder_), name),
                   "name a folder that 'hermetic gate' has left with --previous");
  }
  static json member(const json& object, const char* key) {
    return object.is_object() ? object.value(key, json()) : json();
  }
  [[nodiscard]] std::string text(const json& object, const char* key) const {
    const json value = member(object, key);
    return value.is_string()
               ? shortened(visible(redaction_.clean(value.get<std::string>())), kLongestText)
               : "";
  }
  // Older ones have no brief words.
  [[nodiscard]] std::string brief(const json& breach) const {
    if (std::string words = text(breach, "brief"); !words.empty()) return words;
    Breach known{.rule_id = "", .message = text(breach, "message"), .chain = {}, .decided_by = ""};
    if (const json chain = member(breach, "processes");
        chain.is_array() && !chain.empty() && chain[0].is_string())
      known.chain.push_back(visible(redaction_.clean(chain[0].get<std::string>())));
    return brief_of(known);
  }

  std::string folder_;
  const Redaction& redaction_;
};

}  // namespace

Result<PreviousGate> read_previous_gate(const std::string& folder, const Redaction& redaction) {
  return Reader(folder, redaction).read();
}

ReportChanges changes_since(const PreviousGate& previous, const Report& report, bool whole) {
  ReportChanges changes{.folder = previous.folder, .revision = previous.revision, .steps = {}};
  std::set<std::string> seen;
  for (const ReportStep& step : report.steps) {
    seen.insert(step.id);
    StepChange change{.id = step.id,
                      .before = "",
                      .now = std::string(to_string(step.verdict)),
                      .appeared = {},
                      .disappeared = {}};
    change.took = took(step);
    std::set<std::string> now;
    for (const Breach& breach : step.breaches)
      now.insert(shortened(visible(brief_of(breach)), kLongestText));
    const auto known = previous.steps.find(step.id);
    const std::set<std::string> none;
    const std::set<std::string>& before =
        known == previous.steps.end() ? none : known->second.breaches;
    if (known != previous.steps.end()) {
      change.before = known->second.verdict.empty() ? "unknown" : known->second.verdict;
      change.took_before = known->second.took;
    }
    std::ranges::set_difference(now, before, std::back_inserter(change.appeared));
    // One that was not run has not lost what it did.
    if (step.run) std::ranges::set_difference(before, now, std::back_inserter(change.disappeared));
    changes.steps.push_back(std::move(change));
  }
  if (whole)
    for (const auto& [id, step] : previous.steps)
      if (!seen.contains(id))
        changes.steps.push_back(
            {.id = id, .before = step.verdict, .now = "", .appeared = {}, .disappeared = {}});
  return changes;
}

}  // namespace hermetic::gate
