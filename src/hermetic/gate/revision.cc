#include "hermetic/gate/revision.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "hermetic/base/text.h"
#include "hermetic/record/evidence_folder.h"

namespace hermetic::gate {
namespace {

constexpr std::string_view kReference = "ref: ";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool is_commit(std::string_view text) {
  constexpr std::size_t kSha1 = 40;
  constexpr std::size_t kSha256 = 64;
  return (text.size() == kSha1 || text.size() == kSha256) && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::optional<std::string> line_of(const std::string& file) {
  const Result<std::string> text = read_whole_file(file);
  if (!text) return std::nullopt;
  return first_line(*text);
}

// A worktree's folder says where the rest of the repository is.
std::string absolute(const std::string& name, const std::string& folder) {
  return name.starts_with('/') ? name : folder + "/" + name;
}

std::optional<std::string> packed(const std::string& git, const std::string& reference) {
  const Result<std::string> text = read_whole_file(git + "/packed-refs");
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && line.substr(space + 1) == reference)
      return std::string(line.substr(0, space));
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> revision_of(const std::string& workspace) {
  std::string git = workspace + "/.git";
  if (const std::optional<std::string> line = line_of(git); line && line->starts_with("gitdir: "))
    git = absolute(line->substr(std::string_view("gitdir: ").size()), workspace);
  const Error none = invalid(
      fmt::format("'{}' is at no commit that can be found", printable(workspace)), "give --sha");
  std::optional<std::string> head = line_of(git + "/HEAD");
  if (!head) return none;
  if (head->starts_with(kReference)) {
    const std::string reference = head->substr(kReference.size());
    if (reference.find("..") != std::string::npos) return none;
    std::string common = git;
    if (const std::optional<std::string> line = line_of(git + "/commondir"))
      common = absolute(*line, git);
    head = line_of(common + "/" + reference);
    if (!head) head = packed(common, reference);
  }
  if (!head || !is_commit(*head)) return none;
  return *head;
}

Result<void> check_revision(const std::string& revision) {
  const bool plain = std::ranges::all_of(revision, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain && !revision.empty() && !revision.starts_with('.') && revision.size() <= 128) return {};
  return invalid(fmt::format("'{}' cannot name a commit", printable(revision)),
                 "use letters, digits, '.', '_' and '-': it names a folder");
}

}  // namespace hermetic::gate
