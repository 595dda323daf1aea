#include "hermetic/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

// A clause that only strengthens others: good to have, never the reason to refuse.
bool is_optional(Clause clause) {
  return clause == Clause::SecondLine || clause == Clause::NetworkWatched;
}

std::string in_place_outputs(const Spec& spec) {
  std::string list;
  for (const Tree& tree : spec.trees())
    if (tree.declaration.publish == Publish::InPlace)
      list += (list.empty() ? "" : ", ") + printable(tree.declaration.path);
  return list;
}

// An output that lies inside something readable, if Landlock could not tell them apart.
std::string readable_around_output(const Spec& spec) {
  for (const Tree& output : spec.trees()) {
    if (output.declaration.kind != TreeKind::Output) continue;
    for (const Tree& other : spec.trees())
      if (other.declaration.kind != TreeKind::Output &&
          is_strictly_within(output.place, other.place))
        return fmt::format("output '{}' lies inside the {} '{}'",
                           printable(output.declaration.path), to_string(other.declaration.kind),
                           printable(other.declaration.path));
  }
  return "";
}

// Where bytes go over a network that nobody counts for this command alone.
std::string uncounted_network(const Spec& spec) {
  using Mode = NetworkPolicy::Mode;
  if (spec.network.mode == Mode::Host)
    return "the caller's network is shared with others, and nobody counts the bytes of one command";
  if (spec.network.mode == Mode::Loopback && spec.allow_nested_namespaces)
    return "nested namespaces can have a loopback of their own, which nobody counts";
  return "";
}

// Why this spec does not get a clause that the backend gives to others; "" if it does.
std::string obstacle(const Spec& spec, const Capabilities& capabilities, Clause clause) {
  if (clause == Clause::NetworkWatched && !spec.process.kill_on_parent_exit)
    return "the command may outlive hermetic, and then nobody would answer its calls";
  if (clause == Clause::NetworkBytesLimit) return uncounted_network(spec);
  if (!capabilities.uses_landlock) return "";
  const bool landlock = clause == Clause::SecondLine || clause == Clause::OutputsWriteOnly;
  if (landlock && spec.allow_nested_namespaces)
    return "nested namespaces need mounts, which Landlock forbids";
  if (clause == Clause::OutputsWriteOnly) return readable_around_output(spec);
  return "";
}

PlannedClause plan_clause(const Spec& spec, const Capabilities& capabilities, Clause clause) {
  PlannedClause planned{.clause = clause};
  const auto found = capabilities.clauses.find(clause);
  if (found == capabilities.clauses.end()) {
    planned.reason = fmt::format("the backend '{}' does not know it", capabilities.backend);
  } else {
    planned.strength = found->second.strength;
    planned.mechanism = found->second.mechanism;
    planned.reason = found->second.reason;
  }
  if (const std::string reason = obstacle(spec, capabilities, clause); !reason.empty()) {
    planned.strength = Strength::Absent;
    planned.mechanism.clear();
    planned.reason = reason;
  }
  planned.given_up = spec.give_up.contains(std::string(to_string(clause)));
  if (clause == Clause::OutputsPrivate) {
    if (const std::string outputs = in_place_outputs(spec); !outputs.empty()) {
      planned.strength = Strength::Absent;
      planned.reason = fmt::format("changed in place, as declared: {}", outputs);
      planned.given_up = true;
    }
  }
  return planned;
}

// One error for all that is missing: nobody wants to learn it clause by clause.
Error lacking(const Capabilities& capabilities, const std::vector<PlannedClause>& missing) {
  std::string message =
      fmt::format("the backend '{}' cannot give what the spec needs:", capabilities.backend);
  std::vector<std::string> remedies;  // each once, in the order of the clauses
  std::string options;
  for (const PlannedClause& planned : missing) {
    message +=
        fmt::format("\n  {} is {}: {}", to_string(planned.clause), to_string(planned.strength),
                    planned.reason.empty() ? promise_of(planned.clause) : planned.reason);
    const auto found = capabilities.clauses.find(planned.clause);
    const std::string remedy = found == capabilities.clauses.end() ? "" : found->second.remedy;
    if (!remedy.empty() && std::find(remedies.begin(), remedies.end(), remedy) == remedies.end())
      remedies.push_back(remedy);
    options += fmt::format(" --give-up {}", to_string(planned.clause));
  }
  std::string hint;
  for (const std::string& remedy : remedies) hint += remedy + "; ";
  return unsupported(std::move(message), hint + "or do without:" + options);
}

// Whoever is to act on violations has to learn of them.
Result<void> check_on_violation(const Spec& spec, const Plan& plan) {
  if (spec.on_violation == OnViolation::Report) return {};
  for (const PlannedClause& planned : plan.clauses)
    if (planned.clause == Clause::NetworkWatched && planned.strength != Strength::Enforced)
      return unsupported(
          fmt::format("on_violation '{}' needs network-watched, which is {}: {}",
                      to_string(spec.on_violation), to_string(planned.strength), planned.reason),
          "use 'report', the default: what is not allowed is denied in any case");
  return {};
}

std::string network_rule_of(const Spec& spec) {
  const std::string origin = to_string(spec.network_origin);
  return fmt::format("network: {} ({})", to_string(spec.network.mode),
                     origin.empty() ? "the default" : origin);
}

std::map<std::string, std::string> host_rules_of(const Spec& spec) {
  std::map<std::string, std::string> rules;
  for (const HostRule& rule : spec.network.hosts) {
    const std::string text = to_string(rule);
    const auto own = spec.host_origins.find(text);
    const std::string origin =
        to_string(own == spec.host_origins.end() ? spec.network_origin : own->second);
    rules[text] =
        fmt::format("{} of network: hosts ({})", text, origin.empty() ? "the default" : origin);
  }
  return rules;
}

bool has_layers(const Spec& spec) {
  return std::any_of(spec.trees().begin(), spec.trees().end(),
                     [](const Tree& tree) { return !tree.over.empty(); });
}

std::vector<Publication> publications_of(const Spec& spec) {
  std::vector<Publication> publications;
  for (const Tree& tree : spec.trees()) {
    if (tree.declaration.kind != TreeKind::Output || tree.declaration.publish == Publish::InPlace)
      continue;
    const bool file = tree.found.exists() ? tree.found.type == FileType::File
                                          : tree.declaration.type == FileType::File;
    publications.push_back(
        {.path = tree.place,
         .destination = tree.found.real_path,
         .publish = tree.declaration.publish,
         .type = file ? FileType::File : FileType::Directory,
         .exceptions = tree.real_exceptions,
         .made_in = tree.maker_directory ? tree.maker_directory->real_path : ""});
  }
  return publications;
}

}  // namespace

std::string_view to_string(Strength strength) {
  switch (strength) {
    case Strength::Absent: return "absent";
    case Strength::Observed: return "observed";
    case Strength::Enforced: return "enforced";
  }
  return "";
}

std::vector<Clause> clauses_needed_by(const Spec& spec) {
  std::vector<Clause> needed = {
      Clause::InputsReadOnly,  Clause::UndeclaredHidden,    Clause::ExactEnvironment,
      Clause::FixedIdentity,   Clause::FixedHostname,       Clause::OwnProcessTree,
      Clause::OwnIpc,          Clause::OwnSession,          Clause::NoInheritedDescriptors,
      Clause::NoNewPrivileges, Clause::SystemCallsFiltered, Clause::SecondLine,
      Clause::OutputsPrivate,  Clause::NetworkWatched};
  const auto need = [&](bool wanted, Clause clause) {
    if (wanted) needed.push_back(clause);
  };
  using Mode = NetworkPolicy::Mode;
  need(spec.strict_outputs, Clause::OutputsWriteOnly);
  need(has_layers(spec), Clause::LayersUnchanged);
  need(spec.network.mode == Mode::None, Clause::NoNetwork);
  need(spec.network.mode == Mode::Loopback, Clause::LoopbackOnly);
  need(spec.network.mode == Mode::Hosts, Clause::AllowedHostsOnly);
  need(spec.process.kill_on_parent_exit, Clause::KillOnParentExit);
  need(spec.own_uptime, Clause::OwnUptime);
  need(!spec.allow_nested_namespaces, Clause::NoNestedNamespaces);
  need(spec.limits.memory_bytes.has_value(), Clause::MemoryLimit);
  need(spec.limits.cpu_time.has_value(), Clause::CpuTimeLimit);
  need(spec.limits.wall_time.has_value(), Clause::WallTimeLimit);
  need(spec.limits.idle_time.has_value(), Clause::IdleTimeLimit);
  need(spec.limits.processes.has_value(), Clause::ProcessesLimit);
  need(spec.limits.file_size_bytes.has_value(), Clause::FileSizeLimit);
  need(spec.limits.open_files.has_value(), Clause::OpenFilesLimit);
  need(spec.limits.disk_write_bytes.has_value(), Clause::DiskWriteLimit);
  need(spec.limits.disk_read_rate.has_value(), Clause::DiskReadRate);
  need(spec.limits.disk_write_rate.has_value(), Clause::DiskWriteRate);
  need(spec.limits.network_bytes.has_value(), Clause::NetworkBytesLimit);
  need(spec.limits.cpu_weight.has_value(), Clause::CpuWeight);
  need(spec.process.max_children.has_value(), Clause::MaxChildren);
  need(spec.process.cpus.has_value(), Clause::CpuCount);
  need(!spec.process.allow_fork, Clause::NoFork);
  need(!spec.process.allow_exec, Clause::NoExec);
  std::sort(needed.begin(), needed.end());
  return needed;
}

bool Plan::hermetic() const {
  const bool sealed =
      network.mode == NetworkPolicy::Mode::None || network.mode == NetworkPolicy::Mode::Loopback;
  return sealed && std::all_of(clauses.begin(), clauses.end(), [](const PlannedClause& planned) {
           return planned.strength == Strength::Enforced || is_optional(planned.clause);
         });
}

std::string Plan::rule_called(const std::string& rule) const {
  if (rule.empty()) return network_rule;
  const auto found = host_rules.find(rule);
  return found == host_rules.end() ? rule + " of " + network_rule : found->second;
}

Result<Plan> make_plan(const Spec& spec, const Capabilities& capabilities) {
  Plan plan;
  std::vector<PlannedClause> missing;
  for (const Clause clause : clauses_needed_by(spec)) {
    plan.clauses.push_back(plan_clause(spec, capabilities, clause));
    const PlannedClause& planned = plan.clauses.back();
    if (planned.strength != Strength::Enforced && !planned.given_up && !is_optional(clause))
      missing.push_back(planned);
  }
  if (!missing.empty()) return lacking(capabilities, missing);
  TRY(check_on_violation(spec, plan));

  plan.backend = capabilities.backend;
  plan.spec_digest = spec.digest();
  plan.command = spec.command;
  plan.directory = spec.directory;
  plan.view = view_of(spec);
  plan.publications = publications_of(spec);
  plan.environment = spec.variables();
  plan.network = spec.network;
  plan.network_rule = network_rule_of(spec);
  plan.host_rules = host_rules_of(spec);
  plan.unix_sockets = spec.unix_sockets;
  plan.limits = spec.limits;
  plan.process = spec.process;
  plan.identity = spec.identity;
  plan.hostname = spec.hostname;
  plan.on_violation = spec.on_violation;
  plan.strict_outputs = spec.strict_outputs;
  plan.own_uptime = spec.own_uptime;
  plan.allow_nested_namespaces = spec.allow_nested_namespaces;
  return plan;
}

}  // namespace hermetic
