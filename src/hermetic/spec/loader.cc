#include "hermetic/spec/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "hermetic/base/text.h"
#include "hermetic/spec/document_text.h"
#include "hermetic/spec/draft_reader.h"
#include "hermetic/spec/node_reader.h"
#include "hermetic/spec/quantity.h"
#include "hermetic/spec/yaml_document.h"

namespace hermetic {
namespace {

constexpr std::array<std::string_view, 3> kProjectKeys = {"version", "defaults", "targets"};

// The version comes first: a file of a later one may well have keys that are unknown here.
Result<void> check_version(const YamlNode& root, const NodeReader& reader) {
  if (root.kind != YamlNode::Kind::Mapping)
    return reader.refuse(root.place, fmt::format("a spec is a mapping, not {}", describe(root)),
                         "start the file with 'version: 1'");
  const YamlEntry* version = entry_of(root, "version");
  if (version == nullptr)
    return reader.refuse(root.place, "the key 'version' is missing", "add 'version: 1'");
  const std::string number = TRY(reader.text(version->value, "version"));
  if (number != "1")
    return reader.refuse(version->value.place, fmt::format("unknown version '{}'", shown(number)),
                         "write 'version: 1', the only one so far");
  return {};
}

bool is_target_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 64 && plain(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-' || c == '.'; });
}

Result<void> check_project_keys(const YamlNode& root, const NodeReader& reader) {
  for (const YamlEntry& entry : root.entries) {
    if (std::ranges::find(kProjectKeys, entry.key) != kProjectKeys.end()) continue;
    if (!is_draft_key(entry.key))
      return reader.unknown_key(entry, "a file with targets", kProjectKeys);
    return reader.refuse(entry.place, fmt::format("'{}' stands beside 'targets'", entry.key),
                         "move it below 'defaults', or into the target that needs it");
  }
  return {};
}

Result<std::map<std::string, Draft>> read_targets(const YamlEntry& targets,
                                                  const NodeReader& reader) {
  TRY(reader.check_mapping(targets.value, "targets"));
  if (targets.value.entries.empty())
    return reader.refuse(targets.value.place, "'targets' is empty",
                         "add a target, such as build: {...}");
  std::map<std::string, Draft> result;
  for (const YamlEntry& target : targets.value.entries) {
    if (!is_target_name(target.key))
      return reader.refuse(
          target.place, fmt::format("bad target name '{}'", shown(target.key)),
          "use letters, digits, '_', '-' and '.', starting with none of the last two");
    result[target.key] =
        TRY(read_draft(target.value, fmt::format("target '{}'", target.key), reader, {}));
  }
  return result;
}

Result<std::string> folder_of(const std::string& file) {
  std::string folder = ".";
  if (const std::size_t slash = file.rfind('/'); !is_stream(file) && slash != std::string::npos)
    folder = file.substr(0, slash + 1);
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(folder.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr)
    return system_error(fmt::format("finding the folder of '{}'", printable(file)), errno);
  return std::string(real.get());
}

std::vector<std::string_view> names_of(const std::map<std::string, Draft>& targets) {
  std::vector<std::string_view> names;
  for (const auto& [name, draft] : targets) names.push_back(name);
  return names;
}

Result<NetworkPolicy> parse_network(std::string_view text) {
  for (const auto mode :
       {NetworkPolicy::Mode::None, NetworkPolicy::Mode::Loopback, NetworkPolicy::Mode::Host})
    if (text == to_string(mode)) return NetworkPolicy{.mode = mode, .hosts = {}};
  std::vector<std::string> rules;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    rules.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return NetworkPolicy::allow_hosts(rules);
}

// Stores the value of one variable, if it is there, and where it came from.
template <class T, class Parse>
Result<void> take_variable(const std::map<std::string, std::string>& environment,
                           const std::string& name, const std::string& key, Parse parse,
                           std::optional<T>& value, Draft& draft) {
  const auto found = environment.find(name);
  if (found == environment.end()) return {};
  Origin origin{.source = name};
  if (found->second.empty())
    return invalid("the variable is empty", "unset it or give it a value", std::move(origin));
  Result<T> parsed = parse(found->second);
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.origin = std::move(origin);
    return error;
  }
  value = std::move(*parsed);
  draft.origins[key] = std::move(origin);
  return {};
}

}  // namespace

Result<Project> load_project(const std::string& file) {
  const std::string text = TRY(read_document(file));
  const std::string here = TRY(folder_of(file));
  return parse_project(text, document_name(file), here);
}

Result<Project> parse_project(std::string_view text, const std::string& file_name,
                              const std::string& here) {
  const YamlNode root = TRY(parse_yaml(text, file_name));
  const NodeReader reader(file_name, here);
  TRY(check_version(root, reader));
  Project project;
  project.file = file_name;
  const YamlEntry* defaults = entry_of(root, "defaults");
  const YamlEntry* targets = entry_of(root, "targets");
  if (defaults == nullptr && targets == nullptr) {
    project.defaults = TRY(read_draft(root, "the spec", reader, kProjectKeys));
    return project;
  }
  if (targets == nullptr)
    return reader.refuse(defaults->place, "'defaults' without 'targets'",
                         "add 'targets', or move the keys to the top of the file");
  TRY(check_project_keys(root, reader));
  if (defaults != nullptr)
    project.defaults = TRY(read_draft(defaults->value, "'defaults'", reader, {}));
  project.targets = TRY(read_targets(*targets, reader));
  return project;
}

Result<Draft> draft_of(const Project& project, std::optional<std::string_view> target) {
  const Origin origin{.source = project.file};
  const std::vector<std::string_view> names = names_of(project.targets);
  if (names.empty()) {
    if (!target) return project.defaults;
    return invalid(
        fmt::format("no target '{}': the file is one spec without targets", shown(*target)),
        "leave the target out", origin);
  }
  if (!target) {
    if (names.size() == 1) return overlay(project.defaults, project.targets.begin()->second);
    return invalid("the file has several targets", "name one of: " + list_of(names), origin);
  }
  if (const auto found = project.targets.find(std::string(*target)); found != project.targets.end())
    return overlay(project.defaults, found->second);
  const std::string_view meant = closest(*target, names);
  return invalid(
      fmt::format("no target '{}'", shown(*target)),
      meant.empty() ? "name one of: " + list_of(names) : fmt::format("did you mean '{}'?", meant),
      origin);
}

Result<Draft> draft_from_environment(const std::map<std::string, std::string>& environment) {
  Draft draft;
  const auto count = [](std::string_view text) { return parse_count(text, 1, kMostProcesses); };
  TRY(take_variable(environment, "HERMETIC_MEMORY", "limits.memory", parse_size,
                    draft.limits.memory_bytes, draft));
  TRY(take_variable(environment, "HERMETIC_CPU_TIME", "limits.cpu_time", parse_duration,
                    draft.limits.cpu_time, draft));
  TRY(take_variable(environment, "HERMETIC_PROCESSES", "limits.processes", count,
                    draft.limits.processes, draft));
  TRY(take_variable(environment, "HERMETIC_NETWORK", "network", parse_network, draft.network,
                    draft));
  return draft;
}

}  // namespace hermetic
