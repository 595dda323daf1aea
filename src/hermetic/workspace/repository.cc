#include "hermetic/workspace/repository.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <set>
#include <string_view>

#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr std::string_view kReference = "ref: ";
constexpr std::string_view kFolder = "gitdir: ";

std::string real(const std::string& path) {
  std::array<char, PATH_MAX> resolved = {};
  return ::realpath(path.c_str(), resolved.data()) == nullptr ? "" : std::string(resolved.data());
}

// A worktree's folder says where the rest of the repository is.
std::string absolute(const std::string& name, const std::string& folder) {
  return name.starts_with('/') ? name : folder + "/" + name;
}

bool is_directory(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string packed(const std::string& git, const std::string& reference) {
  const Result<std::string> text = read_whole_file(git + "/packed-refs");
  if (!text) return "";
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && line.substr(space + 1) == reference)
      return std::string(line.substr(0, space));
  }
  return "";
}

void add_alternates(const std::string& objects, std::vector<std::string>& found) {
  constexpr std::size_t kMost = 32;
  const Result<std::string> text = read_whole_file(objects + "/info/alternates");
  if (!text) return;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string folder = real(absolute(std::string(rest.substr(0, end)), objects));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (folder.empty() || std::ranges::find(found, folder) != found.end()) continue;
    if (found.size() >= kMost) return;
    found.push_back(folder);
    add_alternates(folder, found);
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

constexpr std::size_t kMostSubmodules = 10'000;

// The paths that a file '.gitmodules' names. What is written in an odd way is passed over. Few
// bytes of a repository make a file of many millions of lines, and one in every directory.
std::set<std::string> paths_of_submodules(const std::string& file) {
  std::set<std::string> paths;
  const Result<std::string> text = read_whole_file(file);
  std::string_view rest = text ? std::string_view(*text) : "";
  while (!rest.empty() && paths.size() < kMostSubmodules) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || trimmed(line.substr(0, equals)) != "path") continue;
    std::string_view path = trimmed(line.substr(equals + 1));
    if (path.size() > 1 && path.starts_with('"') && path.ends_with('"'))
      path = path.substr(1, path.size() - 2);
    while (path.ends_with('/')) path.remove_suffix(1);
    if (!path.empty() && path.find_first_of("\\\"") == std::string_view::npos) paths.emplace(path);
  }
  return paths;
}

// Each place is looked at once: who writes such files can name one in very many ways.
void look_for_submodules(const std::string& top, const std::string& below, int depth,
                         std::set<std::string>& seen) {
  constexpr int kDeepest = 32;
  if (depth > kDeepest) return;
  for (const std::string& name : paths_of_submodules(top + "/" + below + ".gitmodules")) {
    const std::string path = below + name;
    if (seen.size() >= kMostSubmodules) return;
    if (!seen.insert(path).second || real(top + "/" + path) != top + "/" + path) continue;
    look_for_submodules(top, path + "/", depth + 1, seen);
  }
}

}  // namespace

std::vector<std::string> inner_submodules(const Repository& repository) {
  std::set<std::string> seen;
  if (!repository.worktree.empty()) look_for_submodules(repository.worktree, "", 0, seen);
  std::erase_if(seen, [&](const std::string& path) {
    const std::string git = fmt::format("{}/{}/.git", repository.worktree, path);
    return real(git) != git || !is_directory(git + "/objects");
  });
  return {seen.begin(), seen.end()};
}

bool is_commit(std::string_view text) {
  constexpr std::size_t kSha1 = 40;
  constexpr std::size_t kSha256 = 64;
  return (text.size() == kSha1 || text.size() == kSha256) && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<Repository> find_repository(const std::string& path) {
  Repository repository;
  std::string git = path + "/.git";
  if (const std::string line = first_line_of(git); line.starts_with(kFolder))
    git = absolute(line.substr(kFolder.size()), path);
  else if (!is_directory(git))
    git = path;  // one without a worktree
  if (git != path) repository.worktree = real(path);
  repository.git = real(git);
  repository.common = repository.git;
  if (const std::string common = first_line_of(git + "/commondir"); !common.empty())
    repository.common = real(absolute(common, git));
  // Somebody else's, perhaps: what cannot be looked at is not called something else.
  for (const std::string& place : {path, git, repository.common + "/objects", git + "/HEAD"})
    if (::access(place.c_str(), R_OK) != 0 && errno == EACCES)
      return system_error(fmt::format("cannot read the repository '{}'", printable(path)), EACCES,
                          "ask its owner for the right to read it, or clone it");
  if (repository.git.empty() || !is_directory(repository.common + "/objects") ||
      first_line_of(repository.git + "/HEAD").empty())
    return invalid(fmt::format("'{}' is no git repository", printable(path)),
                   "name a folder that git clone or git init has made");
  add_alternates(repository.common + "/objects", repository.objects);
  return repository;
}

Result<std::string> head_of(const Repository& repository) {
  std::string head = first_line_of(repository.git + "/HEAD");
  if (head.starts_with(kReference)) {
    const std::string reference = head.substr(kReference.size());
    head.clear();
    if (reference.find("..") == std::string::npos)
      head = first_line_of(repository.common + "/" + reference);
    if (head.empty()) head = packed(repository.common, reference);
  }
  if (is_commit(head)) return head;
  return invalid(fmt::format("'{}' is at no commit that can be found", printable(repository.git)),
                 "commit something, or name a commit with --sha");
}

}  // namespace hermetic
