#include "hermetic/task/python_environment.h"

#include <fmt/format.h>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"
#include "hermetic/task/host_program.h"
#include "hermetic/task/preparation.h"

namespace hermetic::task {
namespace {

// $1: interpreter, $2: lockfile or "", $3: options for pip, split at spaces.
constexpr const char* kScript = R"sh(set -eu
"$1" -m venv /task/venv
if [ -n "$2" ]; then
  /task/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
    --no-deps --only-binary :all: $3 -r "$2" >&2
fi
find /task/venv -name __pycache__ -prune -exec rm -rf {} +
/task/venv/bin/python -m compileall -q --invalidation-mode unchecked-hash /task/venv/lib >&2 || true
find /task/venv -exec touch -h -d @315532800 {} +
/task/venv/bin/python -c 'import platform; print("version", platform.python_version())'
)sh";

std::string version_in(const std::string& facts) {
  constexpr std::string_view kKey = "version ";
  const std::size_t place = facts.find(kKey);
  if (place == std::string::npos) return "";
  const std::size_t begin = place + kKey.size();
  return facts.substr(begin, facts.find('\n', begin) - begin);
}

}  // namespace

Result<PythonEnvironment> python_environment(const PythonRequest& request, Cache& cache,
                                             Backend& backend) {
  PythonEnvironment environment;
  const std::string interpreter = TRY(real_path_of(request.interpreter));
  const std::string program = TRY(identity_of_program(interpreter));
  std::vector<std::string> inputs;
  std::string options;
  std::string lockfile;
  if (!request.lockfile.empty()) {
    lockfile = TRY(real_path_of(request.lockfile));
    const std::string text = TRY(read_whole_file(lockfile));
    environment.has_hashes = TRY(parse_lockfile(text, request.lockfile))
    .has_hashes;
    environment.lockfile_sha = sha256(text);
    inputs.push_back(lockfile);
    if (environment.has_hashes) options += "--require-hashes ";
  }
  if (request.index.empty()) options += "--no-index ";
  if (!request.index.empty()) options += "--index-url " + request.index + " ";
  for (const std::string& directory : request.wheels) {
    inputs.push_back(TRY(real_path_of(directory)));
    if (inputs.back().find(' ') != std::string::npos)
      return invalid(fmt::format("'{}' has a space in its name", printable(inputs.back())),
                     "pip takes no such directory; rename it");
    options += "--find-links " + inputs.back() + " ";
  }
  // Which of several wheels of one version was taken is not known without hashes: then the place
  // that it came from is part of the key.
  environment.hash = sha256(fmt::format("{}\n{}\n{}\n{}", environment.lockfile_sha, program,
                                        environment.has_hashes ? "" : options, kScript));
  environment.cached = TRY(cache.get("venv", environment.hash, [&](const std::string& place) {
    return prepare({.what = lockfile.empty() ? "a Python environment"
                                             : fmt::format("the Python environment of '{}'",
                                                           printable(request.lockfile)),
                    .command = {"sh", "-c", kScript, "sh", interpreter, lockfile, options},
                    .inputs = inputs,
                    .tree = kEnvironment,
                    .place = place,
                    .network = request.network},
                   backend);
  }));
  environment.version = version_in(environment.cached.facts);
  return environment;
}

}  // namespace hermetic::task
