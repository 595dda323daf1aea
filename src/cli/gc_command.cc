// hermetic gc: clears up after runs that were killed.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "hermetic/backends/linux/proof.h"
#include "hermetic/base/json_text.h"
#include "hermetic/base/own_folders.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/monitor/control_group.h"
#include "hermetic/outputs/recovery.h"
#include "hermetic/workspace/cache.h"
#include "hermetic/workspace/run_folder.h"

namespace hermetic::cli {
namespace {

std::string as_text(const std::vector<Leftover>& found) {
  if (found.empty()) return "nothing was left behind\n";
  std::string text;
  for (const Leftover& leftover : found)
    text += fmt::format("{:<10} {}{}{}\n", to_string(leftover.fate), printable(leftover.path),
                        leftover.detail.empty() ? "" : ": ", printable(leftover.detail));
  return text;
}

std::string as_json(const std::vector<Leftover>& found) {
  JsonText json;
  json.begin_object().key("leftovers").begin_array();
  for (const Leftover& leftover : found) {
    std::string fate(to_string(leftover.fate));
    std::replace(fate.begin(), fate.end(), ' ', '_');
    json.begin_object();
    json.key("detail").text(leftover.detail);
    json.key("fate").text(fate);
    json.key("path").text(leftover.path);
    json.end_object();
  }
  return json.end_array().end_object().str() + "\n";
}

// The control groups of runs; then where they prepare outputs and keep journals, of which the first
// two need not be there.
Result<std::vector<Leftover>> collect(const std::vector<std::string>& directories) {
  std::vector<Leftover> found;
  const auto add = [&](std::vector<Leftover> more) {
    std::move(more.begin(), more.end(), std::back_inserter(found));
  };
  for (std::string& group : ControlGroups::of_this_process().remove_abandoned())
    found.push_back({.fate = Leftover::Fate::Removed, .path = std::move(group), .detail = ""});
  for (std::string& secret : linux_backend::remove_abandoned_secrets())
    found.push_back({.fate = Leftover::Fate::Removed, .path = std::move(secret), .detail = ""});
  // Only where there is one: clearing up makes nothing.
  if (::access(usual_cache_path().c_str(), F_OK) == 0) {
    const Cache cache = TRY(Cache::open());
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    AbandonedRuns runs = remove_abandoned_runs(cache.path() + "/journals", deadline);
    for (std::string& folder : runs.removed)
      found.push_back({.fate = Leftover::Fate::Removed, .path = std::move(folder), .detail = ""});
    for (AbandonedRuns::Left& left : runs.left)
      found.push_back({.fate = Leftover::Fate::Kept,
                       .path = std::move(left.path),
                       .detail = std::move(left.why)});
    std::vector<std::string> trees = TRY(cache.remove_abandoned(deadline));
    for (std::string& tree : trees)
      found.push_back({.fate = Leftover::Fate::Removed, .path = std::move(tree), .detail = ""});
  }
  for (const char* usual : kTemporaryFolders)
    if (Result<std::vector<Leftover>> more = recover_abandoned(usual); more) add(std::move(*more));
  for (const std::string& directory : directories) {
    std::vector<Leftover> more = TRY(recover_abandoned(directory));
    add(std::move(more));
  }
  return found;
}

// Of checkouts and environments, those that nobody has used for so many days.
Result<void> collect_unused(const std::string& days, std::vector<Leftover>& found) {
  unsigned count = 0;
  const auto [end, error] = std::from_chars(days.data(), days.data() + days.size(), count);
  if (error != std::errc() || end != days.data() + days.size())
    return invalid(fmt::format("--unused {} is no number of days", printable(days)),
                   "write a number such as 30");
  const Cache cache = TRY(Cache::open());
  std::vector<std::string> removed = TRY(cache.remove_unused(count));
  for (std::string& path : removed)
    found.push_back({.fate = Leftover::Fate::Removed, .path = std::move(path), .detail = "unused"});
  return {};
}

}  // namespace

const Subcommand& gc_description() {
  static const Subcommand description{
      .name = "gc",
      .synopsis = "[DIRECTORY]... [--json]",
      .summary = "Removes what killed runs have left, and puts their outputs right.",
      .options = {
          {"--unused", "DAYS",
           "also cached checkouts, environments and snapshots that nobody has used for DAYS"},
          {"--json", "", "print JSON"},
          {"--help", "", "show this help"}}};
  return description;
}

int gc_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(gc_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(gc_description())), kSuccess;
  if (!arguments->command.empty())
    return report(invalid("'hermetic gc' runs no command", "name directories"));
  Result<std::vector<Leftover>> found = collect(arguments->words);
  if (!found) return report(found.error());
  if (arguments->has("--unused"))
    if (const Result<void> done = collect_unused(arguments->last("--unused"), *found); !done)
      return report(done.error());
  print(arguments->has("--json") ? as_json(*found) : as_text(*found));
  const bool kept = std::any_of(found->begin(), found->end(), [](const Leftover& leftover) {
    return leftover.fate == Leftover::Fate::Kept;
  });
  return kept ? kFailed : kSuccess;
}

}  // namespace hermetic::cli
