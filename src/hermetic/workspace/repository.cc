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
#include "hermetic/base/path.h"
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

bool is_in_any(const std::string& path, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders,
                             [&](const std::string& folder) { return is_within(path, folder); });
}

// What the file holds, unless a link leads out of the folders.
std::string text_within(const std::vector<std::string>& folders, const std::string& path) {
  const std::string place = real(path);
  if (place.empty() || !is_in_any(place, folders)) return "";
  const Result<std::string> text = read_whole_file(place);
  return text ? *text : "";
}

std::string line_within(const std::vector<std::string>& folders, const std::string& path) {
  const std::string text = text_within(folders, path);
  return text.substr(0, text.find('\n'));
}

std::string packed(const Repository& repository, const std::string& reference) {
  const std::string text = text_within(repository.folders, repository.common + "/packed-refs");
  std::string_view rest = text;
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

// Finds the folders of a repository, and judges each before anything in it is read.
class Finder {
 public:
  Finder(const NamedRepository& named, Elsewhere elsewhere)
      : path_(named.path), elsewhere_(elsewhere), top_(real(named.path)) {
    repository_.folders.push_back(top_);
    for (const std::string& folder : named.borrowed)
      if (std::string place = real(folder); !place.empty())
        repository_.folders.push_back(std::move(place));
  }

  Result<Repository> find() {
    TRY(check_readable(path_));
    std::string git = top_ + "/.git";
    TRY(check_readable(git));
    if (const std::string line = TRY(line_of(git)); line.starts_with(kFolder))
      git = absolute(line.substr(kFolder.size()), top_);
    else if (!is_directory(git))
      git = top_;  // one without a worktree
    if (git != top_) repository_.worktree = top_;
    repository_.git = TRY(judged(git, "its folder"));
    TRY(check_readable(git + "/HEAD"));
    repository_.common = repository_.git;
    if (const std::string common = TRY(line_of(repository_.git + "/commondir")); !common.empty())
      repository_.common = TRY(judged(absolute(common, repository_.git), "its common folder"));
    const std::string objects = repository_.common + "/objects";
    TRY(check_readable(objects));
    const std::string place = TRY(judged(objects, "its objects"));
    const bool has_head = !TRY(line_of(repository_.git + "/HEAD"))
    .empty();
    if (repository_.git.empty() || !is_directory(objects) || !has_head)
      return invalid(fmt::format("'{}' is no git repository", printable(path_)),
                     "name a folder that git clone or git init has made");
    if (place != objects) repository_.objects.push_back(place);
    if (elsewhere_ == Elsewhere::Refuse) TRY(add_alternates(place));
    return std::move(repository_);
  }

 private:
  // Of another user, perhaps: what cannot be looked at is not called something else.
  Result<void> check_readable(const std::string& place) const {
    if (::access(place.c_str(), R_OK) == 0 || errno != EACCES) return {};
    return system_error(fmt::format("cannot read the repository '{}'", printable(path_)), EACCES,
                        "ask its owner for the right to read it, or clone it");
  }

  // The real path; "" if it does not exist.
  Result<std::string> judged(const std::string& place, std::string_view what) {
    std::string found = real(place);
    if (found.empty() || is_in_any(found, repository_.folders)) return found;
    if (elsewhere_ == Elsewhere::Follow) {
      repository_.folders.push_back(found);
      return found;
    }
    return invalid(
        fmt::format("the repository '{}' has {} outside of itself: '{}'", printable(path_), what,
                    printable(found)),
        fmt::format("if the task may use that, name it with --borrow '{}'", printable(found)));
  }

  // The first line of a file that stands in the repository, however its name leads there.
  Result<std::string> line_of(const std::string& file) {
    const std::string place = real(file);
    struct stat status = {};
    const bool is_file =
        !place.empty() && ::stat(place.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (!is_file) return std::string();
    (void)TRY(judged(place, fmt::format("'{}'", last_component(file))));
    return first_line_of(place);
  }

  Result<void> add_alternates(const std::string& objects) {
    constexpr std::size_t kMost = 32;
    const std::string list = TRY(judged(objects + "/info/alternates", "its list of alternates"));
    const Result<std::string> text = read_whole_file(list);
    if (!text) return {};
    std::string_view rest = *text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::string folder = TRY(judged(absolute(line, objects), "objects (alternates)"));
      if (folder.empty() ||
          std::ranges::find(repository_.objects, folder) != repository_.objects.end())
        continue;
      if (repository_.objects.size() >= kMost) return {};
      repository_.objects.push_back(folder);
      TRY(add_alternates(folder));
    }
    return {};
  }

  const std::string& path_;
  Elsewhere elsewhere_;
  std::string top_;
  Repository repository_;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

constexpr std::size_t kMostSubmodules = 10'000;

// The paths that a file '.gitmodules' names. What is written in an odd way is passed over. Few
// bytes of a repository make a file of many millions of lines, and one in every directory.
std::set<std::string> paths_of_submodules(const std::string& top, const std::string& file) {
  std::set<std::string> paths;
  const std::string text = text_within({top}, file);
  std::string_view rest = text;
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
  for (const std::string& name : paths_of_submodules(top, top + "/" + below + ".gitmodules")) {
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
    const std::string objects = git + "/objects";
    return real(objects) != objects || !is_directory(objects);
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

Result<Repository> find_repository(const NamedRepository& named, Elsewhere elsewhere) {
  return Finder(named, elsewhere).find();
}

Result<std::string> head_of(const Repository& repository) {
  std::string head = line_within(repository.folders, repository.git + "/HEAD");
  if (head.starts_with(kReference)) {
    const std::string reference = head.substr(kReference.size());
    head.clear();
    if (reference.find("..") == std::string::npos)
      head = line_within(repository.folders, repository.common + "/" + reference);
    if (head.empty()) head = packed(repository, reference);
  }
  if (is_commit(head)) return head;
  return invalid(fmt::format("'{}' is at no commit that can be found", printable(repository.git)),
                 "commit something, or name a commit with --sha");
}

}  // namespace hermetic
