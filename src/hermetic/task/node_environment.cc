#include "hermetic/task/node_environment.h"

#include <fmt/format.h>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/task/host_program.h"
#include "hermetic/task/preparation.h"

namespace hermetic::task {
namespace {

constexpr const char* kNpmCache = "/task/npm";

// $1: the folder of the lockfile. What else is there may be packages that it names by a path.
constexpr const char* kScript = R"sh(set -eu
cp -r "$1"/. .
rm -rf node_modules .git
npm ci --offline --ignore-scripts --no-audit --no-fund --loglevel=error --cache "$2" >&2
for name in ./* ./.[!.]*; do
  if [ "$name" != ./node_modules ]; then rm -rf "$name"; fi
done
[ -d node_modules ] || mkdir node_modules
find . -exec touch -h -d @315532800 {} +
)sh";

}  // namespace

Result<NodeEnvironment> node_environment(const NodeRequest& request, Cache& cache,
                                         Backend& backend) {
  NodeEnvironment environment;
  const std::string lockfile = TRY(real_path_of(request.lockfile));
  if (last_component(lockfile) != "package-lock.json")
    return invalid(fmt::format("'{}' is no lockfile of npm", printable(request.lockfile)),
                   "name a package-lock.json, with its package.json beside it");
  const std::string folder(parent_of(lockfile));
  const std::string text = TRY(read_whole_file(lockfile));
  if (text.find("\"link\": true") != std::string::npos)
    return invalid(fmt::format("'{}' names packages that have no digest", printable(lockfile)),
                   "pack them (npm pack): a folder could be another one tomorrow",
                   {request.lockfile, 1, 1});
  const std::string package = TRY(read_whole_file(folder + "/package.json"));
  const std::string node = TRY(real_path_of("/usr/bin/node"));
  const std::string program = TRY(identity_of_program(node));
  environment.lockfile_sha = sha256(text);
  environment.hash = sha256(
      fmt::format("{}\n{}\n{}\n{}", environment.lockfile_sha, sha256(package), program, kScript));
  Preparation preparation{.what = fmt::format("the packages of '{}'", printable(request.lockfile)),
                          .command = {"sh", "-c", kScript, "sh", folder,
                                      request.cache.empty() ? "/tmp/npm" : kNpmCache},
                          .inputs = {folder},
                          .tree = kWorktree};
  if (!request.cache.empty()) preparation.scratch[kNpmCache] = TRY(real_path_of(request.cache));
  environment.cached = TRY(cache.get("node", environment.hash, [&](const std::string& place) {
    preparation.place = place;
    return prepare(preparation, backend);
  }));
  return environment;
}

}  // namespace hermetic::task
