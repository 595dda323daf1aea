#include "hermetic/task/checkout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/task/preparation.h"

namespace hermetic::task {
namespace {

// Every object passes through index-pack, which computes its name from its content: what is checked
// out is what the commit says, whatever the source's files hold. Of the source, objects are
// borrowed and nothing else: a setting of its own, such as a remote that is asked for what is
// missing, would be a command of its own, run while the tree is made. $1: its folder with the
// objects, $2: the commit, $3: a line for each directory, if not all are wanted, $4: the source's
// worktree, $5: a line for each submodule that has its repository there. A submodule that the
// source has is made in the same way, at the commit that is recorded; its name and path are the
// commit's, so they are taken for no more than what git has there. One that borrows objects from
// elsewhere, or fetches them when they are needed, may have the commit and not all of it. What the
// source does not have is told by the word 'lacks', and nothing more is done.
constexpr const char* kCheckoutScript = R"sh(set -eu
export GIT_CONFIG_NOSYSTEM=1 HOME=/tmp GIT_OPTIONAL_LOCKS=0
has() { # SOURCE OBJECT
  rm -f "$probe/objects"
  ln -s "$1/objects" "$probe/objects"
  GIT_ALTERNATE_OBJECT_DIRECTORIES=$probe/objects git -C "$probe" cat-file -e "$2" 2>/dev/null
}
inner_of() { # PATH: the repository that a submodule has in the worktree, if it has
  if printf '%s\n' "$inside" | grep -qxF -e "$1"; then printf '%s' "$top/$1/.git"; fi
}
fetch() { # SOURCE COMMIT DIRECTORY: fails if the source lacks a part of the commit or its history
  local borrowed
  git init -q --template= --object-format="$format" "$3" || exit
  if [ -f "$1/shallow" ]; then cp "$1/shallow" "$3/.git/shallow" || exit; fi
  borrowed=$(mktemp -d)/objects || exit # a name without colons and quotes
  ln -s "$1/objects" "$borrowed" || exit
  if {
    echo "$2" |
      GIT_ALTERNATE_OBJECT_DIRECTORIES=$borrowed git -C "$3" pack-objects -q --revs --stdout --delta-base-offset |
      git -C "$3" index-pack --stdin >/dev/null
  } 2>"$probe/said"; then return; fi
  GIT_ALTERNATE_OBJECT_DIRECTORIES=$borrowed git -C "$3" rev-list --objects --quiet "$2" 2>/dev/null || return
  cat "$probe/said" >&2 # nothing is missing, but perhaps the disk is full
  exit 1
}
check_out() { # SOURCE COMMIT BELOW: what was fetched to here, which is there from the top
  local source=$1 commit=$2 below=$3 name path entry inner stale
  git config core.checkStat minimal
  git config core.trustctime false
  git config gc.auto 0
  git config user.name builder
  git config user.email builder@localhost
  if [ -n "$sparse" ]; then printf %s "$sparse" | git sparse-checkout set --cone --stdin; fi
  sparse= # of submodules all is there
  git -c advice.detachedHead=false checkout -q --detach "$commit"
  find . -path ./.git -prune -o -exec touch -h -d "@$(git log -1 --format=%ct)" {} +
  git update-index -q --refresh # else every task would read all files to find that they are the same
  if [ -h .gitmodules ] || [ ! -f .gitmodules ]; then return 0; fi
  git config -z -f .gitmodules --name-only --get-regexp '^submodule\..*\.path$' | tr '\0' '\n' |
    while IFS= read -r entry; do
      name=${entry#submodule.} name=${name%.path}
      path=$(git config -f .gitmodules "$entry") || continue
      [ "$(git ls-tree -z --name-only HEAD -- "$path" 2>/dev/null | tr -d '\0')" = "$path" ] || continue
      case $(git ls-tree HEAD -- "$path") in 160000*) ;; *) continue ;; esac
      entry=$(git ls-tree HEAD -- "$path" | cut -d' ' -f3 | cut -f1)
      if [ -h "./$path" ] || [ ! -d "./$path" ]; then continue; fi # none of the wanted directories
      inner= stale=
      case /$name/ in */../*) ;; *) inner=$source/modules/$name ;; esac
      for inner in "$inner" "$(inner_of "$below$path")"; do
        if [ -z "$inner" ] || [ ! -d "$inner/objects" ]; then continue; fi
        if has "$inner" "$entry^{commit}" && fetch "$inner" "$entry" "./$path"; then
          (cd "./$path" && check_out "$inner" "$entry" "$below$path/")
          continue 2
        fi
        rm -rf "./$path/.git"
        stale=stale
      done
      if [ -n "$stale" ]; then echo stale; fi
      printf 'missing %s\n' "$name"
    done
}
format=sha1 sparse=$3 top=$4 inside=$5
if [ ${#2} = 64 ]; then format=sha256; fi
probe=$(mktemp -d)
git init -q --template= --object-format="$format" "$probe"
if ! has "$1" "$2^{commit}"; then
  echo lacks commit
  exit
fi
printf %s "$sparse" | while IFS= read -r directory; do
  if ! has "$1" "$2:$directory/"; then printf 'lacks directory %s\n' "$directory"; fi
done | head -n 1 >"$probe/lacks"
cat "$probe/lacks"
if [ -s "$probe/lacks" ]; then exit; fi
if ! fetch "$1" "$2" .; then
  cat "$probe/said" >&2
  exit 1
fi
check_out "$1" "$2" ""
echo "tree $(git rev-parse 'HEAD^{tree}')"
)sh";

// Which submodules a repository has, and how far back its history goes: what else a checkout is
// made of. A folder below 'modules' is the repository of one, or a part of its name.
std::string extent_of(const std::string& folder, int depth = 0) {
  constexpr int kDeepest = 32;
  std::string text;
  if (const Result<std::string> shallow = read_whole_file(folder + "/shallow"); shallow)
    text += sha256(*shallow) + "\n";
  struct stat status = {};
  const bool is_repository = ::stat((folder + "/objects").c_str(), &status) == 0;
  const std::string below = is_repository ? folder + "/modules" : folder;
  const Result<UniqueFd> directory = open_directory(AT_FDCWD, below);
  if (!directory || depth > kDeepest) return text;
  const Result<std::vector<std::string>> names = names_in(directory->get());
  if (!names) return text;
  for (const std::string& name : *names)
    text += fmt::format("{}{}\n{}", std::string(static_cast<std::size_t>(depth), ' '), name,
                        extent_of(fmt::format("{}/{}", below, name), depth + 1));
  return text;
}

// What the repositories of submodules hold, told by the times at which something came to their
// objects: a commit that one lacks today may be there tomorrow.
std::string state_of_submodules(const std::string& folder, int depth = 0) {
  constexpr int kDeepest = 32;
  std::string text;
  const Result<UniqueFd> directory = open_directory(AT_FDCWD, folder);
  const Result<std::vector<std::string>> names =
      directory ? names_in(directory->get()) : std::vector<std::string>();
  if (!names || depth > kDeepest) return text;
  for (const std::string& name : *names) {
    struct stat status = {};
    const std::string place = fmt::format("{}/{}", folder, name);
    if (::lstat(place.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if ((place + "/").find("/objects/") != std::string::npos)
      text += fmt::format("{} {}.{}\n", place, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    text += state_of_submodules(place, depth + 1);
  }
  return text;
}

std::vector<std::string> folders_of(const Repository& source) {
  std::vector<std::string> folders = {source.git};
  const auto add = [&](const std::string& folder) {
    const bool shown = std::ranges::any_of(
        folders, [&](const std::string& known) { return is_within(folder, known); });
    if (!shown) folders.push_back(folder);
  };
  add(source.common);
  for (const std::string& objects : source.objects) add(objects);
  for (const std::string& path : inner_submodules(source))
    add(fmt::format("{}/{}/.git", source.worktree, path));
  return folders;
}

// Which submodules have a repository in the worktree, and what that holds.
std::string state_of_inner_submodules(const Repository& source) {
  std::string text;
  for (const std::string& path : inner_submodules(source)) {
    const std::string git = fmt::format("{}/{}/.git", source.worktree, path);
    text += fmt::format("{}\n{}{}", path, extent_of(git), state_of_submodules(git));
  }
  return text;
}

// In one order and one spelling: who names the same directories gets the same tree.
Result<std::vector<std::string>> normal_directories(std::vector<std::string> directories) {
  for (std::string& directory : directories) {
    while (directory.ends_with('/')) directory.pop_back();
    if (directory.empty() || directory.find('\n') != std::string::npos ||
        directory.starts_with('/') || ("/" + directory + "/").find("/../") != std::string::npos)
      return invalid(fmt::format("'{}' is no directory of a repository", printable(directory)),
                     "name it from the top of the repository, such as src/library");
  }
  std::ranges::sort(directories);
  directories.erase(std::unique(directories.begin(), directories.end()), directories.end());
  return directories;
}

Error no_such_commit(const std::string& revision, const Repository& source) {
  return invalid(
      fmt::format("'{}' names no commit of '{}'", printable(revision), printable(source.git)),
      "git log shows the commits; fetch it first if it is elsewhere");
}

// A name, a tag, a digest: git says which commit that is.
Result<std::string> ask_for_commit(const Repository& source, const std::string& revision,
                                   Backend& backend) {
  if (revision.starts_with('-'))
    return invalid(fmt::format("'{}' names no commit", printable(revision)));
  // It may be another one tomorrow: nothing is kept.
  const Result<std::string> answer =
      prepare({.what = fmt::format("'{}' a commit", printable(revision)),
               .command = {"git", "-c", "safe.directory=*", "--git-dir=" + source.git, "rev-parse",
                           "--verify", "--quiet", revision + "^{commit}"},
               .inputs = folders_of(source)},
              backend);
  const std::string commit = answer ? answer->substr(0, answer->find('\n')) : "";
  if (!is_commit(commit)) return no_such_commit(revision, source);
  return commit;
}

// Whether it is there is seen when it is checked out.
Result<std::string> resolve(const Repository& source, const std::string& revision,
                            Backend& backend) {
  if (revision.empty()) return head_of(source);
  if (is_commit(revision)) return revision;
  return ask_for_commit(source, revision, backend);
}

// What the script said, unless the source lacks something.
Result<std::string> whole(const std::string& said, const Checkout& checkout,
                          const Repository& source) {
  constexpr std::string_view kDirectory = "directory ";
  const std::string lacks = fact(said, "lacks");
  if (lacks.empty()) return said;
  if (!lacks.starts_with(kDirectory)) return no_such_commit(checkout.commit, source);
  return invalid(fmt::format("'{}' is no directory of the commit {}",
                             printable(lacks.substr(kDirectory.size())), checkout.commit),
                 "git ls-tree -d -r --name-only COMMIT shows those that there are");
}

}  // namespace

Result<std::string> find_commit(const NamedRepository& repository, const std::string& revision,
                                Backend& backend) {
  const Repository source = TRY(find_repository(repository));
  return ask_for_commit(source, revision, backend);
}

Result<Checkout> check_out(const NamedRepository& repository, const std::string& revision,
                           const std::vector<std::string>& sparse, Cache& cache, Backend& backend) {
  Checkout checkout;
  checkout.directories = TRY(normal_directories(sparse));
  std::string wanted;
  for (const std::string& directory : checkout.directories) wanted += directory + "\n";
  const Repository source = TRY(find_repository(repository));
  checkout.commit = TRY(resolve(source, revision, backend));
  std::string inside;
  for (const std::string& path : inner_submodules(source)) inside += path + "\n";
  // What the script makes of a commit is part of what the tree is made of.
  std::string key = sha256(fmt::format("{}\n{}\n{}{}\n{}\n{}", checkout.commit, source.common,
                                       extent_of(source.common), state_of_inner_submodules(source),
                                       wanted, kCheckoutScript));
  const auto make = [&](const std::string& place) -> Result<std::string> {
    const std::string said =
        TRY(prepare({.what = fmt::format("the checkout of {}", checkout.commit),
                     .command = {"sh", "-c", kCheckoutScript, "sh", source.common, checkout.commit,
                                 wanted, source.worktree, inside},
                     .inputs = folders_of(source),
                     .tree = kWorktree,
                     .place = place},
                    backend));
    return whole(said, checkout, source);
  };
  checkout.cached = TRY(cache.get("checkout", key, make));
  // It stands for as long as nothing comes to the submodules.
  if (checkout.cached.facts.find("stale\n") != std::string::npos) {
    key = sha256(key + state_of_submodules(source.common + "/modules"));
    checkout.cached = TRY(cache.get("checkout", key, make));
  }
  checkout.tree = fact(checkout.cached.facts, "tree");
  checkout.missing_submodules = values_of(checkout.cached.facts, "missing");
  return checkout;
}

Result<Source> find_source(const NamedRepository& repository, const std::string& revision,
                           Backend& backend) {
  const Repository source = TRY(find_repository(repository));
  return Source {
    .commit = TRY(resolve(source, revision, backend))
    , .extent = sha256(extent_of(source.common) + state_of_submodules(source.common + "/modules") +
                       state_of_inner_submodules(source))
  };
}

}  // namespace hermetic::task
