// Is one spec at least as generous as another?
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/quantity.h"
#include "hermetic/spec/spec.h"

namespace hermetic {
namespace {

PathSet readable(const Spec& spec) {
  const PathSet always = spec.inputs() | spec.temps();
  return spec.strict_outputs ? always : always | spec.outputs();
}

PathSet writable(const Spec& spec) { return spec.outputs() | spec.temps(); }

// What `a` refuses of `difference`, which is not empty.
std::string refused_in(const PathSet& difference, const Spec& a) {
  const auto because = [&](const std::string& path) {
    return a.decide(path, Operation::Read).because;
  };
  std::string path = difference.witness().value();
  // A directory on the way can be listed although it is in none of the sets: look below it.
  while (because(path) == Decision::Because::OnTheWay) {
    std::string name = "any";
    while (a.can_read(join(path, name)) || !difference.contains(join(path, name))) name += '_';
    path = join(path, name);
  }
  return (because(path) == Decision::Because::BuiltIn ? "read the host's " : "read ") + path;
}

// Links, directories that only lead somewhere and built-in files are in none of the sets.
std::string missing_name(const Spec& a, const Spec& b) {
  std::set<std::string, std::less<>> names = {"/", "/etc"};
  names.insert(kSyntheticFiles.begin(), kSyntheticFiles.end());
  const auto add_way_to = [&](std::string_view path) {
    for (Components component(path); component.next();) names.emplace(component.prefix());
  };
  for (const Tree& tree : b.trees()) add_way_to(tree.place);
  for (const Link& link : b.links()) add_way_to(link.path);
  for (const std::string& name : names)
    for (const Operation operation : {Operation::Read, Operation::Execute})
      if (b.decide(name, operation).allowed && !a.decide(name, operation).allowed)
        return fmt::format("{} {}", to_string(operation), name);
  return "";
}

// The same name inside for something else of the host.
std::string other_object(const Spec& a, const Spec& b) {
  const auto object_at = [](const Spec& spec, const std::string& path) -> std::string {
    const Decision decision = spec.decide(path, Operation::Execute);
    if (decision.because != Decision::Because::Declared ||
        decision.tree->declaration.kind == TreeKind::Temp)
      return "";
    return host_name(*decision.tree, decision.path);
  };
  for (const Spec* spec : {&b, &a})
    for (const Tree& tree : spec->trees()) {
      const std::string wanted = object_at(b, tree.place);
      const std::string had = object_at(a, tree.place);
      if (!wanted.empty() && !had.empty() && wanted != had)
        return fmt::format("use {} as {}", wanted, tree.place);
    }
  return "";
}

std::vector<HostRule> rules_of(const NetworkPolicy& network) {
  if (network.mode != NetworkPolicy::Mode::Loopback) return network.hosts;
  std::vector<HostRule> rules;
  for (const char* text : {"localhost", "*.localhost", "127.0.0.0/8", "[::1]"})
    rules.push_back(parse_host_rule(text).value());
  return rules;
}

std::string missing_host(const NetworkPolicy& a, const NetworkPolicy& b) {
  using Mode = NetworkPolicy::Mode;
  if (a.mode == Mode::Host || b.mode == Mode::None) return "";
  if (b.mode == Mode::Host) return "reach any host";
  const std::vector<HostRule> allowed = rules_of(a);
  for (const HostRule& inner : rules_of(b)) {
    const bool covered = std::any_of(allowed.begin(), allowed.end(),
                                     [&](const HostRule& outer) { return covers(outer, inner); });
    if (!covered) return fmt::format("reach {}", to_string(inner));
  }
  return "";
}

std::string missing_variable(const Spec& a, const Spec& b) {
  for (const std::string& name : b.environment.pass)
    if (!a.environment.pass.contains(name)) return fmt::format("know the caller's {}", name);
  for (const auto& [name, value] : b.variables()) {
    if (b.environment.pass.contains(name)) continue;
    const auto found = a.variables().find(name);
    if (found == a.variables().end()) return fmt::format("know {}", name);
    if (found->second != value) return fmt::format("know {} as '{}'", name, value);
  }
  return "";
}

template <class Quantity, class Format>
std::string more(const std::optional<Quantity>& a, const std::optional<Quantity>& b,
                 std::string_view what, Format format) {
  if (!a || (b && *b <= *a)) return "";
  return b ? fmt::format("use {} {}", format(*b), what) : fmt::format("use unlimited {}", what);
}

// The nicer, the less.
std::string higher_priority(const Spec& a, const Spec& b) {
  const std::uint64_t asked = b.process.nice.value_or(0);
  return asked < a.process.nice.value_or(0) ? fmt::format("be as little nice as {}", asked) : "";
}

std::string missing_resource(const Spec& a, const Spec& b) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  const std::array found = {
      more(a.limits.memory_bytes, b.limits.memory_bytes, "memory", format_size),
      more(a.limits.cpu_time, b.limits.cpu_time, "CPU time", format_duration),
      more(a.limits.wall_time, b.limits.wall_time, "wall time", format_duration),
      more(a.limits.idle_time, b.limits.idle_time, "idle time", format_duration),
      more(a.limits.processes, b.limits.processes, "processes", number),
      more(a.limits.file_size_bytes, b.limits.file_size_bytes, "file size", format_size),
      more(a.limits.open_files, b.limits.open_files, "open files", number),
      more(a.limits.disk_write_bytes, b.limits.disk_write_bytes, "disk writes", format_size),
      more(a.limits.disk_read_rate, b.limits.disk_read_rate, "disk reads a second", format_size),
      more(a.limits.disk_write_rate, b.limits.disk_write_rate, "disk writes a second", format_size),
      more(a.limits.network_bytes, b.limits.network_bytes, "network bytes", format_size),
      more(a.limits.cpu_weight, b.limits.cpu_weight, "CPU weight", number),
      more(a.process.max_children, b.process.max_children, "child processes", number),
      more(a.process.cpus, b.process.cpus, "CPUs", number),
      higher_priority(a, b),
  };
  for (const std::string& text : found)
    if (!text.empty()) return text;
  return "";
}

std::string missing_act(const Spec& a, const Spec& b) {
  if (!a.process.allow_fork && b.process.allow_fork) return "start processes";
  if (!a.process.allow_exec && b.process.allow_exec) return "run other programs";
  if (a.process.kill_on_parent_exit && !b.process.kill_on_parent_exit) return "outlive its caller";
  if (!a.allow_nested_namespaces && b.allow_nested_namespaces) return "make user namespaces";
  if (a.own_uptime && !b.own_uptime) return "know the uptime of the host";
  if (!a.allow_unsandboxed && b.allow_unsandboxed) return "run without a sandbox";
  if (a.identity == Identity::Builder && b.identity == Identity::Root) return "be root inside";
  for (const std::string& path : b.unix_sockets)
    if (!a.unix_sockets.contains(path)) return fmt::format("talk through the socket {}", path);
  for (const std::string& clause : b.give_up)
    if (!a.give_up.contains(clause)) return fmt::format("run without {}", clause);
  return "";
}

}  // namespace

Subsumption subsumes(const Spec& a, const Spec& b) {
  if (const PathSet more = readable(b) - readable(a); !more.empty())
    return {false, refused_in(more, a)};
  if (const auto path = (writable(b) - writable(a)).witness()) return {false, "write " + *path};
  for (std::string text :
       {missing_name(a, b), other_object(a, b), missing_host(a.network, b.network),
        missing_act(a, b), missing_resource(a, b), missing_variable(a, b)})
    if (!text.empty()) return {false, std::move(text)};
  return {true, ""};
}

}  // namespace hermetic
