#include "bindings/c/task_request.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/spec/loader.h"

namespace hermetic::c {
namespace {

using nlohmann::json;

Error refuse(const std::string& what) {
  return invalid("the request of a task " + what, "see docs/reference/c-api.md#tasks");
}

// Takes keys out of the request: what is left in the end is unknown.
class RequestReader {
 public:
  explicit RequestReader(json request) : request_(std::move(request)) {}

  Result<void> text(const char* key, std::string& value) {
    const json found = take(key);
    if (found.is_null()) return {};
    if (!found.is_string()) return refuse(std::string("has a '") + key + "' that is no text");
    value = found.get<std::string>();
    return check_text(key, value);
  }
  Result<void> texts(const char* key, std::vector<std::string>& values) {
    json found = take(key);
    if (found.is_null()) return {};
    if (found.is_string()) found = json::array({found});
    const bool good = found.is_array() && std::ranges::all_of(found, &json::is_string);
    if (!good) return refuse(std::string("has a '") + key + "' that is no list of texts");
    for (const json& item : found) {
      values.push_back(item.get<std::string>());
      TRY(check_text(key, values.back()));
    }
    return {};
  }
  Result<void> seed(std::optional<std::uint32_t>& value) {
    const json found = take("seed");
    if (found.is_null()) return {};
    if (!found.is_number_unsigned() || found.get<std::uint64_t>() > UINT32_MAX)
      return refuse("has a 'seed' that is no number from 0 to 4294967295");
    value = found.get<std::uint32_t>();
    return {};
  }
  // The keys of a spec file, but for the command.
  Result<void> spec(Draft& draft) {
    json found = take("spec");
    if (found.is_null()) return {};
    if (!found.is_object()) return refuse("has a 'spec' that is no object");
    for (const char* key : {"command", "targets"})
      if (found.contains(key))
        return refuse(std::string("has a '") + key + "' in its 'spec', which is for all commands");
    if (!found.contains("version")) found["version"] = 1;
    // Escaped: what JSON may have as it is, YAML may not.
    draft = TRY(parse_project(found.dump(-1, ' ', true), "spec", "/"))
    .defaults;
    return {};
  }
  Result<void> end() const {
    if (request_.empty()) return {};
    return refuse("has the unknown key '" + request_.begin().key() + "'");
  }

 private:
  // What is told to the kernel would end there.
  static Result<void> check_text(const char* key, const std::string& value) {
    if (value.find('\0') == std::string::npos) return {};
    return refuse(std::string("has a '") + key + "' with a zero byte in it");
  }
  json take(const char* key) {
    if (!request_.contains(key)) return {};
    json found = request_[key];
    request_.erase(key);
    return found;
  }

  json request_;
};

// Of two values of one key, readers of JSON take one or the other.
std::optional<std::string> repeated_key(const std::string& text) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> repeated;
  const auto look = [&](int /*depth*/, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      repeated = value.get<std::string>();
    return true;
  };
  const json parsed = json::parse(text, look, false);
  return parsed.is_discarded() ? std::nullopt : repeated;
}

}  // namespace

Result<TaskWanted> read_task_request(const std::string& text) {
  json parsed = parse_bounded_json(text);
  if (!parsed.is_object()) return refuse("is no JSON object");
  if (const std::optional<std::string> key = repeated_key(text); key)
    return refuse("has the key '" + printable(*key) + "' twice");
  RequestReader reader(std::move(parsed));
  TaskWanted wanted;
  task::TaskRequest& request = wanted.request;
  TRY(reader.text("task_id", request.id));
  TRY(reader.text("run_id", request.run));
  TRY(reader.text("repo", request.repository));
  TRY(reader.texts("borrow", request.borrow));
  TRY(reader.text("sha", request.revision));
  TRY(reader.text("base_sha", request.base));
  TRY(reader.texts("sparse", request.sparse));
  TRY(reader.seed(request.seed));
  TRY(reader.text("config", request.config));
  TRY(reader.text("scratch", request.scratch));
  TRY(reader.text("from", request.from));
  TRY(reader.text("lockfile", request.python.lockfile));
  TRY(reader.text("python", request.python.interpreter));
  TRY(reader.texts("wheels", request.python.wheels));
  TRY(reader.text("index", request.python.index));
  TRY(reader.text("node_lockfile", request.node.lockfile));
  TRY(reader.text("npm_cache", request.node.cache));
  TRY(reader.text("cache", wanted.cache));
  TRY(reader.spec(request.draft));
  TRY(reader.end());
  return wanted;
}

}  // namespace hermetic::c
