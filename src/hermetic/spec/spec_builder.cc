#include "hermetic/spec/spec_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/base/text.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/clause.h"
#include "hermetic/spec/disjoint.h"
#include "hermetic/spec/environment.h"
#include "hermetic/spec/excepted_objects.h"
#include "hermetic/spec/layers.h"
#include "hermetic/spec/made_outputs.h"
#include "hermetic/spec/own_folders.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/shown_parts.h"

namespace hermetic {
namespace {

constexpr std::size_t kLongestCommand = std::size_t{1} << 20U;  // half of Linux's usual ARG_MAX

Origin origin_of(const Draft& draft, const std::string& key) {
  const auto found = draft.origins.find(key);
  return found == draft.origins.end() ? Origin{} : found->second;
}

Error at(Error error, const Origin& origin) {
  if (error.origin == Origin{}) error.origin = origin;
  return error;
}

Result<std::string> normal_at(std::string_view path, const Origin& origin) {
  Result<std::string> normal = normal_path(path);
  if (!normal) return at(std::move(normal).error(), origin);
  return normal;
}

Result<void> check_command(const Draft& draft) {
  const Origin origin = origin_of(draft, "command");
  if (draft.command.empty() || draft.command.front().empty())
    return invalid("no command",
                   "say what to run: after -- on the command line, or as 'command' in the spec",
                   origin);
  std::size_t size = 0;
  for (const std::string& word : draft.command) {
    size += word.size() + 1;
    if (word.find('\0') != std::string::npos)
      return invalid(fmt::format("argument '{}' contains a NUL byte", printable(word)), "", origin);
  }
  if (size > kLongestCommand)
    return invalid(fmt::format("the command takes {} bytes, more than {}", size, kLongestCommand),
                   "pass long lists in a file", origin);
  return {};
}

Result<void> check_hostname(const std::string& name, const Origin& origin) {
  const bool length = !name.empty() && name.size() <= 63;
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.';
  });
  if (length && characters && name.front() != '-' && name.front() != '.' && name.back() != '-')
    return {};
  return invalid(fmt::format("hostname '{}' is not a host name", printable(name)),
                 "use up to 63 letters, digits, dots and hyphens", origin);
}

Result<void> check_given_up(const Draft& draft) {
  for (const std::string& name : draft.give_up) {
    if (clause_named(name)) continue;
    const std::string_view near = clause_nearest_to(name);
    return invalid(fmt::format("cannot give up '{}': there is no such clause", printable(name)),
                   near.empty() ? "hermetic doctor lists the clauses"
                                : fmt::format("did you mean '{}'?", near),
                   origin_of(draft, "give_up." + name));
  }
  return {};
}

// `path` is what was declared, or what that leads to.
Result<void> check_place(std::string_view path, const Declaration& declaration) {
  const auto what = [&] {
    return path == declaration.path ? fmt::format("'{}'", printable(path))
                                    : fmt::format("'{}', to which '{}' leads,", printable(path),
                                                  printable(declaration.path));
  };
  for (const std::string_view reserved : {kDevices, kProcesses})
    if (is_within(path, reserved))
      return invalid(
          fmt::format("{} cannot be declared: every sandbox has a {} of its own", what(), reserved),
          "leave it out", declaration.origin);
  if (declaration.kind == TreeKind::Input) return {};
  const bool copy = declaration.kind == TreeKind::Temp && !declaration.over.empty();
  if (path == "/" && copy && declaration.at == "/" && declaration.changes.empty()) return {};
  if (path == "/")
    return invalid(fmt::format("{} cannot be written", what()),
                   "name the directories that are written", declaration.origin);
  if (is_within(path, kSystem))
    return invalid(fmt::format("{} cannot be written", what()), "leave it out", declaration.origin);
  return {};
}

// A temp is nothing on the host, so that only its place means something.
Result<void> normalise_place(Declaration& declaration) {
  const bool temp = declaration.kind == TreeKind::Temp;
  if (temp && declaration.path.empty()) declaration.path = declaration.at;
  declaration.path = TRY(normal_at(declaration.path, declaration.origin));
  if (declaration.at.empty()) return {};
  declaration.at = TRY(normal_at(declaration.at, declaration.origin));
  TRY(check_place(declaration.at, declaration));
  if (!temp || declaration.at == declaration.path) return {};
  return invalid(fmt::format("the temp '{}' is to stand at '{}', and nothing of the host is in it",
                             printable(declaration.path), printable(declaration.at)),
                 fmt::format("leave 'path' out, or say over: ['{}']", printable(declaration.path)),
                 declaration.origin);
}

Result<Declaration> normal_declaration(Declaration declaration) {
  TRY(normalise_place(declaration));
  const std::string place = declared_place(declaration);
  std::vector<std::string> exceptions;
  for (const std::string& text : declaration.exceptions) {
    std::string exception = TRY(normal_at(text, declaration.origin));
    if (!is_strictly_within(exception, place))
      return invalid(
          fmt::format("exception '{}' is not inside '{}'", printable(exception), printable(place)),
          declaration.at.empty()
              ? "an exception takes a part away from the tree that it stands with"
              : "exceptions of a tree with 'at' are names inside the sandbox",
          declaration.origin);
    exceptions.push_back(std::move(exception));
  }
  std::sort(exceptions.begin(), exceptions.end(), PathOrder{});
  declaration.exceptions.clear();
  // Parents come first: what is inside another exception says nothing new.
  for (std::string& exception : exceptions)
    if (declaration.exceptions.empty() || !is_within(exception, declaration.exceptions.back()))
      declaration.exceptions.push_back(std::move(exception));
  // What means nothing for a kind is not part of its value.
  if (declaration.kind != TreeKind::Output) declaration.publish = Publish::Replace;
  if (declaration.kind == TreeKind::Input) declaration.type = FileType::Unknown;
  if (declaration.kind == TreeKind::Input) declaration.made_by_command = false;
  if (declaration.kind != TreeKind::Temp) declaration.over.clear();
  if (declaration.kind != TreeKind::Temp) declaration.changes.clear();
  TRY(normalise_layers(declaration));
  TRY(check_place(declaration.path, declaration));
  return declaration;
}

Error missing_input(const Tree& tree) {
  return invalid(fmt::format("input '{}' does not exist", printable(tree.declaration.path)),
                 fmt::format("'{}' is the last part that does; create it or leave the input out",
                             printable(tree.found.existing_path)),
                 tree.declaration.origin);
}

Result<void> check_exceptions_possible(const Tree& tree) {
  const FileType type = tree.found.exists() ? tree.found.type : tree.declaration.type;
  if (type != FileType::File || tree.declaration.exceptions.empty()) return {};
  return invalid(
      fmt::format("exception '{}' cannot exist: '{}' is a file",
                  printable(tree.declaration.exceptions.front()), printable(tree.declaration.path)),
      "leave it out", tree.declaration.origin);
}

// One with `at`: no name of the host has to do with it.
Result<Tree> placed_temp(Tree tree) {
  tree.found.real_path = tree.place;
  tree.found.existing_path = "/";
  if (tree.found.exists()) tree.found.type = FileType::Directory;
  TRY(check_exceptions_possible(tree));
  tree.holes = tree.real_exceptions = tree.declaration.exceptions;
  for (const std::string& hole : tree.holes)
    tree.exceptions.push_back({.real_path = hole, .existing_path = "/"});
  return tree;
}

Result<Tree> look_up_tree(Declaration declaration, const Lookup& lookup) {
  Tree tree;
  tree.declaration = std::move(declaration);
  const Origin& origin = tree.declaration.origin;
  tree.place = tree.declaration.at;
  if (tree.declaration.kind == TreeKind::Temp && !tree.place.empty()) return placed_temp(tree);
  Result<Found> found = lookup(tree.declaration.path);
  if (!found) return at(std::move(found).error(), origin);
  tree.found = std::move(*found);
  if (tree.place.empty()) tree.place = tree.found.real_path;
  TRY(check_place(tree.found.real_path, tree.declaration));
  for (const Link& link : tree.found.links) TRY(check_place(link.path, tree.declaration));
  if (tree.declaration.kind == TreeKind::Input && !tree.found.exists()) return missing_input(tree);
  if (!tree.found.exists() && tree.found.type == FileType::File)
    return invalid(
        fmt::format("'{}' cannot exist: '{}' is a file", printable(tree.declaration.path),
                    printable(tree.found.existing_path)),
        "", origin);
  if (tree.declaration.publish == Publish::InPlace && !tree.found.exists())
    return invalid(fmt::format("output '{}' is changed in place but does not exist",
                               printable(tree.declaration.path)),
                   "create it first, or declare it without in_place", origin);
  TRY(check_exceptions_possible(tree));
  for (const std::string& exception : tree.declaration.exceptions) {
    const std::string below(relative_to(exception, declared_place(tree.declaration)));
    Result<Found> hole = lookup(join(tree.declaration.path, below));
    if (!hole) return at(std::move(hole).error(), origin);
    // A link as an exception could mean the link or what it leads to; only real paths are
    // unambiguous.
    if (!is_strictly_within(hole->real_path, tree.found.real_path) ||
        relative_to(hole->real_path, tree.found.real_path) != below)
      return invalid(fmt::format("exception '{}' passes through a symbolic link to '{}'",
                                 printable(exception), printable(hole->real_path)),
                     "name the real path in the exception", origin);
    if (tree.declaration.publish == Publish::InPlace && !hole->exists())
      return invalid(
          fmt::format("exception '{}' of an output that is changed in place does not exist",
                      printable(exception)),
          "create it first: otherwise the command could", origin);
    tree.holes.push_back(join(tree.place, below));
    tree.real_exceptions.push_back(hole->real_path);
    tree.exceptions.push_back(std::move(*hole));
  }
  return tree;
}

}  // namespace

SpecBuilder& SpecBuilder::command(std::vector<std::string> command) {
  draft_.command = std::move(command);
  return *this;
}
SpecBuilder& SpecBuilder::directory(std::string path) {
  draft_.directory = std::move(path);
  return *this;
}
SpecBuilder& SpecBuilder::input(std::string path, std::vector<std::string> exceptions) {
  return declare(
      {.kind = TreeKind::Input, .path = std::move(path), .exceptions = std::move(exceptions)});
}
SpecBuilder& SpecBuilder::output(std::string path, Publish publish, FileType type) {
  return declare(
      {.kind = TreeKind::Output, .path = std::move(path), .publish = publish, .type = type});
}
SpecBuilder& SpecBuilder::temp(std::string path) {
  return declare({.kind = TreeKind::Temp, .path = std::move(path)});
}
SpecBuilder& SpecBuilder::temp_over(std::string path, std::vector<std::string> over,
                                    std::string changes) {
  return declare({.kind = TreeKind::Temp,
                  .path = std::move(path),
                  .over = std::move(over),
                  .changes = std::move(changes)});
}
SpecBuilder& SpecBuilder::declare(Declaration declaration) {
  draft_.declarations.push_back(std::move(declaration));
  return *this;
}
SpecBuilder& SpecBuilder::network(NetworkPolicy policy) {
  draft_.network = std::move(policy);
  return *this;
}
SpecBuilder& SpecBuilder::env(std::string name, std::string value) {
  draft_.environment.pass.erase(name);
  draft_.environment.set[std::move(name)] = std::move(value);
  return *this;
}
SpecBuilder& SpecBuilder::pass_env(std::string name) {
  draft_.environment.set.erase(name);
  draft_.environment.pass.insert(std::move(name));
  return *this;
}
SpecBuilder& SpecBuilder::limits(ResourceLimits limits) {
  draft_.limits = limits;
  return *this;
}
SpecBuilder& SpecBuilder::process(ProcessPolicy policy) {
  draft_.process = {.max_children = policy.max_children,
                    .cpus = policy.cpus,
                    .nice = policy.nice,
                    .kill_on_parent_exit = policy.kill_on_parent_exit,
                    .allow_fork = policy.allow_fork,
                    .allow_exec = policy.allow_exec};
  return *this;
}
SpecBuilder& SpecBuilder::identity(Identity identity) {
  draft_.identity = identity;
  return *this;
}
SpecBuilder& SpecBuilder::hostname(std::string name) {
  draft_.hostname = std::move(name);
  return *this;
}
SpecBuilder& SpecBuilder::on_violation(OnViolation policy) {
  draft_.on_violation = policy;
  return *this;
}
SpecBuilder& SpecBuilder::give_up(std::string clause) {
  draft_.give_up.insert(std::move(clause));
  return *this;
}
SpecBuilder& SpecBuilder::strict_outputs(bool strict) {
  draft_.strict_outputs = strict;
  return *this;
}
SpecBuilder& SpecBuilder::own_uptime(bool own) {
  draft_.own_uptime = own;
  return *this;
}
SpecBuilder& SpecBuilder::unix_socket(std::string path) {
  draft_.unix_sockets.insert(std::move(path));
  return *this;
}
SpecBuilder& SpecBuilder::allow_nested_namespaces(bool allow) {
  draft_.allow_nested_namespaces = allow;
  return *this;
}
SpecBuilder& SpecBuilder::allow_unsandboxed(bool allow) {
  draft_.allow_unsandboxed = allow;
  return *this;
}
SpecBuilder& SpecBuilder::overlay(const Draft& stronger) {
  draft_ = hermetic::overlay(std::move(draft_), stronger);
  return *this;
}
SpecBuilder& SpecBuilder::caller_environment(std::map<std::string, std::string> environment) {
  caller_environment_ = std::move(environment);
  return *this;
}
SpecBuilder& SpecBuilder::lookup(Lookup lookup) {
  lookup_ = std::move(lookup);
  return *this;
}

Result<Spec> SpecBuilder::build() const {
  TRY(check_command(draft_));
  TRY(check_given_up(draft_));
  Spec spec;
  spec.command = draft_.command;
  spec.network = draft_.network.value_or(NetworkPolicy::hermetic());
  spec.network_origin = origin_of(draft_, "network");
  for (const HostRule& rule : spec.network.hosts) {
    // A rule of a list that another draft has replaced was written elsewhere.
    const Origin origin = origin_of(draft_, "network." + to_string(rule));
    if (origin.line > 0 && origin.source == spec.network_origin.source)
      spec.host_origins[to_string(rule)] = origin;
  }
  for (const std::string& path : draft_.unix_sockets)
    spec.unix_sockets.insert(TRY(normal_at(path, origin_of(draft_, "unix_sockets"))));
  spec.environment = draft_.environment;
  spec.limits = draft_.limits;
  const ProcessPolicy usual;
  spec.process = {
      .max_children = draft_.process.max_children,
      .cpus = draft_.process.cpus,
      .nice = draft_.process.nice,
      .kill_on_parent_exit = draft_.process.kill_on_parent_exit.value_or(usual.kill_on_parent_exit),
      .allow_fork = draft_.process.allow_fork.value_or(usual.allow_fork),
      .allow_exec = draft_.process.allow_exec.value_or(usual.allow_exec)};
  spec.identity = draft_.identity.value_or(Identity::Builder);
  spec.hostname = draft_.hostname.value_or("hermetic");
  TRY(check_hostname(spec.hostname, origin_of(draft_, "hostname")));
  spec.on_violation = draft_.on_violation.value_or(OnViolation::Report);
  spec.strict_outputs = draft_.strict_outputs.value_or(false);
  spec.own_uptime = draft_.own_uptime.value_or(false);
  spec.allow_nested_namespaces = draft_.allow_nested_namespaces.value_or(false);
  spec.allow_unsandboxed = draft_.allow_unsandboxed.value_or(false);
  spec.give_up = draft_.give_up;

  auto index = std::make_shared<Spec::Index>();
  index->variables = TRY(variables_of(
      spec.environment, spec.identity,
      caller_environment_ ? *caller_environment_ : passed_by_caller(draft_.environment.pass)));
  std::vector<Tree> trees;
  trees.reserve(draft_.declarations.size() + 1);  // and the private /tmp
  for (const Declaration& declaration : draft_.declarations) {
    Tree tree;
    tree.declaration = TRY(normal_declaration(declaration));
    trees.push_back(std::move(tree));
  }
  TRY(check_names_disjoint(trees));
  for (Tree& tree : trees) {
    tree = TRY(look_up_tree(std::move(tree.declaration), lookup_));
    TRY(look_up_layers(tree, lookup_));
    TRY(look_up_maker_directory(tree, lookup_));
  }
  make_room(trees);
  TRY(check_real_paths_disjoint(trees));
  TRY(check_placed_trees(trees));
  TRY(check_layers_disjoint(trees));
  // A lookup that asks no host has no objects to compare.
  const bool has_objects = std::any_of(trees.begin(), trees.end(), [](const Tree& tree) {
    return tree.found.descriptor != nullptr;
  });
  if (has_objects) {
    // First: it looks at names and does not walk trees such as /tmp.
    TRY(check_own_folders(trees));
    TRY(check_objects_disjoint(with_layers(trees)));
    TRY(check_exceptions_hidden(trees));
  }
  TRY(Spec::fill_index(*index, std::move(trees)));
  spec.index_ = std::move(index);

  const Origin origin = origin_of(draft_, "directory");
  spec.directory = TRY(normal_at(draft_.directory.value_or("/"), origin));
  TRY(check_made_outputs(spec, origin));
  const bool exists =
      spec.can_write(spec.directory) || spec.decide(spec.directory, Operation::Execute).allowed;
  if (!exists)
    return invalid(fmt::format("the directory '{}' does not exist inside the sandbox",
                               printable(spec.directory)),
                   "declare it as an input, an output or a temp, or start elsewhere", origin);
  return spec;
}

}  // namespace hermetic
