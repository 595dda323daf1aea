#include "hermetic/learn/caches.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "hermetic/learn/rules.h"

namespace hermetic {
namespace {

// A folder that a variable names, or a usual one below the home directory; and the part of it.
struct Cache {
  std::string_view variable;  // "" if there is none
  std::string_view usual;     // below the home directory
  std::string_view part;      // "" for all of it
};

constexpr std::array kToolCaches = {
    Cache{"CARGO_HOME", ".cargo", "registry"},
    Cache{"CARGO_HOME", ".cargo", "git"},
    Cache{"RUSTUP_HOME", ".rustup", ""},
    Cache{"npm_config_cache", ".npm", ""},
    Cache{"YARN_CACHE_FOLDER", ".cache/yarn", ""},
    Cache{"", ".yarn/berry", ""},
    Cache{"", ".pnpm-store", ""},
    Cache{"PNPM_HOME", ".local/share/pnpm", "store"},
    Cache{"", ".node-gyp", ""},
    Cache{"BUN_INSTALL", ".bun", "install/cache"},
    Cache{"DENO_DIR", ".cache/deno", ""},
    Cache{"GOPATH", "go", "pkg"},
    Cache{"GOMODCACHE", "go/pkg/mod", ""},
    Cache{"GOCACHE", ".cache/go-build", ""},
    Cache{"", ".m2", "repository"},
    Cache{"", ".m2", "wrapper"},
    Cache{"GRADLE_USER_HOME", ".gradle", "caches"},
    Cache{"GRADLE_USER_HOME", ".gradle", "wrapper"},
    Cache{"GRADLE_USER_HOME", ".gradle", "daemon"},
    Cache{"GRADLE_USER_HOME", ".gradle", "native"},
    Cache{"GRADLE_USER_HOME", ".gradle", "jdks"},
    Cache{"", ".ivy2", "cache"},
    Cache{"", ".ivy2", "local"},
    Cache{"", ".sbt", "boot"},
    Cache{"COURSIER_CACHE", ".cache/coursier", ""},
    Cache{"NUGET_PACKAGES", ".nuget/packages", ""},
    Cache{"PIP_CACHE_DIR", ".cache/pip", ""},
    Cache{"UV_CACHE_DIR", ".cache/uv", ""},
    Cache{"POETRY_CACHE_DIR", ".cache/pypoetry", ""},
    Cache{"PRE_COMMIT_HOME", ".cache/pre-commit", ""},
    Cache{"CCACHE_DIR", ".ccache", ""},
    Cache{"", ".cache/ccache", ""},
    Cache{"SCCACHE_DIR", ".cache/sccache", ""},
    Cache{"", ".cache/bazel", ""},
    Cache{"", ".cache/node-gyp", ""},
    Cache{"", ".cache/electron", ""},
    Cache{"", ".cache/ms-playwright", ""},
    Cache{"", ".cache/zig", ""},
    Cache{"COMPOSER_CACHE_DIR", ".cache/composer", ""},
    Cache{"", ".bundle", "cache"},
    Cache{"", ".cabal", "packages"},
    Cache{"STACK_ROOT", ".stack", ""},
    Cache{"PUB_CACHE", ".pub-cache", ""},
    Cache{"CONAN_HOME", ".conan2", "p"},
    Cache{"", ".conan", "data"},
};

// "" if there is no such place, or too much would be in it.
std::string place_of(const Cache& cache, const Observation& observation) {
  std::string folder;
  const auto set = observation.environment.find(std::string(cache.variable));
  if (!cache.variable.empty() && set != observation.environment.end()) {
    const Result<std::string> normal = normal_path(set->second);
    if (normal) folder = *normal;
  }
  if (folder.empty() && !observation.home.empty() && observation.home != "/")
    folder = join(observation.home, cache.usual);
  if (folder.empty()) return "";
  if (!cache.part.empty()) folder = join(folder, cache.part);
  return is_broad(folder, observation) || is_within(observation.directory, folder) ? "" : folder;
}

}  // namespace

std::set<std::string, PathOrder> used_caches(const Observation& observation) {
  std::set<std::string, PathOrder> used;
  for (const Cache& cache : kToolCaches) {
    const std::string place = place_of(cache, observation);
    if (place.empty() || is_made_by_run(place, observation)) continue;
    const bool needed =
        std::any_of(observation.paths.begin(), observation.paths.end(), [&](const SeenPath& seen) {
          return seen.is_needed() && is_strictly_within(seen.path, place);
        });
    if (needed) used.insert(place);
  }
  return used;
}

}  // namespace hermetic
