#include "hermetic/task/snapshot.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"
#include "hermetic/workspace/run_folder.h"

namespace hermetic::task {
namespace {

std::string file_of(const std::string& name, const Cache& cache) {
  return fmt::format("{}/snapshots/{}", cache.path(), name);
}

// What it lies over. A layer means nothing over another one.
std::string ground(const Checkout& checkout, const PythonEnvironment& environment) {
  return fmt::format("checkout {}\nenvironment {}\n", checkout.commit, environment.hash);
}

}  // namespace

Result<void> keep_snapshot(const std::string& name, const std::string& hash,
                           const std::string& run_folder, const Checkout& checkout,
                           const PythonEnvironment& environment, Cache& cache) {
  TRY(check_task_name(name));
  const std::string facts = fmt::format("{}task {}\n", ground(checkout, environment), hash);
  // Two setups of one task may have made different things: each is kept by itself.
  const std::string key = sha256(facts + run_folder);
  const CachedTree kept =
      TRY(cache.get("snapshot", key, [&](const std::string& place) -> Result<std::string> {
        const std::string tree = place + "/upper";
        if (::mkdir(tree.c_str(), 0700) != 0)
          return system_error(fmt::format("cannot make '{}'", printable(tree)), errno);
        for (const char* part : {"worktree", "venv", "scratch"}) {
          const std::string from = fmt::format("{}/{}/upper", run_folder, part);
          if (::rename(from.c_str(), fmt::format("{}/{}", tree, part).c_str()) != 0)
            return system_error(fmt::format("cannot keep '{}'", printable(from)), errno,
                                "the scratch folder of a snapshot lies where the cache is");
        }
        return facts;
      }));
  const std::string folder = cache.path() + "/snapshots";
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(fmt::format("cannot make '{}'", printable(folder)), errno);
  return write_file_whole(file_of(name, cache), key + "\n");
}

Result<CachedTree> find_snapshot(const std::string& name, const Checkout& checkout,
                                 const PythonEnvironment& environment, Cache& cache) {
  TRY(check_task_name(name));
  const std::string key = first_line_of(file_of(name, cache));
  const auto gone = [&] {
    return invalid(fmt::format("there is no snapshot '{}', or it was changed", printable(name)),
                   "make it: hermetic task snapshot NAME");
  };
  if (key.size() != 64) return gone();
  Result<CachedTree> found =
      cache.get("snapshot", key, [&](const std::string&) -> Result<std::string> { return gone(); });
  if (!found) return found;
  if (!found->facts.starts_with(ground(checkout, environment)))
    return invalid(
        fmt::format("the snapshot '{}' was made of another commit or environment", printable(name)),
        "name the same --sha and --lockfile as then, or make it anew");
  return found;
}

Result<std::string> facts_of_snapshot(const std::string& name, Cache& cache) {
  TRY(check_task_name(name));
  const auto gone = [&](const std::string&) -> Result<std::string> {
    return invalid(fmt::format("there is no snapshot '{}', or it was changed", printable(name)),
                   "make it: hermetic task snapshot NAME");
  };
  const std::string key = first_line_of(file_of(name, cache));
  if (key.size() != 64) return gone("");
  return TRY(cache.get("snapshot", key, gone))
  .facts;
}

}  // namespace hermetic::task
