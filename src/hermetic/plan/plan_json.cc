// The plan for programs. docs/reference/plan.schema.json is its contract.
#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"
#include "hermetic/plan/print.h"

namespace hermetic {
namespace {

using nlohmann::json;

// JSON is UTF-8, and so are almost all texts. One that is not is shown as people see it.
std::string text_of(const std::string& text) { return is_utf8(text) ? text : printable(text); }

json entry_as_json(const ViewEntry& entry) {
  json object = {{"kind", to_string(entry.kind)},
                 {"path", text_of(entry.path)},
                 {"type", to_string(entry.type)}};
  if (!entry.source.empty()) object["source"] = text_of(entry.source);
  if (entry.kind == ViewEntry::Kind::Link) object["target"] = text_of(entry.text);
  if (entry.kind == ViewEntry::Kind::File) object["content"] = text_of(entry.text);
  for (const PlannedLayer& layer : entry.over) object["over"].push_back(text_of(layer.source));
  if (entry.changes) object["changes"] = text_of(entry.changes->source);
  if (entry.make_point) object["made"] = true;
  return object;
}

json clause_as_json(const PlannedClause& planned) {
  json object = {{"clause", to_string(planned.clause)}, {"strength", to_string(planned.strength)}};
  if (!planned.mechanism.empty()) object["mechanism"] = text_of(planned.mechanism);
  if (!planned.reason.empty()) object["reason"] = text_of(planned.reason);
  if (planned.given_up) object["given_up"] = true;
  return object;
}

json publication_as_json(const Publication& publication) {
  json object = {{"path", text_of(publication.path)},
                 {"destination", text_of(publication.destination)},
                 {"publish", to_string(publication.publish)},
                 {"type", to_string(publication.type)}};
  if (!publication.made_in.empty()) object["made_in"] = text_of(publication.made_in);
  for (const std::string& exception : publication.exceptions)
    object["except"].push_back(text_of(exception));
  return object;
}

json network_as_json(const NetworkPolicy& network) {
  json object = {{"mode", to_string(network.mode)}};
  if (network.mode != NetworkPolicy::Mode::Hosts) return object;
  object["hosts"] = json::array();
  for (const HostRule& rule : network.hosts) object["hosts"].push_back(text_of(to_string(rule)));
  return object;
}

// Sizes in bytes and durations in milliseconds: nothing for a program to parse.
json limits_as_json(const ResourceLimits& limits) {
  json object = json::object();
  const auto number = [&](const char* key, const std::optional<std::uint64_t>& value) {
    if (value) object[key] = *value;
  };
  number("memory_bytes", limits.memory_bytes);
  number("processes", limits.processes);
  number("file_size_bytes", limits.file_size_bytes);
  number("open_files", limits.open_files);
  number("disk_write_bytes", limits.disk_write_bytes);
  number("disk_read_rate", limits.disk_read_rate);
  number("disk_write_rate", limits.disk_write_rate);
  number("network_bytes", limits.network_bytes);
  number("cpu_weight", limits.cpu_weight);
  if (limits.cpu_time) object["cpu_time_ms"] = limits.cpu_time->count();
  if (limits.wall_time) object["wall_time_ms"] = limits.wall_time->count();
  if (limits.idle_time) object["idle_time_ms"] = limits.idle_time->count();
  return object;
}

json process_as_json(const ProcessPolicy& process) {
  json object = {{"kill_on_parent_exit", process.kill_on_parent_exit},
                 {"allow_fork", process.allow_fork},
                 {"allow_exec", process.allow_exec}};
  if (process.max_children) object["max_children"] = *process.max_children;
  if (process.cpus) object["cpus"] = *process.cpus;
  if (process.nice) object["nice"] = *process.nice;
  return object;
}

}  // namespace

std::string plan_as_json(const Plan& plan) {
  json view = json::array();
  for (const ViewEntry& entry : plan.view) view.push_back(entry_as_json(entry));
  json clauses = json::array();
  for (const PlannedClause& planned : plan.clauses) clauses.push_back(clause_as_json(planned));
  json publications = json::array();
  for (const Publication& publication : plan.publications)
    publications.push_back(publication_as_json(publication));
  json command = json::array();
  for (const std::string& word : plan.command) command.push_back(text_of(word));
  json environment = json::object();
  for (const auto& [name, value] : plan.environment) environment[text_of(name)] = text_of(value);
  json document = {
      {"version", 1},
      {"backend", text_of(plan.backend)},
      {"spec_digest", "sha256:" + text_of(plan.spec_digest)},
      {"command", std::move(command)},
      {"directory", text_of(plan.directory)},
      {"view", std::move(view)},
      {"publications", std::move(publications)},
      {"environment", std::move(environment)},
      {"network", network_as_json(plan.network)},
      {"limits", limits_as_json(plan.limits)},
      {"process", process_as_json(plan.process)},
      {"identity", to_string(plan.identity)},
      {"hostname", text_of(plan.hostname)},
      {"on_violation", to_string(plan.on_violation)},
      {"strict_outputs", plan.strict_outputs},
      {"own_uptime", plan.own_uptime},
      {"allow_nested_namespaces", plan.allow_nested_namespaces},
      {"clauses", std::move(clauses)},
      {"hermetic", plan.hermetic()},
  };
  if (!plan.unix_sockets.empty()) {
    json& sockets = document["unix_sockets"] = json::array();
    for (const std::string& path : plan.unix_sockets) sockets.push_back(text_of(path));
  }
  // All but ASCII is escaped: a terminal obeys some characters beyond it.
  constexpr bool kOnlyAscii = true;
  return document.dump(2, ' ', kOnlyAscii) + "\n";
}

}  // namespace hermetic
