#include "hermetic/task/work.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
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

std::string meaning_of(const TaskConfig& config) {
  return fmt::format("{}\n{}\n{}", config.hash, digests_as_text(config.model_shas),
                     digests_as_text(config.tokenizer_shas));
}

}  // namespace

Result<Source> WorkReader::source_of(const NamedRepository& repository,
                                     const std::string& revision) {
  return remembered(sources_, std::pair(repository, revision),
                    [&] { return find_source(repository, revision, backend_); });
}

Result<std::string> WorkReader::config_of(const std::string& file) {
  return remembered(configs_, file, [&]() -> Result<std::string> {
    const TaskConfig config = TRY(load_task_config(file, cache_.contents()));
    return meaning_of(config);
  });
}

Result<std::string> WorkReader::snapshot_of(const std::string& name) {
  return remembered(snapshots_, name, [&] { return facts_of_snapshot(name, cache_); });
}

// Of what cannot be looked at, why: it will be the same until somebody mends it.
void WorkReader::Parts::add(const char* key, const Result<std::string>& text) {
  if (!text && !error) error = text.error();
  digests[key] = sha256(text ? *text : to_string(text.error()));
}

void WorkReader::add_environments(const TaskRequest& request, const Task* made, Parts& parts) {
  const PythonRequest& python = request.python;
  parts.add("interpreter", cache_.contents().digest_of(python.interpreter));
  parts.add("interpreter_path", real_path_of(python.interpreter));  // its library lies beside it
  if (!python.lockfile.empty())
    parts.add("lockfile", made != nullptr ? Result<std::string>(made->environment().lockfile_sha)
                                          : cache_.contents().digest_of(python.lockfile));
  std::string places = python.index;
  for (const std::string& wheels : python.wheels) {
    const Result<std::string> place = real_path_of(wheels);
    if (!place) parts.add("wheels", place);
    places += "\n" + (place ? *place : wheels);
  }
  parts.add("places", places);
  parts.add("wheel_files", remembered(wheels_, python.lockfile + "\n" + places,
                                      [&] { return state_of_wheels(python); }));
  if (!request.node.cache.empty()) parts.add("node_cache", real_path_of(request.node.cache));
  if (request.node.lockfile.empty()) return;
  const Result<std::string> lockfile = real_path_of(request.node.lockfile);
  const bool is_read = made != nullptr && made->node();
  if (is_read) parts.add("node", made->node()->lockfile_sha);
  if (!is_read) parts.add("node", lockfile ? cache_.contents().digest_of(*lockfile) : lockfile);
  if (lockfile)
    parts.add("node_package",
              cache_.contents().digest_of(std::string(parent_of(*lockfile)) + "/package.json"));
}

Work WorkReader::look_at(TaskRequest& request, const Task* made) {
  Parts parts;
  parts.add("version", std::string("1"));
  parts.add("backend", std::string(backend_.name()));
  parts.add("also", also_);
  parts.add("task_id", request.id);
  parts.add("seed", request.seed ? std::to_string(*request.seed) : std::string());
  parts.add("spec", meaning_of(request.draft));
  const Result<Source> source = source_of(request.source(), request.revision);
  if (source) request.revision = source->commit;
  parts.add("source", source ? Result<std::string>(source->commit + "\n" + source->extent)
                             : Result<std::string>(source.error()));
  if (!request.base.empty()) {
    const Result<Source> base = source_of(request.source(), request.base);
    if (base) request.base = base->commit;
    parts.add("base", base ? Result<std::string>(base->commit) : Result<std::string>(base.error()));
  }
  std::string sparse;
  for (const std::string& directory : request.sparse) sparse += sha256(directory);
  parts.add("sparse", sparse);
  add_environments(request, made, parts);
  if (!request.config.empty())
    parts.add("config", made != nullptr ? meaning_of(made->config()) : config_of(request.config));
  if (!request.from.empty())
    parts.add("snapshot", made != nullptr && made->snapshot() ? facts_of(*made->snapshot())
                                                              : snapshot_of(request.from));
  return {.digest = sha256(canonical_json(json(parts.digests))), .error = std::move(parts.error)};
}

}  // namespace hermetic::task
