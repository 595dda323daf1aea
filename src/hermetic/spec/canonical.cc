// The one text of a spec, from which its digest is made. Keys stand in sorted order.
#include <algorithm>

#include "hermetic/base/json_text.h"
#include "hermetic/spec/quantity.h"
#include "hermetic/spec/spec.h"

namespace hermetic {
namespace {

template <class List>
void write_texts(JsonText& json, std::string_view key, const List& list) {
  json.key(key).begin_array();
  for (const std::string& text : list) json.text(text);
  json.end_array();
}

void write_trees(JsonText& json, std::string_view key, const Spec& spec, TreeKind kind) {
  std::vector<const Declaration*> declarations;
  for (const Tree& tree : spec.trees())
    if (!tree.built_in && tree.declaration.kind == kind) declarations.push_back(&tree.declaration);
  std::sort(declarations.begin(), declarations.end(), [](const auto* a, const auto* b) {
    if (a->path != b->path) return PathOrder{}(a->path, b->path);
    return PathOrder{}(a->at, b->at);
  });
  json.key(key).begin_array();
  for (const Declaration* declaration : declarations) {
    json.begin_object();
    if (!declaration->at.empty()) json.key("at").text(declaration->at);
    if (!declaration->exceptions.empty()) write_texts(json, "except", declaration->exceptions);
    if (declaration->made_by_command) json.key("made_by").text("command");
    if (!declaration->over.empty()) write_texts(json, "over", declaration->over);
    json.key("path").text(declaration->path);
    if (kind == TreeKind::Output) json.key("publish").text(to_string(declaration->publish));
    if (declaration->type != FileType::Unknown) json.key("type").text(to_string(declaration->type));
    json.end_object();
  }
  json.end_array();
}

void write_network(JsonText& json, const NetworkPolicy& network) {
  json.key("network");
  if (network.mode != NetworkPolicy::Mode::Hosts) {
    json.text(to_string(network.mode));
    return;
  }
  json.begin_array();
  for (const HostRule& rule : network.hosts) json.text(to_string(rule));
  json.end_array();
}

void write_environment(JsonText& json, const EnvironmentDraft& environment) {
  json.key("environment").begin_object();
  write_texts(json, "pass", environment.pass);
  json.key("set").begin_object();
  for (const auto& [name, value] : environment.set) json.key(name).text(value);
  json.end_object().end_object();
}

// Sizes above 2^53 would not be numbers to every reader of JSON: all quantities are texts.
void write_limits(JsonText& json, const ResourceLimits& limits) {
  const auto write = [&](std::string_view key, const auto& value, auto format) {
    if (value) json.key(key).text(format(*value));
  };
  const auto count = [](std::uint64_t value) { return std::to_string(value); };
  json.key("limits").begin_object();
  write("cpu_time", limits.cpu_time, format_duration);
  write("cpu_weight", limits.cpu_weight, count);
  write("disk_read_rate", limits.disk_read_rate, format_size);
  write("disk_write", limits.disk_write_bytes, format_size);
  write("disk_write_rate", limits.disk_write_rate, format_size);
  write("file_size", limits.file_size_bytes, format_size);
  write("idle_time", limits.idle_time, format_duration);
  write("memory", limits.memory_bytes, format_size);
  write("network_bytes", limits.network_bytes, format_size);
  write("open_files", limits.open_files, count);
  write("processes", limits.processes, count);
  write("wall_time", limits.wall_time, format_duration);
  json.end_object();
}

void write_process(JsonText& json, const ProcessPolicy& process) {
  json.key("process").begin_object();
  json.key("allow_exec").boolean(process.allow_exec);
  json.key("allow_fork").boolean(process.allow_fork);
  if (process.cpus) json.key("cpus").text(std::to_string(*process.cpus));
  json.key("kill_on_parent_exit").boolean(process.kill_on_parent_exit);
  if (process.max_children) json.key("max_children").text(std::to_string(*process.max_children));
  if (process.nice) json.key("nice").text(std::to_string(*process.nice));
  json.end_object();
}

}  // namespace

std::string Spec::canonical() const {
  JsonText json;
  json.begin_object();
  json.key("allow_nested_namespaces").boolean(allow_nested_namespaces);
  json.key("allow_unsandboxed").boolean(allow_unsandboxed);
  write_texts(json, "command", command);
  json.key("directory").text(directory);
  write_environment(json, environment);
  write_texts(json, "give_up", give_up);
  json.key("hostname").text(hostname);
  json.key("identity").text(to_string(identity));
  write_trees(json, "inputs", *this, TreeKind::Input);
  write_limits(json, limits);
  write_network(json, network);
  json.key("on_violation").text(to_string(on_violation));
  write_trees(json, "outputs", *this, TreeKind::Output);
  json.key("own_uptime").boolean(own_uptime);
  write_process(json, process);
  json.key("strict_outputs").boolean(strict_outputs);
  write_trees(json, "temps", *this, TreeKind::Temp);
  if (!unix_sockets.empty()) write_texts(json, "unix_sockets", unix_sockets);
  json.key("version").number(1);
  json.end_object();
  return json.str();
}

}  // namespace hermetic
