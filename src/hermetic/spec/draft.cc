#include "hermetic/spec/draft.h"

#include <algorithm>

#include "hermetic/base/path.h"

namespace hermetic {
namespace {

template <class T>
void take(std::optional<T>& base, const std::optional<T>& top) {
  if (top) base = top;
}

// Drafts hold paths as they were written: "/w" and "/w/" are one.
bool is_same_path(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const Result<std::string> left = normal_path(a);
  const Result<std::string> right = normal_path(b);
  return left && right && *left == *right;
}

// Where a tree stands inside, as far as that can be told without looking it up, is what it is.
bool stand_at_the_same_place(const Declaration& a, const Declaration& b) {
  const bool both_root = a.at == "/" && b.at == "/";
  return both_root || (a.kind == b.kind &&
                       is_same_path(a.at.empty() ? a.path : a.at, b.at.empty() ? b.path : b.at));
}

}  // namespace

std::string_view to_string(TreeKind kind) {
  switch (kind) {
    case TreeKind::Input: return "input";
    case TreeKind::Output: return "output";
    case TreeKind::Temp: return "temp";
  }
  return "";
}

std::string_view to_string(Publish publish) {
  switch (publish) {
    case Publish::Replace: return "replace";
    case Publish::Merge: return "merge";
    case Publish::InPlace: return "in_place";
  }
  return "";
}

std::string_view to_string(FileType type) {
  switch (type) {
    case FileType::Unknown: return "unknown";
    case FileType::Directory: return "directory";
    case FileType::File: return "file";
  }
  return "";
}

std::string_view to_string(Identity identity) {
  return identity == Identity::Builder ? "builder" : "root";
}

std::string_view to_string(OnViolation policy) {
  switch (policy) {
    case OnViolation::Report: return "report";
    case OnViolation::Fail: return "fail";
    case OnViolation::Kill: return "kill";
  }
  return "";
}

Draft overlay(Draft base, const Draft& top) {
  if (!top.command.empty()) base.command = top.command;
  take(base.directory, top.directory);
  // Only what the weaker draft said is replaced: a draft that says the same twice is refused later.
  const auto weaker = static_cast<std::ptrdiff_t>(base.declarations.size());
  for (const Declaration& declaration : top.declarations) {
    const auto end = base.declarations.begin() + weaker;
    const auto same = std::find_if(base.declarations.begin(), end, [&](const Declaration& other) {
      return stand_at_the_same_place(other, declaration);
    });
    if (same != end)
      *same = declaration;
    else
      base.declarations.push_back(declaration);
  }
  take(base.network, top.network);
  base.unix_sockets.insert(top.unix_sockets.begin(), top.unix_sockets.end());
  for (const auto& [name, value] : top.environment.set) {
    base.environment.set[name] = value;
    base.environment.pass.erase(name);
  }
  for (const std::string& name : top.environment.pass) {
    base.environment.pass.insert(name);
    base.environment.set.erase(name);
  }
  take(base.limits.memory_bytes, top.limits.memory_bytes);
  take(base.limits.cpu_time, top.limits.cpu_time);
  take(base.limits.wall_time, top.limits.wall_time);
  take(base.limits.idle_time, top.limits.idle_time);
  take(base.limits.processes, top.limits.processes);
  take(base.limits.file_size_bytes, top.limits.file_size_bytes);
  take(base.limits.open_files, top.limits.open_files);
  take(base.limits.disk_write_bytes, top.limits.disk_write_bytes);
  take(base.limits.disk_read_rate, top.limits.disk_read_rate);
  take(base.limits.disk_write_rate, top.limits.disk_write_rate);
  take(base.limits.network_bytes, top.limits.network_bytes);
  take(base.limits.cpu_weight, top.limits.cpu_weight);
  take(base.process.max_children, top.process.max_children);
  take(base.process.cpus, top.process.cpus);
  take(base.process.nice, top.process.nice);
  take(base.process.kill_on_parent_exit, top.process.kill_on_parent_exit);
  take(base.process.allow_fork, top.process.allow_fork);
  take(base.process.allow_exec, top.process.allow_exec);
  take(base.identity, top.identity);
  take(base.hostname, top.hostname);
  take(base.on_violation, top.on_violation);
  take(base.strict_outputs, top.strict_outputs);
  take(base.allow_nested_namespaces, top.allow_nested_namespaces);
  take(base.own_uptime, top.own_uptime);
  take(base.allow_unsandboxed, top.allow_unsandboxed);
  base.give_up.insert(top.give_up.begin(), top.give_up.end());
  for (const auto& [key, origin] : top.origins) base.origins[key] = origin;
  return base;
}

}  // namespace hermetic
