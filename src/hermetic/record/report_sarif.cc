// The report as SARIF 2.1.0, for tools that show findings beside the lines they are about.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/record/markup.h"
#include "hermetic/record/report.h"
#include "hermetic/record/report_words.h"

#ifndef HERMETIC_VERSION
#error "the build defines HERMETIC_VERSION"
#endif

namespace hermetic {
namespace {

// In the order in which the keys are put in: what a reader looks for comes first.
using Json = nlohmann::ordered_json;

struct Rule {
  std::string_view id;
  std::string_view name;  // a word in Pascal case, as the viewers expect it
  std::string_view brief;
  std::string_view help;
};

constexpr std::string_view kOther = "violation";
constexpr std::array kRules = {
    Rule{"file-denied", "FileDenied", "A file that is not declared was asked for.",
         "Declare the path as an input or output of the step, or change the command so that it "
         "does not need it."},
    Rule{"limit", "LimitExceeded", "A resource limit was exceeded.",
         "Raise the limit of the step, or find out why the command needs so much."},
    Rule{"listener", "ListenerDenied", "A process tried to listen for connections.",
         "Allow the port in the policy (listen_ports), or use the loopback of the sandbox."},
    Rule{"name-lookup", "NameLookupDenied", "A host name was looked up that is not allowed.",
         "If the step needs the host, allow it in the policy with an owner and a reason; else find "
         "out which process asks for it: the chain of processes is in the properties."},
    Rule{"network-denied", "NetworkDenied", "A process tried to reach a host that is not allowed.",
         "If the step needs the host, allow it in the policy with an owner and a reason; else find "
         "out which process asks for it: the chain of processes is in the properties."},
    Rule{"residue", "SomethingLeft", "Something was left behind when the step was over.",
         "End or remove what the step starts or makes before it ends."},
    Rule{"socket", "SocketDenied", "A socket of a kind that no policy allows was asked for.",
         "Use TCP or UDP to an allowed host: sockets of other kinds lead around the guard."},
    Rule{"step-error", "StepError", "A step could not be run as the policy wants it.",
         "Read the message: something about the host, the policy or the sandbox is in the way."},
    Rule{"step-failed", "StepFailed", "The command of a step failed.",
         "Read the captured output of the step in the evidence folder."},
    Rule{"step-skipped", "StepSkipped", "A step was not run.",
         "A step that it needs did not pass: look at that one first."},
    Rule{"timeout", "TimedOut", "A step did not end in time.",
         "Raise the time limit of the step, or find out what it waits for."},
    Rule{kOther, "OtherViolation", "Something was tried that is not allowed.",
         "Read the message and the line of the policy that decided it."},
};

std::size_t index_of(std::string_view id) {
  const auto* found =
      std::find_if(kRules.begin(), kRules.end(), [&](const Rule& rule) { return rule.id == id; });
  if (found == kRules.end()) return index_of(kOther);
  return static_cast<std::size_t>(found - kRules.begin());
}

Json rules() {
  Json list = Json::array();
  for (const Rule& rule : kRules)
    list.push_back({{"id", rule.id},
                    {"name", rule.name},
                    {"shortDescription", {{"text", rule.brief}}},
                    {"fullDescription", {{"text", rule.brief}}},
                    {"help", {{"text", rule.help}}},
                    {"defaultConfiguration", {{"level", "error"}}},
                    {"properties", {{"tags", {"hermetic", "supply-chain"}}}}});
  return list;
}

// RFC 3986: what is not unreserved or a separator is written by its bytes.
std::string uri_of(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

class SarifReport {
 public:
  explicit SarifReport(const Report& report) : report_(report) {}

  [[nodiscard]] std::string finish() && {
    for (const ReportStep& step : report_.steps) add(step);
    Json run = {
        {"tool",
         {{"driver",
           {{"name", "hermetic"}, {"semanticVersion", HERMETIC_VERSION}, {"rules", rules()}}}}},
        {"invocations",
         Json::array({{{"executionSuccessful", report_.verdict() != StepVerdict::Error}}})},
        {"automationDetails", {{"id", visible(report_.title) + "/"}}},
        {"columnKind", "utf16CodeUnits"},
        {"results", std::move(results_)},
    };
    const Json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({std::move(run)})}};
    return log.dump(2) + "\n";
  }

 private:
  void add(const ReportStep& step) {
    for (const Breach& breach : step.breaches) {
      Json properties = {{"step", visible(step.id)}, {"decidedBy", visible(breach.decided_by)}};
      properties["chain"] = Json::array();
      for (const std::string& process : breach.chain)
        properties["chain"].push_back(visible(process));
      const std::string who = breach.chain.empty() ? "" : ", by " + visible(breach.chain.front());
      add(step, breach.rule_id, visible(breach.message) + who, std::move(properties));
    }
    if (!step.breaches.empty() || step.verdict == StepVerdict::Pass) return;
    std::string rule = "step-failed";
    if (step.verdict == StepVerdict::Error) rule = "step-error";
    if (step.verdict == StepVerdict::Skipped) rule = "step-skipped";
    add(step, rule, visible(step.reason), {{"step", visible(step.id)}});
  }

  void add(const ReportStep& step, std::string_view rule_id, const std::string& message,
           Json properties) {
    const std::size_t rule = index_of(rule_id);
    // A viewer may show nothing but this.
    const std::string sentence =
        message.empty() ? std::string(kRules.at(rule).brief) : message + ".";
    const std::string text = fmt::format("{}: {}", visible(step.id), sentence);
    const std::string identity = properties.dump() + text;
    Json result = {{"ruleId", kRules.at(rule).id},
                   {"ruleIndex", rule},
                   {"level", "error"},
                   {"message", {{"text", text}}},
                   {"locations", locations_of(step)},
                   {"partialFingerprints", {{"hermeticBreach/v1", sha256(identity)}}},
                   {"properties", std::move(properties)}};
    results_.push_back(std::move(result));
  }

  // The line where the step is written: a breach has no line of its own. Of an option on the
  // command line there is no file.
  [[nodiscard]] Json locations_of(const ReportStep& step) const {
    std::string file = report_.policy_file;
    int line = 1;
    if (step.origin.line > 0) {
      file = step.origin.source;
      line = step.origin.line;
    }
    if (file.empty()) return Json::array();
    return Json::array(
        {{{"physicalLocation",
           {{"artifactLocation", {{"uri", uri_of(file)}}}, {"region", {{"startLine", line}}}}},
          {"logicalLocations", Json::array({{{"name", visible(step.id)}, {"kind", "member"}}})}}});
  }

  const Report& report_;
  Json results_ = Json::array();
};

}  // namespace

std::string report_as_sarif(const Report& report) { return SarifReport(report).finish(); }

}  // namespace hermetic
