#include "cli/violation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "hermetic/base/text.h"
#include "hermetic/learn/spec_text.h"

namespace hermetic::cli {
namespace {

bool is_loopback(std::string_view subject) {
  return subject.starts_with("127.") || subject.starts_with("[::1]") ||
         subject.starts_with("0.0.0.0:") || subject.starts_with("[::]");
}

// The option, and the line of a spec.
std::string remedy_for(std::string_view act, std::string_view subject) {
  if (subject.ends_with(":53/udp"))
    return "--allow-host NAME, or in a spec: network: [NAME], with the name that it looks up";
  if (act == "socket" || act == "close" || act == "more" || subject.empty() ||
      subject == "a hidden address" || subject == "an unreadable question")
    return "nothing: no spec allows it";
  if (act == "listen" || is_loopback(subject))
    return "--network loopback (the sandbox's own), or in a spec: network: loopback";
  if (act != "resolve") subject = subject.substr(0, subject.rfind('/'));  // without "/tcp"
  if (subject.ends_with(":0")) subject.remove_suffix(2);  // of no port: whatever it is
  return fmt::format("--allow-host {}, or in a spec: network: [{}]", printable(subject),
                     yaml_scalar(std::string(subject)));
}

}  // namespace

std::string violation_report(const std::vector<Violation>& violations, OnViolation policy,
                             const Redaction& redaction, std::size_t most) {
  if (violations.empty()) return "";
  const auto is_open = [](const Violation& violation) {
    return violation.act == "bind" && violation.rule == kUnixSocketsRule;
  };
  std::string text =
      std::any_of(violations.begin(), violations.end(), is_open)
          ? "this run was not hermetic: the command did what is not allowed:"
          : "this run was not hermetic: the command tried to reach what is not allowed, and was "
            "denied:";
  const std::size_t shown = std::min(most, violations.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Violation& violation = violations[i];
    const std::string times =
        violation.count == 1 ? "" : fmt::format(", {} times", violation.count);
    const std::string subject = redaction.clean(violation.subject);
    const std::string reason =
        violation.reason.empty() ? "" : ": " + redaction.clean(violation.reason);
    text += fmt::format("\n  {} {}{}\n    by {}\n    {} {}{}; to allow it: {}", violation.act,
                        printable(subject), times, printable(redaction.clean(violation.detail)),
                        is_open(violation) ? "not refused, and against" : "denied by",
                        printable(violation.rule), printable(reason),
                        violation.remedy.empty() ? remedy_for(violation.act, subject)
                                                 : printable(violation.remedy));
  }
  if (shown < violations.size())
    text +=
        fmt::format("\n  and {} more: --json or --events has them all", violations.size() - shown);
  if (policy == OnViolation::Report)
    text += "\n  to make this an error: --on-violation fail, or in a spec: on_violation: fail";
  return text;
}

std::string refusal_report(const std::vector<RefusedCall>& calls, bool all,
                           const Redaction& redaction) {
  std::string text;
  for (const RefusedCall& call : calls) {
    const bool is_table = call.call == "i386" || call.call == "x32" || call.call == "arm";
    if (!is_table && !all) continue;
    const std::string program =
        printable(redaction.clean(call.by.empty() ? "a process that is gone" : call.by));
    if (!text.empty()) text += '\n';
    text += is_table ? fmt::format(
                           "an {} program was refused: {}: a sandbox has the system calls of "
                           "this machine only; build it for those",
                           call.call, program)
                     : fmt::format("the system call {} was refused: {} (system-calls-filtered)",
                                   call.call, program);
    if (all && call.count > 1) text += fmt::format(", {} times", call.count);
  }
  return text;
}

}  // namespace hermetic::cli
