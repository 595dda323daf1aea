// Where the results of a command go: outputs and temps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/caches.h"
#include "hermetic/learn/rules.h"
#include "hermetic/learn/secrets.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/made_outputs.h"

namespace hermetic {
namespace {

constexpr std::array<std::string_view, 7> kCaches = {".pytest_cache", ".mypy_cache", ".ruff_cache",
                                                     ".tox",          ".nyc_output", ".eslintcache",
                                                     ".parcel-cache"};

constexpr const char* kCacheReason =
    "the cache of a tool: it can be read and changed, and nothing of that is kept";

bool has_component(std::string_view path, std::string_view wanted) {
  for (Components component(path); component.next();)
    if (component.name() == wanted) return true;
  return false;
}

bool is_same(const Declaration& a, const Declaration& b) {
  return a.kind == b.kind && a.publish == b.publish && a.type == b.type &&
         a.made_by_command == b.made_by_command && a.over == b.over;
}

// What a run did in one directory that was there before.
struct Changes {
  std::vector<const SeenPath*> made;     // and still there
  std::vector<const SeenPath*> changed;  // was there before, and is
  std::vector<const SeenPath*> passing;  // made and removed again
  std::vector<const SeenPath*> removed;  // was there before
  bool links = false;                    // some result is a symbolic link
  std::set<std::string> names;           // of all of them
};

class Placer {
 public:
  Placer(const Observation& observation, const Surroundings& surroundings, Results results)
      : observation_(observation), surroundings_(surroundings), results_(results) {}

  Written place() {
    add_caches();
    for (const SeenPath& seen : observation_.paths)
      if (seen.written && seen.absent_before) made_.insert(seen.path);
    std::map<std::string, Changes, PathOrder> changes;
    for (const SeenPath& seen : observation_.paths)
      if (seen.written && is_ours(seen)) add(seen, changes);
    for (const auto& [directory, change] : changes) decide(directory, change);
    gather_in_place();
    remember_earlier();
    drop_inner();
    return std::move(written_);
  }

 private:
  // The caches of tools: the command may read and change them, and nothing is kept.
  void add_caches() {
    for (const std::string& cache : used_caches(observation_))
      put({.kind = TreeKind::Temp, .path = cache, .over = {cache}}, kCacheReason);
  }

  // What an earlier run wrote is at the same place for this one.
  void remember_earlier() {
    for (const Declaration& tree : observation_.earlier.trees) {
      if (tree.kind == TreeKind::Input) continue;
      std::vector<LearnedTree>& trees = written_.trees;
      trees.erase(std::remove_if(trees.begin(), trees.end(),
                                 [&](const LearnedTree& fresh) {
                                   return is_strictly_within(fresh.declaration.path, tree.path);
                                 }),
                  trees.end());
      const bool known = std::any_of(trees.begin(), trees.end(), [&](const LearnedTree& fresh) {
        return fresh.declaration.path == tree.path && is_same(fresh.declaration, tree);
      });
      if (!known) put(tree, "");
    }
    if (observation_.earlier.is_known()) forget_which_run();
  }

  // Or the same runs, added in another order, would make another file.
  void forget_which_run() {
    for (LearnedTree& tree : written_.trees) {
      tree.reason = "what the command makes or changes";
      if (tree.declaration.kind == TreeKind::Temp) tree.reason = "what it needs for a while";
      if (!tree.declaration.over.empty()) tree.reason = kCacheReason;
    }
    std::sort(written_.trees.begin(), written_.trees.end(),
              [](const LearnedTree& a, const LearnedTree& b) {
                return compare_paths(a.declaration.path, b.declaration.path) < 0;
              });
  }

  bool is_ours(const SeenPath& seen) {
    const std::string& path = seen.path;
    for (const LearnedTree& tree : written_.trees)  // caches, so far
      if (is_within(path, tree.declaration.path)) return false;
    if (is_built_in(path)) return false;
    if (has_component(path, "__pycache__")) {
      written_.bytecode = true;
      return false;
    }
    if (is_in_temporary(path, observation_) &&
        !(seen.exists() && is_named_by_command(path, observation_)))
      return false;
    if (is_user_state(path, observation_)) return false;
    if (is_secret_path(path) && !is_made_by_run(path, observation_)) {
      note(fmt::format("written, but it looks like a secret: {}", printable(path)));
      return false;
    }
    return is_utf8(path);
  }

  // Results are sorted by the directory that was there before them.
  void add(const SeenPath& seen, std::map<std::string, Changes, PathOrder>& changes) {
    std::string_view top = seen.path;
    while (top != "/" && made_.count(std::string(parent_of(top))) != 0) top = parent_of(top);
    const bool whole = top != seen.path;
    if (whole) return;  // the directory that was made speaks for it
    // mkdir -p of what is there, or another time on it.
    if (seen.type == FileType::Directory && !seen.absent_before && !seen.link) return;
    if (seen.type == FileType::Directory && seen.absent_before && !seen.link) {
      declare_directory(seen.path, true);
      return;
    }
    if (!seen.exists() && seen.absent_before && was_directory(seen.path)) {
      declare_directory(seen.path, false);
      return;
    }
    Changes& change = changes[std::string(parent_of(seen.path))];
    change.names.insert(std::string(last_component(seen.path)));
    change.links = change.links || seen.link;
    if (seen.exists())
      (is_made(seen) ? change.made : change.changed).push_back(&seen);
    else
      (seen.absent_before ? change.passing : change.removed).push_back(&seen);
  }

  // Nothing of what may have been there before is of interest.
  [[nodiscard]] static bool is_made(const SeenPath& seen) {
    return seen.absent_before || (seen.replaced && !seen.used_before);
  }

  // It is gone: a directory is what had something in it.
  [[nodiscard]] bool was_directory(const std::string& path) const {
    const auto next = made_.upper_bound(path);
    return next != made_.end() && is_strictly_within(*next, path);
  }

  void declare_directory(const std::string& path, bool stays) {
    const std::string_view name = last_component(path);
    const bool cache = std::find(kCaches.begin(), kCaches.end(), name) != kCaches.end();
    if (stays && !cache)
      put({.kind = TreeKind::Output,
           .path = path,
           .type = FileType::Directory,
           .made_by_command = can_make_in(path)},
          "the command made this directory");
    else if (cache)
      put({.kind = TreeKind::Temp, .path = path, .type = FileType::Directory},
          "a cache that is made anew");
    else
      put({.kind = TreeKind::Temp,
           .path = path,
           .type = FileType::Directory,
           .made_by_command = can_make_in(path)},
          "made and removed again");
  }

  // A private directory stands in for the parent while the command makes it.
  [[nodiscard]] bool can_make_in(const std::string& path) const {
    const std::string parent(parent_of(path));
    return parent != "/" && !is_within(parent, kSystem) &&
           surroundings_.list(parent).size() <= kMostChildren;
  }

  void decide(const std::string& directory, const Changes& change) {
    const std::size_t results = change.made.size() + change.changed.size();
    const bool needs_directory = !change.removed.empty() || change.links || results > kFewFiles ||
                                 results_ == Results::InPlace;
    const bool only_passing = results == 0 && change.removed.empty();
    // Few results: what comes and goes beside them is made in the private directory, too.
    if (is_broad(directory, observation_) || (!needs_directory && !only_passing)) {
      for (const SeenPath* seen : change.made)
        put({.kind = TreeKind::Output,
             .path = seen->path,
             .type = FileType::File,
             .made_by_command = can_make_in(seen->path)},
            seen->absent_before ? "the command made this file" : "the command made this file anew");
      for (const SeenPath* seen : change.changed)
        put({.kind = TreeKind::Output,
             .path = seen->path,
             .publish = seen->replaced ? Publish::Replace : Publish::InPlace,
             .type = FileType::File},
            seen->replaced ? "the command made this file anew" : "the command changed this file");
      if (change.made.empty()) make_place_for(directory, change.passing);
      if (needs_directory && !change.removed.empty())
        note(fmt::format("files are removed in {}, which is too much to be written as a whole",
                         printable(directory)));
      return;
    }
    if (only_passing && holds_sources(directory, change) && results_ == Results::OneByOne) {
      make_place_for(directory, change.passing);
    } else if (holds_sources(directory, change)) {
      put({.kind = TreeKind::Output, .path = directory, .publish = Publish::InPlace},
          results > 0 ? fmt::format("{} results among sources", results)
                      : "files come and go among sources");
    } else if (only_passing) {
      put({.kind = TreeKind::Temp, .path = directory, .type = FileType::Directory},
          "only files that come and go");
    } else {
      const bool others = has_others(directory, change);
      put({.kind = TreeKind::Output,
           .path = directory,
           .publish = others ? Publish::Merge : Publish::Replace,
           .type = FileType::Directory},
          fmt::format("{} results in it{}", results, others ? ", beside other files" : ""));
    }
  }

  // One temp that the command makes gives it a private directory, in which there is room for all.
  void make_place_for(const std::string& directory, const std::vector<const SeenPath*>& passing) {
    if (passing.empty() || !can_make_in(passing.front()->path)) return;
    put({.kind = TreeKind::Temp,
         .path = passing.front()->path,
         .type = FileType::File,
         .made_by_command = true},
        fmt::format("files come and go in {}", printable(last_component(directory))));
  }

  // Is something in there needed that the run has not made itself?
  [[nodiscard]] bool holds_sources(const std::string& directory, const Changes& change) const {
    if (is_within(observation_.directory, directory) || !change.removed.empty()) return true;
    for (const SeenPath* seen : change.changed)
      if (!seen->replaced) return true;
    return std::any_of(
        observation_.paths.begin(), observation_.paths.end(), [&](const SeenPath& seen) {
          return seen.is_needed() && !seen.written && is_strictly_within(seen.path, directory);
        });
  }

  [[nodiscard]] bool has_others(const std::string& directory, const Changes& change) const {
    for (const Surroundings::Entry& entry : surroundings_.list(directory))
      if (change.names.count(entry.name) == 0 && made_.count(join(directory, entry.name)) == 0)
        return true;
    return false;
  }

  // Many places of the project that are changed in place are the project changed in place.
  void gather_in_place() {
    const std::string& project = observation_.directory;
    if (is_broad(project, observation_)) return;
    const auto count =
        std::count_if(written_.trees.begin(), written_.trees.end(), [&](const LearnedTree& tree) {
          return tree.declaration.publish == Publish::InPlace &&
                 tree.declaration.kind == TreeKind::Output &&
                 is_within(tree.declaration.path, project);
        });
    if (static_cast<std::size_t>(count) > kFewFiles)
      put({.kind = TreeKind::Output, .path = project, .publish = Publish::InPlace},
          fmt::format("{} places among sources are written", count));
  }

  void drop_inner() {
    std::vector<LearnedTree>& trees = written_.trees;
    const std::vector<LearnedTree> all = trees;
    trees.erase(
        std::remove_if(trees.begin(), trees.end(),
                       [&](const LearnedTree& tree) {
                         return std::any_of(all.begin(), all.end(), [&](const LearnedTree& other) {
                           return is_strictly_within(tree.declaration.path, other.declaration.path);
                         });
                       }),
        trees.end());
  }

  void put(Declaration declaration, std::string reason) {
    for (LearnedTree& tree : written_.trees)
      if (tree.declaration.path == declaration.path) {
        tree = {std::move(declaration), std::move(reason)};
        return;
      }
    written_.trees.push_back({std::move(declaration), std::move(reason)});
  }
  void note(std::string text) { written_.notes.push_back(std::move(text)); }

  const Observation& observation_;
  const Surroundings& surroundings_;
  Results results_;
  std::set<std::string, PathOrder> made_;  // by the run, and perhaps gone again
  Written written_;
};

}  // namespace

Written place_written(const Observation& observation, const Surroundings& surroundings,
                      Results results) {
  return Placer(observation, surroundings, results).place();
}

}  // namespace hermetic
