#include "cli/explanation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <vector>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/spec_text.h"
#include "hermetic/plan/print.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic::cli {
namespace {

constexpr std::size_t kMostLines = 20;

bool exists(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// The host has it, but the private /tmp covers it.
bool is_hidden_by_own_tmp(const Spec& spec, const AskedPath& asked) {
  const Decision decision = spec.decide(asked.path, asked.operation);
  const bool own_tmp = decision.tree != nullptr && decision.tree->built_in;
  return own_tmp && asked.path != kTemporary && asked.operation != Operation::Write &&
         exists(asked.path);
}

// A name that is nowhere is no loss to a reader; one that cannot be made is one to a writer.
bool is_worth_telling(const Spec& spec, const AskedPath& asked) {
  if (is_within(asked.path, kProcesses) || is_within(asked.path, kDevices)) return false;
  if (is_hidden_by_own_tmp(spec, asked)) return true;
  if (spec.decide(asked.path, asked.operation).allowed) return false;
  return asked.operation == Operation::Write || exists(asked.path);
}

std::string reason_for(const Spec& spec, const AskedPath& asked) {
  if (is_hidden_by_own_tmp(spec, asked))
    return fmt::format("{} is hidden: the sandbox has a {} of its own", printable(asked.path),
                       kTemporary);
  return explain(spec, asked.path, asked.operation);
}

std::string remedy_for(const AskedPath& asked) {
  if (asked.operation != Operation::Write)
    return fmt::format("--input {}, or in a spec: inputs: [{}]", printable(asked.path),
                       yaml_scalar(asked.path));
  // A single file is rarely all that a writer needs.
  const std::string directory(parent_of(asked.path));
  return fmt::format(
      "--output {0} (published) or --temp {0} (thrown away), or in a spec: outputs: [{1}] or "
      "temps: [{1}]",
      printable(directory), yaml_scalar(directory));
}

std::vector<AskedPath> denied_in(const Spec& spec, const Outcome& outcome) {
  std::vector<AskedPath> denied;
  for (const AskedPath& asked : outcome.asked)
    if (is_worth_telling(spec, asked)) denied.push_back(asked);
  return denied;
}

}  // namespace

std::vector<Event> denied_files(const Spec& spec, const Outcome& outcome) {
  std::vector<Event> events;
  for (const AskedPath& asked : denied_in(spec, outcome)) {
    Event event{.kind = Event::Kind::File,
                .act = std::string(to_string(asked.operation)),
                .subject = asked.path,
                .verdict = Verdict::Deny,
                .rule = reason_for(spec, asked)};
    if (!asked.by.empty()) event.processes.push_back({.executable = asked.by});
    events.push_back(std::move(event));
  }
  return events;
}

std::string explain_denied(const Spec& spec, const Outcome& outcome) {
  const std::vector<AskedPath> denied = denied_in(spec, outcome);
  if (denied.empty()) return "";
  std::string text = "the command asked for paths that are not declared:\n";
  for (std::size_t i = 0; i < denied.size() && i < kMostLines; ++i) {
    const std::string by =
        denied[i].by.empty() ? "" : fmt::format("    asked for by {}\n", printable(denied[i].by));
    text += fmt::format("  {}\n{}    to allow it: {}\n", reason_for(spec, denied[i]), by,
                        remedy_for(denied[i]));
  }
  if (denied.size() > kMostLines)
    text += fmt::format("  and {} more\n", denied.size() - kMostLines);
  text.pop_back();  // the printer ends the line
  return text;
}

}  // namespace hermetic::cli
