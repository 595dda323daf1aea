#include "hermetic/task/snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"
#include "hermetic/task/preparation.h"
#include "hermetic/workspace/run_folder.h"
#include "hermetic/workspace/sealed_tree.h"

namespace hermetic::task {
namespace {

// With what they lie over they have to fit into one temp.
constexpr std::size_t kMostSnapshotLayers = 32;

std::string file_of(const std::string& name, const Cache& cache) {
  return fmt::format("{}/snapshots/{}", cache.path(), name);
}

// One part of the ground: its line in the facts, and what to say if it is another one.
struct GroundPart {
  const char* key;
  std::string Ground::*value;
  const char* what;
  const char* remedy;
};
constexpr GroundPart kGroundParts[] = {
    {"checkout", &Ground::commit, "commit", "name it with --sha"},
    {"directories", &Ground::directories, "part of the repository", "name the same with --sparse"},
    {"missing", &Ground::missing_submodules, "set of submodules",
     "fetch the same into the repository"},
    {"environment", &Ground::environment, "Python environment",
     "name the same --lockfile and --python as then"},
    {"packages", &Ground::packages, "set of packages of npm",
     "name the same --node-lockfile as then"}};

// A line for each part that there is.
std::string lines_of(const Ground& ground) {
  std::string lines;
  for (const GroundPart& part : kGroundParts)
    if (const std::string& value = ground.*part.value; !value.empty())
      lines += fmt::format("{} {}\n", part.key, value);
  return lines;
}

Result<void> check_ground(const std::string& name, const std::string& facts, const Ground& ground) {
  for (const GroundPart& part : kGroundParts) {
    const std::string made_over = fact(facts, part.key);
    if (made_over == ground.*part.value) continue;
    return invalid(fmt::format("the snapshot '{}' was made with another {}: {}, not {}",
                               printable(name), part.what, made_over.empty() ? "none" : made_over,
                               (ground.*part.value).empty() ? "none" : ground.*part.value),
                   fmt::format("{}, or make it anew", part.remedy));
  }
  return {};
}

constexpr const char* kSnapshotParts[] = {"worktree", "venv", "scratch"};

// Before anything is moved: what its maker has locked could not be sealed, and nobody who starts
// from it could look into it.
Result<void> check_can_be_sealed(const std::string& run_folder) {
  for (const char* part : kSnapshotParts) {
    const auto cannot = [&](const Error& error) {
      return unsupported(fmt::format("the {} cannot be frozen: {}", part, error.message),
                         error.hint);
    };
    const Result<UniqueFd> top = open_directory(AT_FDCWD, changes_of(run_folder, part));
    if (!top) return cannot(top.error());
    if (const Result<std::string> seal = seal_of(top->get()); !seal) return cannot(seal.error());
  }
  return {};
}

Result<void> move_to(const std::string& tree, const std::string& run_folder) {
  if (::mkdir(tree.c_str(), 0700) != 0)
    return system_error(fmt::format("cannot make '{}'", printable(tree)), errno);
  for (const char* part : kSnapshotParts) {
    const std::string from = changes_of(run_folder, part);
    if (::rename(from.c_str(), fmt::format("{}/{}", tree, part).c_str()) != 0)
      return system_error(fmt::format("cannot keep '{}'", printable(from)), errno,
                          "the scratch folder of a snapshot lies where the cache is");
  }
  return {};
}

// What the one with this key is called now, if it is.
std::string name_of(const std::string& key, const Cache& cache) {
  const Result<UniqueFd> folder = open_directory(AT_FDCWD, cache.path() + "/snapshots");
  if (!folder) return {};
  const Result<std::vector<std::string>> names = names_in(folder->get());
  if (!names) return {};
  for (const std::string& name : *names)
    if (first_line_of(file_of(name, cache)) == key) return name;
  return {};
}

Error is_gone(const std::string& name) {
  return invalid(fmt::format("there is no snapshot '{}', or it was changed", printable(name)),
                 "make it: hermetic task snapshot NAME");
}

Error is_gone_below(const std::string& name, const std::string& key, const Cache& cache) {
  const std::string below = name_of(key, cache);
  return invalid(
      fmt::format("the snapshot '{}' lies over {}, which is gone or was changed", printable(name),
                  below.empty() ? fmt::format("one that has no name any more ({})", printable(key))
                                : fmt::format("'{}'", printable(below))),
      "make both anew: hermetic task snapshot NAME");
}

// The upper one is used first: what lies below it never looks as if it was used earlier.
Result<Snapshot> with_all_below(const std::string& name, Cache& cache) {
  TRY(check_task_name(name));
  Snapshot snapshot;
  for (std::string key = first_line_of(file_of(name, cache)); !key.empty() || snapshot.keys.empty();
       key = fact(snapshot.layers.back().facts, "over")) {
    const auto gone = [&](const std::string&) -> Result<std::string> {
      return snapshot.keys.empty() ? is_gone(name) : is_gone_below(name, key, cache);
    };
    if (key.size() != 64 || snapshot.keys.size() >= kMostSnapshotLayers)
      return std::move(gone({})).error();
    snapshot.layers.push_back(TRY(cache.get("snapshot", key, gone)));
    snapshot.keys.push_back(std::move(key));
  }
  snapshot.hash = fact(snapshot.layers.front().facts, "task");
  return snapshot;
}

// There is no other copy.
void move_back(const std::string& tree, const std::string& run_folder) {
  for (const char* part : kSnapshotParts)
    (void)::rename(fmt::format("{}/{}", tree, part).c_str(), changes_of(run_folder, part).c_str());
}

}  // namespace

std::string changes_of(const std::string& run_folder, std::string_view part) {
  return fmt::format("{}/{}{}/upper", run_folder, part, part == "scratch" ? "" : "-changes");
}

Result<void> keep_snapshot(const std::string& name, const std::string& hash,
                           const std::string& run_folder, const Ground& ground,
                           const Snapshot* over, Cache& cache) {
  TRY(check_task_name(name));
  if (over != nullptr && over->layers.size() >= kMostSnapshotLayers)
    return unsupported(fmt::format("the snapshot '{}' would be the {}th over another",
                                   printable(name), over->layers.size()),
                       "make one of all their commands");
  std::string facts = fmt::format("{}task {}\n", lines_of(ground), hash);
  if (over != nullptr) facts += fmt::format("over {}\n", over->keys.front());
  TRY(check_can_be_sealed(run_folder));
  const std::string folder = cache.path() + "/snapshots";
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(fmt::format("cannot make '{}'", printable(folder)), errno);
  // Two setups of one task may have made different things, and so may two attempts to freeze one:
  // each is kept by itself.
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string key = sha256(fmt::format("{}{} {}", facts, run_folder, now));
  const CachedTree kept = TRY(cache.get(
      "snapshot", key,
      [&](const std::string& place) -> Result<std::string> {
        Result<void> moved = move_to(place + "/upper", run_folder);
        if (!moved) return std::move(moved).error();
        return facts;
      },
      [&](const std::string& place) { move_back(place + "/upper", run_folder); }));
  // What it lies over was used no earlier than it: it does not go before it.
  if (over != nullptr)
    for (const CachedTree& layer : over->layers) layer.touch();
  Result<void> named = write_file_whole(file_of(name, cache), key + "\n");
  if (!named) move_back(kept.path, run_folder);
  return named;
}

Result<Snapshot> find_snapshot(const std::string& name, const Ground& ground, Cache& cache) {
  Snapshot snapshot = TRY(with_all_below(name, cache));
  TRY(check_ground(name, snapshot.layers.front().facts, ground));
  return snapshot;
}

std::string facts_of(const Snapshot& snapshot) { return snapshot.layers.front().facts; }

Result<std::string> facts_of_snapshot(const std::string& name, Cache& cache) {
  const Snapshot snapshot = TRY(with_all_below(name, cache));
  return facts_of(snapshot);
}

}  // namespace hermetic::task
