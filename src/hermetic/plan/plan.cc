#include "hermetic/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

// A clause that only strengthens others: good to have, never the reason to refuse.
bool is_optional(Clause clause) { return clause == Clause::SecondLine; }

std::string in_place_outputs(const Spec& spec) {
  std::string list;
  for (const Tree& tree : spec.trees())
    if (tree.declaration.publish == Publish::InPlace)
      list += (list.empty() ? "" : ", ") + printable(tree.declaration.path);
  return list;
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
  planned.given_up = spec.give_up.count(std::string(to_string(clause))) != 0;
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
  std::string hint;
  std::string options;
  for (const PlannedClause& planned : missing) {
    message +=
        fmt::format("\n  {} is {}: {}", to_string(planned.clause), to_string(planned.strength),
                    planned.reason.empty() ? promise_of(planned.clause) : planned.reason);
    const auto found = capabilities.clauses.find(planned.clause);
    if (found != capabilities.clauses.end() && !found->second.remedy.empty())
      hint += found->second.remedy + "; ";
    options += fmt::format(" --give-up {}", to_string(planned.clause));
  }
  return unsupported(std::move(message), hint + "or do without:" + options);
}

std::vector<Publication> publications_of(const Spec& spec) {
  std::vector<Publication> publications;
  for (const Tree& tree : spec.trees()) {
    if (tree.declaration.kind != TreeKind::Output || tree.declaration.publish == Publish::InPlace)
      continue;
    const bool file = tree.found.exists() ? tree.found.type == FileType::File
                                          : tree.declaration.type == FileType::File;
    publications.push_back({.path = tree.found.real_path,
                            .destination = tree.found.real_path,
                            .publish = tree.declaration.publish,
                            .type = file ? FileType::File : FileType::Directory,
                            .exceptions = tree.real_exceptions});
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
      Clause::OutputsPrivate};
  const auto need = [&](bool wanted, Clause clause) {
    if (wanted) needed.push_back(clause);
  };
  using Mode = NetworkPolicy::Mode;
  need(spec.strict_outputs, Clause::OutputsWriteOnly);
  need(spec.network.mode == Mode::None, Clause::NoNetwork);
  need(spec.network.mode == Mode::Loopback, Clause::LoopbackOnly);
  need(spec.network.mode == Mode::Hosts, Clause::AllowedHostsOnly);
  need(spec.process.kill_on_parent_exit, Clause::KillOnParentExit);
  need(!spec.allow_nested_namespaces, Clause::NoNestedNamespaces);
  need(spec.limits.memory_bytes.has_value(), Clause::MemoryLimit);
  need(spec.limits.cpu_time.has_value(), Clause::CpuTimeLimit);
  need(spec.limits.wall_time.has_value(), Clause::WallTimeLimit);
  need(spec.limits.processes.has_value(), Clause::ProcessesLimit);
  need(spec.limits.file_size_bytes.has_value(), Clause::FileSizeLimit);
  need(spec.limits.open_files.has_value(), Clause::OpenFilesLimit);
  need(spec.limits.disk_write_bytes.has_value(), Clause::DiskWriteLimit);
  need(spec.limits.cpu_weight.has_value(), Clause::CpuWeight);
  need(spec.process.max_children.has_value(), Clause::MaxChildren);
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

  plan.backend = capabilities.backend;
  plan.spec_digest = spec.digest();
  plan.command = spec.command;
  plan.directory = spec.directory;
  plan.view = view_of(spec);
  plan.publications = publications_of(spec);
  plan.environment = spec.variables();
  plan.network = spec.network;
  plan.limits = spec.limits;
  plan.process = spec.process;
  plan.identity = spec.identity;
  plan.hostname = spec.hostname;
  plan.on_violation = spec.on_violation;
  plan.strict_outputs = spec.strict_outputs;
  plan.allow_nested_namespaces = spec.allow_nested_namespaces;
  return plan;
}

}  // namespace hermetic
