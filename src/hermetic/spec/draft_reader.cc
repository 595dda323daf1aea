#include "hermetic/spec/draft_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/base/text.h"
#include "hermetic/spec/declaration_reader.h"
#include "hermetic/spec/environment.h"

namespace hermetic {
namespace {

constexpr std::size_t kLongestVariableName = 255;
constexpr std::size_t kLongestHostname = 63;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Labels of letters, digits and inner hyphens, joined by dots (RFC 1123).
bool is_hostname(std::string_view name) {
  if (name.empty() || name.size() > kLongestHostname) return false;
  char previous = '.';
  for (const char c : name) {
    const bool boundary = previous == '.' || previous == '-';
    if (c == '.' ? boundary : c == '-' ? previous == '.' : !is_letter(c) && !is_digit(c))
      return false;
    previous = c;
  }
  return previous != '.' && previous != '-';
}

// "memory-limit"
bool is_clause_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '-' || name.back() == '-') return false;
  return name.find("--") == std::string_view::npos && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-';
         });
}

struct SizeLimit {
  std::string_view key;
  std::optional<std::uint64_t> ResourceLimits::*member;
};
struct TimeLimit {
  std::string_view key;
  std::optional<std::chrono::milliseconds> ResourceLimits::*member;
};
struct CountLimit {
  std::string_view key;
  std::optional<std::uint64_t> ResourceLimits::*member;
  std::uint64_t most;
};
constexpr std::array<SizeLimit, 6> kSizeLimits = {
    {{"memory", &ResourceLimits::memory_bytes},
     {"file_size", &ResourceLimits::file_size_bytes},
     {"disk_write", &ResourceLimits::disk_write_bytes},
     {"disk_read_rate", &ResourceLimits::disk_read_rate},
     {"disk_write_rate", &ResourceLimits::disk_write_rate},
     {"network_bytes", &ResourceLimits::network_bytes}}};
constexpr std::array<TimeLimit, 3> kTimeLimits = {{{"cpu_time", &ResourceLimits::cpu_time},
                                                   {"wall_time", &ResourceLimits::wall_time},
                                                   {"idle_time", &ResourceLimits::idle_time}}};
constexpr std::array<CountLimit, 3> kCountLimits = {
    {{"processes", &ResourceLimits::processes, kMostProcesses},
     {"open_files", &ResourceLimits::open_files, 1'048'576},  // Linux's default for fs.nr_open
     {"cpu_weight", &ResourceLimits::cpu_weight, 10'000}}};
constexpr std::array<std::string_view, 12> kLimitKeys = {
    "memory",     "cpu_time",   "wall_time",      "idle_time",       "processes",     "file_size",
    "open_files", "disk_write", "disk_read_rate", "disk_write_rate", "network_bytes", "cpu_weight"};
struct CountOfProcess {
  std::string_view key;
  std::optional<std::uint64_t> ProcessDraft::*member;
  std::uint64_t least;
  std::uint64_t most;
};
constexpr std::array<CountOfProcess, 3> kProcessCounts = {
    {{"max_children", &ProcessDraft::max_children, 0, kMostProcesses},
     {"cpus", &ProcessDraft::cpus, 1, 1024},
     {"nice", &ProcessDraft::nice, 1, 19}}};

class DraftReader {
 public:
  explicit DraftReader(const NodeReader& reader) : reader_(reader) {}

  struct Field {
    std::string_view key;
    Result<void> (DraftReader::*read)(const YamlNode& node);
  };
  static const std::array<Field, 19> kFields;

  Result<void> read(const YamlEntry& entry, const Field& field) {
    return (this->*field.read)(entry.value);
  }
  Draft take() { return std::move(draft_); }

 private:
  Result<void> command(const YamlNode& node);
  Result<void> directory(const YamlNode& node);
  Result<void> root(const YamlNode& node) {
    draft_.declarations.push_back(TRY(read_root(node, reader_)));
    return {};
  }
  Result<void> inputs(const YamlNode& node) {
    return declarations(node, TreeKind::Input, "inputs");
  }
  Result<void> outputs(const YamlNode& node) {
    return declarations(node, TreeKind::Output, "outputs");
  }
  Result<void> temps(const YamlNode& node) { return declarations(node, TreeKind::Temp, "temps"); }
  Result<void> network(const YamlNode& node);
  Result<void> unix_sockets(const YamlNode& node);
  Result<void> environment(const YamlNode& node);
  Result<void> limits(const YamlNode& node);
  Result<void> process(const YamlNode& node);
  Result<void> identity(const YamlNode& node);
  Result<void> hostname(const YamlNode& node);
  Result<void> on_violation(const YamlNode& node);
  Result<void> strict_outputs(const YamlNode& node) {
    return boolean(node, "strict_outputs", draft_.strict_outputs);
  }
  Result<void> allow_nested_namespaces(const YamlNode& node) {
    return boolean(node, "allow_nested_namespaces", draft_.allow_nested_namespaces);
  }
  Result<void> own_uptime(const YamlNode& node) {
    return boolean(node, "own_uptime", draft_.own_uptime);
  }
  Result<void> allow_unsandboxed(const YamlNode& node) {
    return boolean(node, "allow_unsandboxed", draft_.allow_unsandboxed);
  }
  Result<void> give_up(const YamlNode& node);

  Result<void> declarations(const YamlNode& node, TreeKind kind, std::string_view key);
  Result<void> set_variables(const YamlNode& node);
  Result<void> pass_variables(const YamlNode& node);
  Result<void> variable(const std::string& name, Place place);
  Result<void> limit(const YamlEntry& entry);
  Result<void> boolean(const YamlNode& node, const std::string& key, std::optional<bool>& value);

  void note(const std::string& key, Place place) { draft_.origins[key] = reader_.origin(place); }

  const NodeReader& reader_;
  Draft draft_;
};

const std::array<DraftReader::Field, 19> DraftReader::kFields = {
    {{"command", &DraftReader::command},
     {"directory", &DraftReader::directory},
     {"root", &DraftReader::root},
     {"inputs", &DraftReader::inputs},
     {"outputs", &DraftReader::outputs},
     {"temps", &DraftReader::temps},
     {"network", &DraftReader::network},
     {"unix_sockets", &DraftReader::unix_sockets},
     {"environment", &DraftReader::environment},
     {"limits", &DraftReader::limits},
     {"process", &DraftReader::process},
     {"identity", &DraftReader::identity},
     {"hostname", &DraftReader::hostname},
     {"on_violation", &DraftReader::on_violation},
     {"strict_outputs", &DraftReader::strict_outputs},
     {"allow_nested_namespaces", &DraftReader::allow_nested_namespaces},
     {"own_uptime", &DraftReader::own_uptime},
     {"allow_unsandboxed", &DraftReader::allow_unsandboxed},
     {"give_up", &DraftReader::give_up}}};

Result<void> DraftReader::command(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::Scalar)
    return reader_.refuse(node.place, fmt::format("'command' takes a list, not {}", describe(node)),
                          "write a list such as [cc, -c, main.c], or for a shell line "
                          "[\"/bin/sh\", \"-c\", \"...\"]");
  TRY(reader_.check_list(node, "command"));
  if (node.items.empty())
    return reader_.refuse(node.place, "'command' is empty", "write the program and its arguments");
  for (const YamlNode& item : node.items) {
    std::string argument = TRY(reader_.item(item, "command"));
    // The program is a path; the arguments are the command's own business and stay as they are.
    if (draft_.command.empty()) argument = reader_.with_here(argument);
    draft_.command.push_back(std::move(argument));
  }
  if (draft_.command.front().empty())
    return reader_.refuse(node.items.front().place, "'command' starts with an empty program name",
                          "write the program first, such as cc or /usr/bin/cc");
  note("command", node.place);
  return {};
}

Result<void> DraftReader::directory(const YamlNode& node) {
  draft_.directory = TRY(reader_.path(node, "directory"));
  note("directory", node.place);
  return {};
}

Result<void> DraftReader::declarations(const YamlNode& node, TreeKind kind, std::string_view key) {
  std::vector<Declaration> more = TRY(read_declarations(node, kind, key, reader_));
  std::ranges::move(more, std::back_inserter(draft_.declarations));
  return {};
}

Result<void> DraftReader::network(const YamlNode& node) {
  note("network", node.place);
  if (node.kind == YamlNode::Kind::Scalar) {
    static constexpr std::array<NodeReader::Choice<NetworkPolicy::Mode>, 3> kModes = {
        {{"none", NetworkPolicy::Mode::None},
         {"loopback", NetworkPolicy::Mode::Loopback},
         {"host", NetworkPolicy::Mode::Host}}};
    Result<NetworkPolicy::Mode> mode = reader_.choice<NetworkPolicy::Mode>(node, "network", kModes);
    if (!mode) {
      Error error = std::move(mode).error();
      error.hint = "write none, loopback or host, or a list of hosts such as [example.org:443]";
      return error;
    }
    draft_.network = NetworkPolicy{.mode = *mode, .hosts = {}};
    return {};
  }
  TRY(reader_.check_list(node, "network"));
  if (node.items.empty())
    return reader_.refuse(node.place, "'network' is an empty list", "write none for no network");
  std::vector<std::string> rules;
  Unique unique(reader_);
  for (const YamlNode& item : node.items) {
    const std::string written = TRY(reader_.item(item, "network"));
    if (written == "loopback") {
      rules.push_back(written);
      continue;
    }
    Result<HostRule> rule = parse_host_rule(written);
    if (!rule) return reader_.refuse(item.place, "network", std::move(rule).error());
    TRY(unique.add(to_string(*rule), item.place, "network"));
    note("network." + to_string(*rule), item.place);
    rules.push_back(written);
  }
  draft_.network = TRY(NetworkPolicy::allow_hosts(rules));
  return {};
}

Result<void> DraftReader::unix_sockets(const YamlNode& node) {
  TRY(reader_.check_list(node, "unix_sockets"));
  Unique unique(reader_);
  for (const YamlNode& item : node.items) {
    std::string path = TRY(reader_.path(item, "unix_sockets"));
    TRY(unique.add(path, item.place, "unix_sockets"));
    draft_.unix_sockets.insert(std::move(path));
  }
  note("unix_sockets", node.place);
  return {};
}

Result<void> DraftReader::environment(const YamlNode& node) {
  static constexpr std::array<std::string_view, 2> kKnown = {"set", "pass"};
  Result<void> keys = reader_.check_keys(node, "environment", kKnown);
  if (!keys) {
    Error error = std::move(keys).error();
    if (node.kind == YamlNode::Kind::Mapping)
      error.hint = "variables stand below 'set' (NAME: value) or in the list 'pass'";
    return error;
  }
  for (const YamlEntry& entry : node.entries)
    TRY(entry.key == "set" ? set_variables(entry.value) : pass_variables(entry.value));
  return {};
}

// A variable that is both set and passed has no single value.
Result<void> DraftReader::variable(const std::string& name, Place place) {
  if (!is_variable_name(name) || name.size() > kLongestVariableName)
    return reader_.refuse(place, fmt::format("bad variable name '{}'", shown(name)),
                          "use letters, digits and '_', not starting with a digit");
  const std::string key = "environment." + name;
  if (const auto first = draft_.origins.find(key); first != draft_.origins.end())
    return reader_.refuse(place,
                          fmt::format("variable '{}' is named twice, first at line {}, column {}",
                                      shown(name), first->second.line, first->second.column),
                          "either set it or pass it, once");
  note(key, place);
  return {};
}

Result<void> DraftReader::set_variables(const YamlNode& node) {
  TRY(reader_.check_mapping(node, "environment.set"));
  for (const YamlEntry& entry : node.entries) {
    TRY(variable(entry.key, entry.place));
    std::string value = TRY(reader_.text(entry.value, "environment.set." + entry.key));
    draft_.environment.set[entry.key] = std::move(value);
  }
  return {};
}

Result<void> DraftReader::pass_variables(const YamlNode& node) {
  TRY(reader_.check_list(node, "environment.pass"));
  for (const YamlNode& item : node.items) {
    const std::string name = TRY(reader_.item(item, "environment.pass"));
    TRY(variable(name, item.place));
    draft_.environment.pass.insert(name);
  }
  return {};
}

Result<void> DraftReader::limit(const YamlEntry& entry) {
  const std::string key = "limits." + entry.key;
  note(key, entry.value.place);
  for (const SizeLimit& size : kSizeLimits)
    if (entry.key == size.key) draft_.limits.*size.member = TRY(reader_.size(entry.value, key));
  for (const TimeLimit& time : kTimeLimits)
    if (entry.key == time.key) draft_.limits.*time.member = TRY(reader_.duration(entry.value, key));
  for (const CountLimit& count : kCountLimits)
    if (entry.key == count.key)
      draft_.limits.*count.member = TRY(reader_.count(entry.value, key, 1, count.most));
  return {};
}

Result<void> DraftReader::limits(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::Scalar) {
    if (node.text != "hermetic")
      return reader_.refuse(node.place, fmt::format("'limits' cannot be {}", describe(node)),
                            "write hermetic for the preset, or a mapping such as {memory: 4G}");
    draft_.limits = ResourceLimits::hermetic();
    for (const char* key : {"limits.memory", "limits.cpu_time", "limits.processes"})
      note(key, node.place);
    return {};
  }
  TRY(reader_.check_keys(node, "limits", kLimitKeys));
  for (const YamlEntry& entry : node.entries) TRY(limit(entry));
  return {};
}

Result<void> DraftReader::process(const YamlNode& node) {
  static constexpr std::array<std::string_view, 6> kKnown = {
      "max_children", "cpus", "nice", "kill_on_parent_exit", "allow_fork", "allow_exec"};
  TRY(reader_.check_keys(node, "process", kKnown));
  for (const YamlEntry& entry : node.entries) {
    const std::string key = "process." + entry.key;
    const auto* const count =
        std::find_if(kProcessCounts.begin(), kProcessCounts.end(),
                     [&](const CountOfProcess& known) { return known.key == entry.key; });
    if (count != kProcessCounts.end()) {
      draft_.process.*(count->member) =
          TRY(reader_.count(entry.value, key, count->least, count->most));
      note(key, entry.value.place);
    } else {
      TRY(boolean(entry.value, key,
                  entry.key == "allow_fork"   ? draft_.process.allow_fork
                  : entry.key == "allow_exec" ? draft_.process.allow_exec
                                              : draft_.process.kill_on_parent_exit));
    }
  }
  return {};
}

Result<void> DraftReader::identity(const YamlNode& node) {
  static constexpr std::array<NodeReader::Choice<Identity>, 2> kChoices = {
      {{"builder", Identity::Builder}, {"root", Identity::Root}}};
  draft_.identity = TRY(reader_.choice<Identity>(node, "identity", kChoices));
  note("identity", node.place);
  return {};
}

Result<void> DraftReader::hostname(const YamlNode& node) {
  std::string name = TRY(reader_.text(node, "hostname"));
  if (!is_hostname(name))
    return reader_.refuse(node.place, fmt::format("bad hostname '{}'", shown(name)),
                          "use letters, digits and inner '-', at most 63 characters");
  draft_.hostname = std::move(name);
  note("hostname", node.place);
  return {};
}

Result<void> DraftReader::on_violation(const YamlNode& node) {
  static constexpr std::array<NodeReader::Choice<OnViolation>, 3> kChoices = {
      {{"report", OnViolation::Report}, {"fail", OnViolation::Fail}, {"kill", OnViolation::Kill}}};
  draft_.on_violation = TRY(reader_.choice<OnViolation>(node, "on_violation", kChoices));
  note("on_violation", node.place);
  return {};
}

Result<void> DraftReader::boolean(const YamlNode& node, const std::string& key,
                                  std::optional<bool>& value) {
  value = TRY(reader_.boolean(node, key));
  note(key, node.place);
  return {};
}

Result<void> DraftReader::give_up(const YamlNode& node) {
  TRY(reader_.check_list(node, "give_up"));
  note("give_up", node.place);
  Unique unique(reader_);
  for (const YamlNode& item : node.items) {
    std::string name = TRY(reader_.item(item, "give_up"));
    if (!is_clause_name(name))
      return reader_.refuse(item.place, fmt::format("bad clause name '{}'", shown(name)),
                            "write the name as the plan prints it, such as memory-limit");
    TRY(unique.add(name, item.place, "give_up"));
    note("give_up." + name, item.place);
    draft_.give_up.insert(std::move(name));
  }
  return {};
}

}  // namespace

bool is_draft_key(std::string_view key) {
  return std::ranges::find(DraftReader::kFields, key, &DraftReader::Field::key) !=
         DraftReader::kFields.end();
}

Result<Draft> read_draft(const YamlNode& mapping, std::string_view where, const NodeReader& reader,
                         std::span<const std::string_view> others) {
  if (mapping.kind != YamlNode::Kind::Mapping)
    return reader.refuse(mapping.place,
                         fmt::format("{} takes a mapping, not {}", where, describe(mapping)),
                         "write one 'key: value' per line, indented, or {} for nothing");
  std::vector<std::string_view> known;
  for (const DraftReader::Field& field : DraftReader::kFields) known.push_back(field.key);
  known.insert(known.end(), others.begin(), others.end());
  DraftReader draft(reader);
  for (const YamlEntry& entry : mapping.entries) {
    const auto* const field =
        std::ranges::find(DraftReader::kFields, entry.key, &DraftReader::Field::key);
    if (field != DraftReader::kFields.end())
      TRY(draft.read(entry, *field));
    else if (std::ranges::find(others, entry.key) == others.end())
      return reader.unknown_key(entry, where, known);
  }
  return draft.take();
}

}  // namespace hermetic
