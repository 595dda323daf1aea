// The one text of a spec, from which its digest is made.
#include <algorithm>
#include <tuple>

#include <nlohmann/json.hpp>

#include "hermetic/spec/quantity.h"
#include "hermetic/spec/spec.h"

namespace hermetic {
namespace {

using nlohmann::json;  // keeps keys sorted

json trees_of(const Spec& spec, TreeKind kind) {
  std::vector<const Declaration*> declarations;
  for (const Tree& tree : spec.trees())
    if (!tree.built_in && tree.declaration.kind == kind) declarations.push_back(&tree.declaration);
  std::sort(declarations.begin(), declarations.end(),
            [](const auto* a, const auto* b) { return PathOrder{}(a->path, b->path); });
  json list = json::array();
  for (const Declaration* declaration : declarations) {
    json entry = {{"path", declaration->path}};
    if (!declaration->exceptions.empty()) entry["except"] = declaration->exceptions;
    if (kind == TreeKind::Output) entry["publish"] = to_string(declaration->publish);
    if (declaration->type != FileType::Unknown) entry["type"] = to_string(declaration->type);
    list.push_back(std::move(entry));
  }
  return list;
}

json network_of(const NetworkPolicy& network) {
  if (network.mode != NetworkPolicy::Mode::Hosts) return to_string(network.mode);
  json list = json::array();
  for (const HostRule& rule : network.hosts) list.push_back(to_string(rule));
  return list;
}

json limits_of(const ResourceLimits& limits) {
  json object = json::object();
  const auto size = [&](const char* key, const std::optional<std::uint64_t>& value) {
    if (value) object[key] = *value;
  };
  size("memory", limits.memory_bytes);
  size("file_size", limits.file_size_bytes);
  size("disk_write", limits.disk_write_bytes);
  size("processes", limits.processes);
  size("open_files", limits.open_files);
  size("cpu_weight", limits.cpu_weight);
  if (limits.cpu_time) object["cpu_time"] = format_duration(*limits.cpu_time);
  if (limits.wall_time) object["wall_time"] = format_duration(*limits.wall_time);
  return object;
}

json process_of(const ProcessPolicy& process) {
  json object = {{"kill_on_parent_exit", process.kill_on_parent_exit},
                 {"allow_fork", process.allow_fork},
                 {"allow_exec", process.allow_exec}};
  if (process.max_children) object["max_children"] = *process.max_children;
  return object;
}

// Arguments and values need not be UTF-8. Bytes that are not become U+FFFD in JSON, so such texts
// are written as a list of byte values instead, which no text can be mistaken for.
json text_of(const std::string& text) {
  try {
    (void)json(text).dump();
    return text;
  } catch (const json::exception&) {
    json bytes = json::array();
    for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
    return bytes;
  }
}

}  // namespace

std::string Spec::canonical() const {
  json words = json::array();
  for (const std::string& word : command) words.push_back(text_of(word));
  json set = json::object();
  for (const auto& [name, value] : environment.set) set[name] = text_of(value);
  const json document = {
      {"version", 1},
      {"command", std::move(words)},
      {"directory", directory},
      {"inputs", trees_of(*this, TreeKind::Input)},
      {"outputs", trees_of(*this, TreeKind::Output)},
      {"temps", trees_of(*this, TreeKind::Temp)},
      {"network", network_of(network)},
      {"environment", {{"set", std::move(set)}, {"pass", environment.pass}}},
      {"limits", limits_of(limits)},
      {"process", process_of(process)},
      {"identity", to_string(identity)},
      {"hostname", hostname},
      {"on_violation", to_string(on_violation)},
      {"strict_outputs", strict_outputs},
      {"allow_nested_namespaces", allow_nested_namespaces},
      {"allow_unsandboxed", allow_unsandboxed},
      {"give_up", give_up},
  };
  return document.dump();
}

}  // namespace hermetic
