#include "hermetic/task/python_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <optional>
#include <vector>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"
#include "hermetic/task/host_program.h"
#include "hermetic/task/package_index.h"
#include "hermetic/task/preparation.h"

namespace hermetic::task {
namespace {

// $1: interpreter, $2: the empty environment or "", $3: lockfile or ""; then options for pip. What
// was there before pip came has the time that everything gets, and its byte code is good.
constexpr const char* kPythonScript = R"sh(set -eu
echo "interpreter $(sha256sum <"$1" | cut -d' ' -f1)"
if [ -n "$2" ]; then
  cp -R -P --preserve=mode,timestamps "$2/." /task/venv
else
  "$1" -m venv /task/venv
fi
lockfile=$3
shift 3
if [ -n "$lockfile" ]; then
  /task/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
    --no-deps --only-binary :all: "$@" -r "$lockfile" >&2
fi
new="find /task/venv -newermt @315532800"
$new -path '*/__pycache__/*' -name '*.pyc' -delete
$new -name '*.py' | /task/venv/bin/python -m compileall -q --invalidation-mode unchecked-hash -i - >&2 || true
find /task/venv -exec touch -h -d @315532800 {} +
cd /task/venv
echo "content $(find lib bin -type f ! -path '*/__pycache__/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum |
  sha256sum | cut -d' ' -f1)"
# Without what packages do when Python starts: it could say something else first.
/task/venv/bin/python -I -S -c 'import platform; print("version", platform.python_version())'
)sh";

// A line for each file: whoever puts another one there under the same name is found out.
Result<std::string> listing_of(const std::string& path) {
  const UniqueFd directory = TRY(open_directory(AT_FDCWD, path + "/."));
  std::string lines;
  for (const std::string& name : TRY(names_in(directory.get()))) {
    struct stat status = {};  // of where a link leads to
    if (::fstatat(directory.get(), name.c_str(), &status, 0) != 0) continue;
    lines += fmt::format("{} {} {}.{:09}\n", name, status.st_size, status.st_ctim.tv_sec,
                         status.st_ctim.tv_nsec);
  }
  return lines;
}

Result<std::string> listings_of(const std::vector<std::string>& directories) {
  std::string lines;
  for (const std::string& directory : directories) lines += TRY(listing_of(directory));
  return lines;
}

}  // namespace

Result<std::string> state_of_wheels(const PythonRequest& request) {
  if (request.lockfile.empty() || request.wheels.empty()) return std::string();
  const std::string text = TRY(read_whole_file(request.lockfile));
  const Lockfile lockfile = TRY(parse_lockfile(text, request.lockfile));
  if (lockfile.has_hashes) return std::string();
  return listings_of(request.wheels);
}

Result<PythonEnvironment> python_environment(const PythonRequest& request, Cache& cache,
                                             Backend& backend) {
  PythonEnvironment environment;
  const std::string interpreter = TRY(real_path_of(request.interpreter));
  const std::string program = TRY(identity_of_program(interpreter));
  environment.inputs = files_of_interpreter(interpreter);
  std::vector<std::string> inputs = environment.inputs;
  std::vector<std::string> options;
  std::optional<Lockfile> lockfile;
  if (!request.lockfile.empty()) {
    const std::string text = TRY(read_whole_file(request.lockfile));
    lockfile = TRY(parse_lockfile(text, request.lockfile));
    environment.has_hashes = lockfile->has_hashes;
    environment.lockfile_sha = sha256(text);
    if (lockfile->has_hashes) options.emplace_back("--require-hashes");
  }
  const bool is_pinned = environment.has_hashes.value_or(false);
  NetworkPolicy network;
  if (!request.index.empty()) network = TRY(network_for_index(request.index));
  options.push_back(request.index.empty() ? "--no-index" : "--index-url=" + request.index);
  for (const std::string& directory : request.wheels) {
    inputs.push_back(TRY(real_path_of(directory)));
    options.push_back("--find-links=" + inputs.back());
  }
  // Which of several wheels of one version was taken is not known without hashes: then the place
  // that it came from is part of the key, and what it holds.
  std::string origin = is_pinned ? "" : fmt::format("{}", fmt::join(options, "\n"));
  if (lockfile && !is_pinned) origin += TRY(listings_of(request.wheels));
  const std::string key = sha256(
      fmt::format("{}\n{}\n{}\n{}", environment.lockfile_sha, program, origin, kPythonScript));
  const auto make = [&](const std::string& place) -> Result<std::string> {
    if (lockfile && !lockfile->names.empty() && request.wheels.empty() && request.index.empty())
      return invalid(fmt::format("nobody has said where the packages of '{}' are",
                                 printable(request.lockfile)),
                     "name a directory with --wheels, or an index with --index");
    // Making that takes most of the time, and it is the same for all lockfiles.
    std::optional<PythonEnvironment> empty;
    if (lockfile)
      empty = TRY(python_environment({.interpreter = request.interpreter}, cache, backend));
    if (empty) inputs.push_back(empty->cached.path);
    Preparation preparation{
        .what = "a Python environment",
        .command = {"sh", "-c", kPythonScript, "sh", interpreter, empty ? empty->cached.path : ""},
        .inputs = inputs,
        .tree = kEnvironment,
        .place = place,
        .network = network};
    preparation.command.push_back(lockfile ? place + "/lockfile" : "");
    preparation.command.insert(preparation.command.end(), options.begin(), options.end());
    if (lockfile) {
      preparation.what = fmt::format("the Python environment of '{}'", printable(request.lockfile));
      preparation.texts["lockfile"] = lockfile->text;
    }
    return prepare(preparation, backend);
  };
  environment.cached = TRY(cache.get("venv", key, make));
  const std::string& facts = environment.cached.facts;
  environment.version = fact(facts, "version");
  // What it is, and not where and when it was made: the same on every machine.
  environment.hash = sha256(fmt::format("{}\n{}\n{}", environment.lockfile_sha,
                                        fact(facts, "interpreter"), fact(facts, "content")));
  return environment;
}

}  // namespace hermetic::task
