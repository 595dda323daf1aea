#include "hermetic/plan/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hermetic/base/text.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/quantity.h"

namespace hermetic {
namespace {

// Colours carry no meaning of their own: every word is there without them.
class Paint {
 public:
  explicit Paint(Color color) : on_(color == Color::Always) {}

  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string of(Strength strength, std::string_view text) const {
    switch (strength) {
      case Strength::Enforced: return wrap("32", text);
      case Strength::Observed: return wrap("33", text);
      case Strength::Absent: return wrap("31", text);
    }
    return std::string(text);
  }
  [[nodiscard]] std::string of(ViewEntry::Kind kind, std::string_view text) const {
    using Kind = ViewEntry::Kind;
    switch (kind) {
      case Kind::Input: return wrap("36", text);
      case Kind::Output: return wrap("32", text);
      case Kind::OutputInPlace: return wrap("33", text);
      case Kind::Temp: return wrap("34", text);
      case Kind::Hidden: return wrap("31", text);
      default: return dim(text);
    }
  }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const {
    return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool on_;
};

std::string_view word_for(const ViewEntry& entry) {
  using Kind = ViewEntry::Kind;
  switch (entry.kind) {
    case Kind::Directory: return "";
    case Kind::Input: return "input, read only";
    case Kind::Output: return "output, starts empty";
    case Kind::OutputInPlace: return "output, changed in place";
    case Kind::Temp:
      if (entry.changes) return "temp, starts as a copy, changes are kept";
      return entry.over.empty() ? "temp, thrown away" : "temp, starts as a copy, thrown away";
    case Kind::Hidden: return "hidden";
    case Kind::Listing: return "";
    case Kind::Link: return "";
    case Kind::File: return "written by hermetic";
    case Kind::Devices: return "null zero full random urandom tty pts shm";
    case Kind::Processes: return "own processes only";
  }
  return "";
}

// The view as a tree of names, so that branches can be drawn.
struct Branch {
  const ViewEntry* entry = nullptr;
  bool made = false;  // by the command
  std::map<std::string, Branch> children;
};

// Where on the host that is, unless it has the same name there.
std::string host_of(const ViewEntry& entry, const Plan& plan) {
  using Kind = ViewEntry::Kind;
  if (entry.kind == Kind::Input || entry.kind == Kind::OutputInPlace || entry.kind == Kind::Listing)
    return entry.source.empty() || entry.source == entry.path
               ? ""
               : fmt::format("on the host {}", printable(entry.source));
  if (entry.kind == Kind::Temp && entry.path == "/" && !entry.over.empty())
    return fmt::format("of {}", printable(entry.over.front().source));
  if (entry.kind != Kind::Output) return "";
  const auto publication = std::ranges::find(plan.publications, entry.path, &Publication::path);
  if (publication == plan.publications.end() || publication->destination == entry.path) return "";
  return fmt::format("published as {}", printable(publication->destination));
}

std::string remark_on(const ViewEntry& entry, const Plan& plan) {
  std::string text(word_for(entry));
  const std::string host = host_of(entry, plan);
  if (host.empty()) return text;
  return text.empty() ? host : text + ", " + host;
}

void draw(const Branch& branch, const std::string& indent, const Plan& plan, const Paint& paint,
          std::string& text) {
  std::size_t left = branch.children.size();
  for (const auto& [name, child] : branch.children) {
    const bool last = --left == 0;
    std::string label = printable(name);
    const ViewEntry* entry = child.entry;
    if (entry != nullptr && entry->type == FileType::Directory) label += '/';
    if (entry == nullptr && !child.made) label += '/';
    text += paint.dim(indent + (last ? "└── " : "├── "));
    text += entry != nullptr ? paint.of(entry->kind, label) : label;
    if (entry != nullptr && entry->kind == ViewEntry::Kind::Link)
      text += paint.dim(" -> ") + printable(entry->text);
    const std::string remark = entry == nullptr ? "" : remark_on(*entry, plan);
    if (!remark.empty()) text += "  " + paint.dim(remark);
    if (child.made) text += "  " + paint.dim("output, made by the command");
    text += '\n';
    draw(child, indent + (last ? "    " : "│   "), plan, paint, text);
  }
}

std::string draw_view(const Plan& plan, const Paint& paint) {
  Branch root;
  for (const ViewEntry& entry : plan.view) {
    Branch* branch = &root;
    for (Components component(entry.path); component.next();)
      branch = &branch->children[std::string(component.name())];
    branch->entry = &entry;
  }
  for (const Publication& publication : plan.publications) {
    if (publication.made_in.empty()) continue;
    Branch* branch = &root;
    for (Components component(publication.path); component.next();)
      branch = &branch->children[std::string(component.name())];
    branch->made = true;
  }
  std::string text =
      root.entry != nullptr ? "/  " + paint.dim(remark_on(*root.entry, plan)) + "\n" : "/\n";
  draw(root, "", plan, paint, text);
  return text;
}

std::string describe_network(const NetworkPolicy& network) {
  if (network.mode != NetworkPolicy::Mode::Hosts) return std::string(to_string(network.mode));
  std::string text = "only";
  for (const HostRule& rule : network.hosts) text += " " + printable(to_string(rule));
  return text;
}

std::string describe_limits(const Plan& plan) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  const ResourceLimits& limits = plan.limits;
  if (limits.memory_bytes) add("memory", format_size(*limits.memory_bytes));
  if (limits.cpu_time) add("cpu_time", format_duration(*limits.cpu_time));
  if (limits.wall_time) add("wall_time", format_duration(*limits.wall_time));
  if (limits.idle_time) add("idle_time", format_duration(*limits.idle_time));
  if (limits.processes) add("processes", std::to_string(*limits.processes));
  if (limits.file_size_bytes) add("file_size", format_size(*limits.file_size_bytes));
  if (limits.open_files) add("open_files", std::to_string(*limits.open_files));
  if (limits.disk_write_bytes) add("disk_write", format_size(*limits.disk_write_bytes));
  if (limits.disk_read_rate) add("disk_read_rate", format_size(*limits.disk_read_rate));
  if (limits.disk_write_rate) add("disk_write_rate", format_size(*limits.disk_write_rate));
  if (limits.network_bytes) add("network_bytes", format_size(*limits.network_bytes));
  if (limits.cpu_weight) add("cpu_weight", std::to_string(*limits.cpu_weight));
  if (plan.process.max_children) add("max_children", std::to_string(*plan.process.max_children));
  if (plan.process.cpus) add("cpus", std::to_string(*plan.process.cpus));
  if (plan.process.nice) add("nice", std::to_string(*plan.process.nice));
  if (!plan.process.allow_fork) add("fork", "denied");
  if (!plan.process.allow_exec) add("exec", "denied");
  return text.empty() ? "none" : text;
}

// As a shell would read it, but for what cannot be printed.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char byte : printable(word))
    text += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
  return text + "'";
}

std::string words_of(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    const bool plain =
        !word.empty() &&
        word.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:+,@%") ==
            std::string::npos;
    text += text.empty() ? "" : " ";
    text += plain ? word : quoted(word);
  }
  return text;
}

}  // namespace

std::string print_plan(const Plan& plan, Color color) {
  const Paint paint(color);
  std::string text;
  const auto field = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{} {}\n", paint.bold(fmt::format("{:<12}", name)), value);
  };
  field("command", words_of(plan.command));
  field("directory", printable(plan.directory));
  field("backend", printable(plan.backend));
  field("identity", fmt::format("{} on {}", to_string(plan.identity), printable(plan.hostname)));
  field("network", describe_network(plan.network));
  field("limits", describe_limits(plan));
  field("spec", "sha256:" + printable(plan.spec_digest));
  text += "\n" + paint.bold("files") + "\n" + draw_view(plan, paint);
  text += "\n" + paint.bold("environment") + "\n";
  for (const auto& [name, value] : plan.environment)
    text += fmt::format("  {}={}\n", printable(name), printable(value));
  text += "\n" + paint.bold("clauses") + "\n";
  for (const PlannedClause& planned : plan.clauses) {
    text +=
        fmt::format("  {} {:<26}",
                    paint.of(planned.strength, fmt::format("{:<9}", to_string(planned.strength))),
                    to_string(planned.clause));
    const bool enforced = planned.strength == Strength::Enforced;
    text += paint.dim(printable(enforced ? planned.mechanism : planned.reason));
    if (planned.given_up && !enforced) text += " (given up)";
    text += '\n';
  }
  text += fmt::format(
      "\n{}\n",
      plan.hermetic()
          ? paint.of(Strength::Enforced, "hermetic: every clause that is needed is enforced")
          : paint.of(Strength::Observed, "not hermetic: see the clauses and the network above"));
  return text;
}

std::string explain(const Spec& spec, std::string_view path, Operation operation) {
  const Decision decision = spec.decide(path, operation);
  std::string text =
      fmt::format("{} {} be {}", printable(path), decision.allowed ? "may" : "may not",
                  operation == Operation::Read    ? "read"
                  : operation == Operation::Write ? "written"
                                                  : "executed");
  if (decision.path != path) text += fmt::format(" (it leads to {})", printable(decision.path));
  const auto declared = [&] {
    const Declaration& declaration = decision.tree->declaration;
    std::string where = to_string(declaration.origin);
    if (decision.tree->built_in) where = "built in";
    std::string named =
        fmt::format("{} '{}'", to_string(declaration.kind), printable(declaration.path));
    const bool elsewhere = !declaration.at.empty() && declaration.kind != TreeKind::Temp;
    if (elsewhere) named += fmt::format(" at '{}'", printable(declaration.at));
    if (!where.empty()) named += fmt::format(" ({})", where);
    if (elsewhere)
      named +=
          fmt::format(", on the host '{}'", printable(host_name(*decision.tree, decision.path)));
    return named;
  };
  switch (decision.because) {
    case Decision::Because::Declared: return text + ": " + declared();
    case Decision::Because::BuiltIn: return text + ": every sandbox has its own";
    case Decision::Because::OnTheWay:
      text += ": it only leads to declared paths";
      if (operation == Operation::Read && !decision.allowed)
        text += ", and strict outputs keep it from being listed";
      return text;
    case Decision::Because::Excepted: return text + ": an exception of " + declared();
    case Decision::Because::Undeclared: return text + ": no declaration covers it";
  }
  return text;
}

}  // namespace hermetic
