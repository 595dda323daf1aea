#include "hermetic/task/checkout.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "hermetic/base/digest.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/task/preparation.h"

namespace hermetic::task {
namespace {

// Every object passes through index-pack, which computes its name from its content: what is checked
// out is what the commit says, whatever the source's files hold. $1: its repository, $2: the
// commit. A submodule that the source has is made in the same way, at the commit that is recorded.
constexpr const char* kScript = R"sh(set -eu
export GIT_CONFIG_NOSYSTEM=1 HOME=/tmp GIT_OPTIONAL_LOCKS=0
in_source() { git -c safe.directory='*' --git-dir="$source" "$@"; }
check_out() { # SOURCE COMMIT: into the current directory
  local source=$1 commit=$2 name path entry
  git init -q --template= --object-format="$format" .
  if [ -f "$source/shallow" ]; then cp "$source/shallow" .git/shallow; fi
  echo "$commit" | in_source pack-objects -q --revs --stdout --delta-base-offset |
    git index-pack --stdin >/dev/null
  git config core.checkStat minimal
  git config core.trustctime false
  git config gc.auto 0
  git config user.name builder
  git config user.email builder@localhost
  git -c advice.detachedHead=false checkout -q --detach "$commit"
  find . -path ./.git -prune -o -exec touch -h -d "@$(git log -1 --format=%ct)" {} +
  git status --porcelain >/dev/null
  [ -f .gitmodules ] || return 0
  git config -z -f .gitmodules --name-only --get-regexp '^submodule\..*\.path$' | tr '\0' '\n' |
    while read -r entry; do
      name=${entry#submodule.} name=${name%.path}
      path=$(git config -f .gitmodules "$entry")
      entry=$(git ls-tree HEAD -- "$path" | cut -d' ' -f3 | cut -f1)
      case $(git ls-tree HEAD -- "$path") in 160000*) ;; *) continue ;; esac
      if [ -d "$common/modules/$name/objects" ]; then
        (cd "$path" && common=$common/modules/$name check_out "$common/modules/$name" "$entry")
      else
        echo "missing $name"
      fi
    done
}
format=sha1
if [ ${#2} = 64 ]; then format=sha256; fi
common=$3
check_out "$1" "$2"
echo "tree $(git rev-parse 'HEAD^{tree}')"
)sh";

std::vector<std::string> folders_of(const Repository& source) {
  std::vector<std::string> folders = {source.git};
  const auto add = [&](const std::string& folder) {
    const bool shown = std::ranges::any_of(
        folders, [&](const std::string& known) { return is_within(folder, known); });
    if (!shown) folders.push_back(folder);
  };
  add(source.common);
  for (const std::string& objects : source.objects) add(objects);
  return folders;
}

// The value of a line "key value" of what the script says.
std::string fact(std::string_view facts, std::string_view key) {
  std::string values;
  while (!facts.empty()) {
    const std::size_t end = std::min(facts.find('\n'), facts.size());
    const std::string_view line = facts.substr(0, end);
    facts.remove_prefix(std::min(end + 1, facts.size()));
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
    values += values.empty() ? "" : " ";
    values += line.substr(key.size() + 1);
  }
  return values;
}

// A name, a tag, a short digest: git says which commit that is.
Result<std::string> resolve(const Repository& source, const std::string& revision,
                            Backend& backend) {
  if (revision.empty()) return head_of(source);
  if (is_commit(revision)) return revision;
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
  if (!is_commit(commit))
    return invalid(
        fmt::format("'{}' names no commit of '{}'", printable(revision), printable(source.git)),
        "git log shows the commits; fetch it first if it is elsewhere");
  return commit;
}

}  // namespace

Result<Checkout> check_out(const std::string& repository, const std::string& revision, Cache& cache,
                           Backend& backend) {
  const Repository source = TRY(find_repository(repository));
  Checkout checkout;
  checkout.commit = TRY(resolve(source, revision, backend));
  // What the script makes of a commit is part of what the tree is made of.
  const std::string key =
      sha256(fmt::format("{}\n{}\n{}", checkout.commit, source.common, kScript));
  checkout.cached = TRY(cache.get("checkout", key, [&](const std::string& place) {
    return prepare(
        {.what = fmt::format("the checkout of {}", checkout.commit),
         .command = {"sh", "-c", kScript, "sh", source.git, checkout.commit, source.common},
         .inputs = folders_of(source),
         .tree = kWorktree,
         .place = place},
        backend);
  }));
  checkout.tree = fact(checkout.cached.facts, "tree");
  checkout.missing_submodules = fact(checkout.cached.facts, "missing");
  return checkout;
}

}  // namespace hermetic::task
