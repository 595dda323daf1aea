#include "hermetic/task/work.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_digest.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/spec/environment.h"
#include "hermetic/spec/spec_builder.h"
#include "hermetic/task/host_program.h"
#include "hermetic/task/preparation.h"
#include "hermetic/task/snapshot.h"

namespace hermetic::task {
namespace {

using nlohmann::json;

// Everything that is said about the command, in one form however it was said. The spec has the
// names of the variables that are passed on; what they hold counts, too.
Result<std::string> meaning_of(const Draft& draft) {
  Draft base;
  base.directory = kWorktree;
  SpecBuilder builder(std::move(base));
  for (const char* path : {kWorktree, kEnvironment, kScratch}) builder.temp(path);
  const Spec spec = TRY(builder.overlay(draft).lookup(look_up_by_name).build());
  std::string meaning = spec.canonical();
  for (const auto& [name, value] : passed_by_caller(draft.environment.pass))
    meaning += fmt::format("\n{}={}", name, sha256(value));
  return meaning;
}

// Looked at once.
template <class Value, class Key, class Look>
Result<Value> remembered(std::map<Key, Result<Value>>& known, const Key& key, const Look& look) {
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, look()).first->second;
}

std::string digests_as_text(const std::optional<std::map<std::string, std::string>>& map) {
  return map ? json(*map).dump(-1, ' ', false, json::error_handler_t::replace) : "";
}

}  // namespace

Result<Source> WorkReader::source_of(const std::string& repository, const std::string& revision) {
  return remembered(sources_, std::pair(repository, revision),
                    [&] { return find_source(repository, revision, backend_); });
}

Result<std::string> WorkReader::content_of(const std::string& file) {
  return remembered(contents_, file, [&]() -> Result<std::string> {
    const UniqueFd content(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!content.is_open())
      return system_error(fmt::format("cannot read '{}'", printable(file)), errno);
    return digest_of_file(content.get(), file);
  });
}

Result<std::string> WorkReader::config_of(const std::string& file) {
  return remembered(configs_, file, [&]() -> Result<std::string> {
    const TaskConfig config = TRY(load_task_config(file));
    return fmt::format("{}\n{}\n{}", config.hash, digests_as_text(config.model_shas),
                       digests_as_text(config.tokenizer_shas));
  });
}

Result<std::string> WorkReader::snapshot_of(const std::string& name) {
  return remembered(snapshots_, name, [&] { return facts_of_snapshot(name, cache_); });
}

Work WorkReader::look_at(TaskRequest& request) {
  Work work;
  json parts = {{"version", 1},
                {"backend", std::string(backend_.name())},
                {"also", sha256(also_)},
                {"task_id", request.id},
                {"seed", request.seed ? json(*request.seed) : json()}};
  // Of what cannot be looked at, why: it will be the same until somebody mends it.
  const auto add = [&](const char* key, const Result<std::string>& text) {
    if (!text && !work.error) work.error = text.error();
    parts[key] = sha256(text ? *text : to_string(text.error()));
  };
  const auto digest_of = [&](const std::string& file) -> Result<std::string> {
    if (file.empty()) return std::string();
    return content_of(file);
  };
  add("spec", meaning_of(request.draft));
  const Result<Source> source = source_of(request.repository, request.revision);
  if (source) request.revision = source->commit;
  add("source", source ? Result<std::string>(source->commit + "\n" + source->extent)
                       : Result<std::string>(source.error()));
  parts["sparse"] = json::array();
  for (const std::string& directory : request.sparse) parts["sparse"].push_back(sha256(directory));
  const PythonRequest& python = request.python;
  add("interpreter", digest_of(python.interpreter));
  add("lockfile", digest_of(python.lockfile));
  for (const std::string& wheels : python.wheels) add("wheels", real_path_of(wheels));
  std::string places = python.index;
  for (const std::string& wheels : python.wheels) places += "\n" + wheels;
  add("places", places);
  add("config", request.config.empty() ? Result<std::string>("") : config_of(request.config));
  if (!request.node.lockfile.empty()) {
    const Result<std::string> lockfile = real_path_of(request.node.lockfile);
    add("node", lockfile ? content_of(*lockfile) : lockfile);
    if (lockfile)
      add("node_package", content_of(std::string(parent_of(*lockfile)) + "/package.json"));
  }
  if (!request.node.cache.empty()) add("node_cache", real_path_of(request.node.cache));
  add("snapshot", request.from.empty() ? Result<std::string>("") : snapshot_of(request.from));
  work.digest = sha256(canonical_json(parts));
  return work;
}

}  // namespace hermetic::task
