#include "hermetic/task/node_environment.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/spec/node_reader.h"
#include "hermetic/task/host_program.h"
#include "hermetic/task/preparation.h"

namespace hermetic::task {
namespace {

constexpr const char* kNpmCache = "/task/npm";

// $1: the folder of the lockfile: it may have archives that the lockfile names by a path. Settings
// of npm and the other lockfile, which it would prefer, stay behind. $2: npm's cache; $3, $4: the
// lockfile and package.json.
constexpr const char* kNodeScript = R"sh(set -eu
cp -r "$1"/. .
rm -rf node_modules .git .npmrc npm-shrinkwrap.json package-lock.json package.json
cp "$3" package-lock.json
cp "$4" package.json
npm ci --offline --ignore-scripts --no-audit --no-fund --loglevel=error --cache "$2" >&2
for name in ./* ./.[!.]*; do
  if [ "$name" != ./node_modules ]; then rm -rf "$name"; fi
done
[ -d node_modules ] || mkdir node_modules
find . -exec touch -h -d @315532800 {} +
)sh";

}  // namespace

Result<void> check_node_lockfile(std::string_view text, const std::string& file) {
  const auto refuse = [&](std::string message, std::string remedy) {
    return invalid(std::move(message), std::move(remedy), {file, 1, 1});
  };
  const nlohmann::json document = parse_bounded_json(text);
  if (!document.is_object() || !document.contains("packages") || !document["packages"].is_object())
    return refuse(fmt::format("'{}' has no 'packages'", printable(file)),
                  "let npm 7 or later write it: npm install --package-lock-only");
  for (const auto& item : document["packages"].items()) {
    const std::string& name = item.key();
    const auto& package = item.value();
    if (name.empty()) continue;  // the project itself
    const auto has = [&](const char* key, const nlohmann::json& value) {
      return package.is_object() && package.contains(key) && package[key] == value;
    };
    // What is in a package's own archive has the digest of that.
    const bool pinned = package.is_object() && package.contains("integrity") &&
                        package["integrity"].is_string() && package["integrity"] != "";
    if (has("link", true) || (!pinned && !has("inBundle", true)))
      return refuse(fmt::format("the package '{}' has no digest", shown(name)),
                    "pack it (npm pack): a folder or file could be another one tomorrow");
  }
  return {};
}

Result<NodeEnvironment> node_environment(const NodeRequest& request, Cache& cache,
                                         Backend& backend) {
  NodeEnvironment environment;
  const std::string lockfile = TRY(real_path_of(request.lockfile));
  if (last_component(lockfile) != "package-lock.json")
    return invalid(fmt::format("'{}' is no lockfile of npm", printable(request.lockfile)),
                   "name a package-lock.json, with its package.json beside it");
  const std::string folder(parent_of(lockfile));
  const std::string text = TRY(read_whole_file(lockfile));
  TRY(check_node_lockfile(text, request.lockfile));
  const std::string package = TRY(read_whole_file(folder + "/package.json"));
  const std::string node = TRY(real_path_of("/usr/bin/node"));
  const std::string program = TRY(identity_of_program(node));
  environment.lockfile_sha = sha256(text);
  environment.hash = sha256(fmt::format("{}\n{}\n{}\n{}", environment.lockfile_sha, sha256(package),
                                        program, kNodeScript));
  Preparation preparation{.what = fmt::format("the packages of '{}'", printable(request.lockfile)),
                          .command = {"sh", "-c", kNodeScript, "sh", folder,
                                      request.cache.empty() ? "/tmp/npm" : kNpmCache},
                          .inputs = {folder},
                          .tree = kWorktree,
                          .texts = {{"lockfile", text}, {"package", package}}};
  if (!request.cache.empty()) preparation.scratch[kNpmCache] = TRY(real_path_of(request.cache));
  environment.cached = TRY(cache.get("node", environment.hash, [&](const std::string& place) {
    preparation.place = place;
    for (const auto& [name, unused] : preparation.texts)
      preparation.command.push_back(place + "/" + name);
    return prepare(preparation, backend);
  }));
  return environment;
}

}  // namespace hermetic::task
