// From the text of a policy to its values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include "hermetic/base/digest.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/gate/policy.h"
#include "hermetic/record/evidence_folder.h"
#include "hermetic/spec/draft_reader.h"
#include "hermetic/spec/environment.h"
#include "hermetic/spec/loader.h"
#include "hermetic/spec/node_reader.h"
#include "hermetic/spec/yaml_document.h"

namespace hermetic::gate {
namespace {

using Keys = std::span<const std::string_view>;
constexpr std::array<std::string_view, 5> kPolicyKeys = {"schema_version", "scope",
                                                         "hermetic_steps", "diagnostics", "output"};
constexpr std::array<std::string_view, 7> kPolicyKeys2 = {
    "schema_version", "scope", "hermetic_steps", "diagnostics", "output", "mode", "environment"};
constexpr std::array<std::string_view, 6> kStepKeys = {"id",  "description", "command",
                                                       "env", "allow",       "timeout"};
constexpr std::array<std::string_view, 17> kStepKeys2 = {
    "id",      "description", "command",   "env",         "allow",   "needs",
    "spec",    "target",      "timeout",   "limits",      "process", "inputs",
    "outputs", "temps",       "directory", "environment", "identity"};
// Of those, what a spec file would hold.
constexpr std::array<std::string_view, 7> kDraftKeys = {"limits", "process",   "inputs",  "outputs",
                                                        "temps",  "directory", "identity"};
constexpr std::uint64_t kMostPort = 65535;

bool is_step_id(std::string_view id) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !id.empty() && id.size() <= 64 && plain(id.front()) &&
         std::ranges::all_of(id, [&](char c) { return plain(c) || c == '-' || c == '.'; });
}

bool is_day(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == '-' ? text[i] != '-' : (text[i] < '0' || text[i] > '9')) return false;
  const std::string_view month = text.substr(5, 2);
  const std::string_view day = text.substr(8, 2);
  return month >= "01" && month <= "12" && day >= "01" && day <= "31";
}

class PolicyReader {
 public:
  PolicyReader(const std::string& file_name, std::string here)
      : reader_(file_name, here), here_(std::move(here)) {}

  Result<Policy> read(const YamlNode& root) {
    TRY(read_version(root));
    const bool second = policy_.version == 2;
    TRY(reader_.check_keys(root, "the policy", second ? Keys(kPolicyKeys2) : Keys(kPolicyKeys)));
    if (const YamlEntry* scope = entry_of(root, "scope")) TRY(read_scope(scope->value));
    if (const YamlEntry* mode = entry_of(root, "mode")) TRY(read_mode(mode->value));
    if (const YamlEntry* environment = entry_of(root, "environment"))
      environment_ = TRY(read_environment(environment->value, {}));
    if (const YamlEntry* diagnostics = entry_of(root, "diagnostics"))
      TRY(read_diagnostics(diagnostics->value));
    policy_.out_dir = kUsualOutDir;
    if (const YamlEntry* output = entry_of(root, "output")) TRY(read_output(output->value));
    const YamlEntry* steps = entry_of(root, "hermetic_steps");
    if (steps == nullptr)
      return reader_.refuse(root.place, "the key 'hermetic_steps' is missing",
                            "list the steps: hermetic_steps: [{id: lint, command: make lint}]");
    TRY(read_steps(steps->value));
    return std::move(policy_);
  }

 private:
  Result<void> read_version(const YamlNode& root) {
    if (root.kind != YamlNode::Kind::Mapping)
      return reader_.refuse(root.place,
                            fmt::format("a policy is a mapping, not {}", describe(root)),
                            "start it with schema_version: \"1\"");
    const YamlEntry* version = entry_of(root, "schema_version");
    if (version == nullptr)
      return reader_.refuse(root.place, "the key 'schema_version' is missing",
                            "add schema_version: \"1\"");
    const std::string text = TRY(reader_.text(version->value, "schema_version"));
    if (text != "1" && text != "2")
      return reader_.refuse(version->value.place,
                            fmt::format("unknown schema_version '{}'", shown(text)),
                            "write \"1\" or \"2\"");
    policy_.version = text == "1" ? 1 : 2;
    return {};
  }

  Result<void> read_scope(const YamlNode& node) {
    static constexpr std::array<std::string_view, 1> kKnown = {"default_shell"};
    TRY(reader_.check_keys(node, "scope", kKnown));
    const YamlEntry* shell = entry_of(node, "default_shell");
    if (shell == nullptr) return {};
    const std::string text = TRY(reader_.text(shell->value, "scope.default_shell"));
    shell_.clear();
    std::string word;
    for (const char c : text + " ") {
      if (c != ' ')
        word += c;
      else if (!word.empty())
        shell_.push_back(std::exchange(word, {}));
    }
    if (shell_.empty())
      return reader_.refuse(shell->value.place, "scope.default_shell is empty",
                            "name a shell, such as bash");
    if (shell_.size() == 1) shell_.emplace_back("-c");
    return {};
  }

  Result<void> read_mode(const YamlNode& node) {
    static constexpr std::array<NodeReader::Choice<Policy::Mode>, 2> kChoices = {
        {{"enforce", Policy::Mode::Enforce}, {"audit", Policy::Mode::Audit}}};
    policy_.mode = TRY(reader_.choice<Policy::Mode>(node, "mode", kChoices));
    return {};
  }

  Result<void> read_diagnostics(const YamlNode& node) {
    static constexpr std::array<std::string_view, 3> kKnown = {
        "capture_process_tree", "capture_open_sockets", "max_log_bytes"};
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;
    TRY(reader_.check_keys(node, "diagnostics", kKnown));
    if (const YamlEntry* tree = entry_of(node, kKnown[0]))
      policy_.capture_process_tree = TRY(reader_.boolean(tree->value, "capture_process_tree"));
    if (const YamlEntry* sockets = entry_of(node, kKnown[1]))
      policy_.capture_open_sockets = TRY(reader_.boolean(sockets->value, "capture_open_sockets"));
    if (const YamlEntry* bytes = entry_of(node, kKnown[2]))
      policy_.most_log_bytes = TRY(reader_.count(bytes->value, "max_log_bytes", 1, kMostBytes));
    return {};
  }

  Result<void> read_output(const YamlNode& node) {
    static constexpr std::array<std::string_view, 1> kKnown = {"out_dir"};
    TRY(reader_.check_keys(node, "output", kKnown));
    const YamlEntry* directory = entry_of(node, "out_dir");
    if (directory == nullptr) return {};
    policy_.out_dir = TRY(reader_.text(directory->value, "output.out_dir"));
    std::string rest = policy_.out_dir;
    if (const std::size_t place = rest.find("${sha}"); place != std::string::npos)
      rest.erase(place, 6);
    if (policy_.out_dir.empty() || rest.find("${") != std::string::npos)
      return reader_.refuse(
          directory->value.place,
          fmt::format("output.out_dir '{}' cannot be meant", shown(policy_.out_dir)),
          "write a path; ${sha}, once, stands for the commit");
    return {};
  }

  Result<void> check_name(const std::string& name, Place place) const {
    if (is_variable_name(name)) return {};
    return reader_.refuse(place, fmt::format("bad variable name '{}'", shown(name)),
                          "use letters, digits and '_', not starting with a digit");
  }

  Result<std::set<std::string>> names(const YamlNode& node, std::string_view key) {
    TRY(reader_.check_list(node, key));
    std::set<std::string> found;
    for (const YamlNode& item : node.items) {
      const std::string name = TRY(reader_.item(item, key));
      TRY(check_name(name, item.place));
      found.insert(name);
    }
    return found;
  }

  Result<EnvironmentPolicy> read_environment(const YamlNode& node, EnvironmentPolicy base) {
    static constexpr std::array<std::string_view, 3> kKnown = {"mode", "pass", "deny"};
    using Mode = EnvironmentPolicy::Mode;
    static constexpr std::array<NodeReader::Choice<Mode>, 2> kChoices = {
        {{"deny", Mode::Deny}, {"sanitize", Mode::Sanitize}}};
    TRY(reader_.check_keys(node, "environment", kKnown));
    if (const YamlEntry* mode = entry_of(node, "mode"))
      base.mode = TRY(reader_.choice<Mode>(mode->value, "environment.mode", kChoices));
    if (const YamlEntry* pass = entry_of(node, "pass"))
      base.pass.merge(TRY(names(pass->value, "environment.pass")));
    if (const YamlEntry* deny = entry_of(node, "deny"))
      base.deny.merge(TRY(names(deny->value, "environment.deny")));
    return base;
  }

  Result<void> read_steps(const YamlNode& node) {
    TRY(reader_.check_list(node, "hermetic_steps"));
    if (node.items.empty())
      return reader_.refuse(node.place, "'hermetic_steps' is empty",
                            "a gate without steps would prove nothing: list them");
    Unique ids(reader_);
    for (const YamlNode& item : node.items) {
      policy_.steps.push_back(TRY(read_step(item)));
      TRY(ids.add(policy_.steps.back().id, item.place, "id"));
    }
    return check_needs(node);
  }

  Result<Step> read_step(const YamlNode& node) {
    const bool second = policy_.version == 2;
    TRY(reader_.check_keys(node, "step", second ? Keys(kStepKeys2) : Keys(kStepKeys)));
    Step step{.origin = reader_.origin(node.place)};
    const YamlEntry* id = entry_of(node, "id");
    if (id == nullptr)
      return reader_.refuse(node.place, "a step has no 'id'", "give it one, such as id: lint");
    step.id = TRY(reader_.text(id->value, "id"));
    if (!is_step_id(step.id))
      return reader_.refuse(id->value.place, fmt::format("bad id '{}'", shown(step.id)),
                            "use letters, digits, '_', '-' and '.', starting with none of the last "
                            "two; it names a folder");
    if (const YamlEntry* description = entry_of(node, "description"))
      step.description = TRY(reader_.text(description->value, "description"));
    if (const YamlEntry* variables = entry_of(node, "env"))
      TRY(read_variables(variables->value, step));
    step.environment = environment_;
    if (const YamlEntry* environment = entry_of(node, "environment"))
      step.environment = TRY(read_environment(environment->value, environment_));
    if (const YamlEntry* allow = entry_of(node, "allow"))
      TRY(second ? read_exceptions(allow->value, step) : read_allow(allow->value, step));
    if (second) TRY(read_additions(node, step));
    if (const YamlEntry* timeout = entry_of(node, "timeout"))
      step.draft.limits.wall_time = TRY(reader_.duration(timeout->value, "timeout"));
    TRY(read_command(node, step));
    return step;
  }

  Result<void> read_command(const YamlNode& node, Step& step) {
    const YamlEntry* command = entry_of(node, "command");
    if (command == nullptr) {
      if (!step.spec_file.empty()) return {};  // the spec has one
      return reader_.refuse(node.place, fmt::format("the step '{}' has no 'command'", step.id),
                            "say what to run: command: make lint");
    }
    if (command->value.kind == YamlNode::Kind::Sequence) {
      for (const YamlNode& item : command->value.items)
        step.command.push_back(TRY(reader_.item(item, "command")));
    } else {
      step.command = shell_;
      step.command.push_back(TRY(reader_.text(command->value, "command")));
    }
    if (step.command.empty() || step.command.front().empty() || step.command.back().empty())
      return reader_.refuse(command->value.place, "'command' is empty", "say what to run");
    return {};
  }

  Result<void> read_variables(const YamlNode& node, Step& step) {
    TRY(reader_.check_mapping(node, "env"));
    for (const YamlEntry& entry : node.entries) {
      TRY(check_name(entry.key, entry.place));
      step.variables[entry.key] = TRY(reader_.text(entry.value, "env." + entry.key));
    }
    return {};
  }

  Result<std::uint16_t> port(const YamlNode& node, std::string_view key) const {
    return static_cast<std::uint16_t>(TRY(reader_.count(node, key, 1, kMostPort)));
  }

  // Version 1. An exception that names both hosts and ports means those ports of those hosts; ports
  // alone are those of every host.
  Result<void> read_allow(const YamlNode& node, Step& step) {
    static constexpr std::array<std::string_view, 4> kKnown = {"outbound_hosts", "outbound_ports",
                                                               "listen_ports", "unix_sockets"};
    TRY(reader_.check_keys(node, "allow", kKnown));
    std::vector<std::uint16_t> ports;
    const YamlEntry* outbound = entry_of(node, "outbound_ports");
    if (outbound != nullptr) {
      TRY(reader_.check_list(outbound->value, "outbound_ports"));
      for (const YamlNode& item : outbound->value.items)
        ports.push_back(TRY(port(item, "outbound_ports")));
    }
    const YamlEntry* hosts = entry_of(node, "outbound_hosts");
    if (hosts != nullptr) {
      TRY(reader_.check_list(hosts->value, "outbound_hosts"));
      for (const YamlNode& item : hosts->value.items) TRY(add_host(item, ports, step));
    }
    if (hosts == nullptr || hosts->value.items.empty())
      for (std::size_t i = 0; i < ports.size(); ++i)
        for (HostRule& rule : every_host(ports[i]))
          step.exceptions.push_back({.host = std::move(rule),
                                     .listen_port = {},
                                     .owner = "",
                                     .reason = "",
                                     .expires = "",
                                     .origin = reader_.origin(outbound->value.items[i].place)});
    if (const YamlEntry* listen = entry_of(node, "listen_ports")) {
      TRY(reader_.check_list(listen->value, "listen_ports"));
      for (const YamlNode& item : listen->value.items)
        step.exceptions.push_back({
          .host = {}, .listen_port = TRY(port(item, "listen_ports"))
          , .owner = "", .reason = "", .expires = "", .origin = reader_.origin(item.place)
        });
    }
    if (const YamlEntry* sockets = entry_of(node, "unix_sockets")) {
      TRY(reader_.check_list(sockets->value, "unix_sockets"));
      for (const YamlNode& item : sockets->value.items) {
        GovernedException exception{.origin = reader_.origin(item.place)};
        exception.unix_socket = TRY(socket_path(item, "unix_sockets"));
        step.exceptions.push_back(std::move(exception));
      }
    }
    return {};
  }

  // Whole, or below the workspace, which is known when the gate runs.
  Result<std::string> socket_path(const YamlNode& node, std::string_view key) const {
    const std::string text = TRY(reader_.item(node, key));
    const Result<std::string> normal = normal_path(text.starts_with('/') ? text : "/" + text);
    if (!normal) return reader_.refuse(node.place, key, normal.error());
    return text.starts_with('/') ? *normal : normal->substr(1);
  }

  Result<HostRule> host_rule(const YamlNode& node, const std::string& text,
                             std::string_view key) const {
    Result<HostRule> rule = parse_host_rule(text);
    if (!rule) return reader_.refuse(node.place, key, rule.error());
    return std::move(*rule);
  }

  Result<void> add_host(const YamlNode& item, const std::vector<std::uint16_t>& ports, Step& step) {
    const std::string text = TRY(reader_.item(item, "outbound_hosts"));
    HostRule rule = TRY(host_rule(item, text, "outbound_hosts"));
    const auto add = [&] {
      step.exceptions.push_back({.host = rule,
                                 .listen_port = {},
                                 .owner = "",
                                 .reason = "",
                                 .expires = "",
                                 .origin = reader_.origin(item.place)});
    };
    if (rule.port || ports.empty()) {
      add();
      return {};
    }
    for (const std::uint16_t number : ports) {
      rule.port = number;
      add();
    }
    return {};
  }

  // Version 2: somebody answers for each of them, until a day.
  Result<void> read_exceptions(const YamlNode& node, Step& step) {
    static constexpr std::array<std::string_view, 2> kKnown = {"loopback", "exceptions"};
    TRY(reader_.check_keys(node, "allow", kKnown));
    if (const YamlEntry* loopback = entry_of(node, "loopback"))
      step.loopback = TRY(reader_.boolean(loopback->value, "allow.loopback"));
    const YamlEntry* exceptions = entry_of(node, "exceptions");
    if (exceptions == nullptr) return {};
    TRY(reader_.check_list(exceptions->value, "allow.exceptions"));
    for (const YamlNode& item : exceptions->value.items)
      step.exceptions.push_back(TRY(read_exception(item)));
    return {};
  }

  Result<GovernedException> read_exception(const YamlNode& node) {
    static constexpr std::array<std::string_view, 6> kKnown = {"host",  "listen", "unix_socket",
                                                               "owner", "reason", "expires"};
    TRY(reader_.check_keys(node, "an exception", kKnown));
    GovernedException exception{.origin = reader_.origin(node.place)};
    const YamlEntry* host = entry_of(node, "host");
    const YamlEntry* listen = entry_of(node, "listen");
    const YamlEntry* socket = entry_of(node, "unix_socket");
    const int named =
        (host != nullptr ? 1 : 0) + (listen != nullptr ? 1 : 0) + (socket != nullptr ? 1 : 0);
    if (named != 1)
      return reader_.refuse(
          node.place,
          "an exception names either a 'host', a port to 'listen' on or a 'unix_socket'",
          "host: example.org:443, listen: 8080 or unix_socket: run/server.sock");
    if (socket != nullptr) exception.unix_socket = TRY(socket_path(socket->value, "unix_socket"));
    if (host != nullptr) {
      const std::string text = TRY(reader_.text(host->value, "host"));
      exception.host = TRY(host_rule(host->value, text, "host"));
    }
    if (listen != nullptr) exception.listen_port = TRY(port(listen->value, "listen"));
    for (const auto& [key, member] : {std::pair{"owner", &GovernedException::owner},
                                      {"reason", &GovernedException::reason},
                                      {"expires", &GovernedException::expires}}) {
      const YamlEntry* entry = entry_of(node, key);
      if (entry != nullptr) exception.*member = TRY(reader_.text(entry->value, key));
      if (entry == nullptr || (exception.*member).empty())
        return reader_.refuse(
            node.place, fmt::format("the exception has no '{}'", key),
            "each needs owner, reason and expires: somebody answers for it, until "
            "a day");
    }
    if (!is_day(exception.expires))
      return reader_.refuse(entry_of(node, "expires")->value.place,
                            fmt::format("'{}' is not a day", shown(exception.expires)),
                            "write it like 2027-01-31");
    return exception;
  }

  Result<void> read_additions(const YamlNode& node, Step& step) {
    if (const YamlEntry* needs = entry_of(node, "needs")) {
      TRY(reader_.check_list(needs->value, "needs"));
      for (const YamlNode& item : needs->value.items)
        step.needs.push_back(TRY(reader_.item(item, "needs")));
    }
    if (const YamlEntry* file = entry_of(node, "spec")) {
      const std::string name = reader_.with_here(TRY(reader_.text(file->value, "spec")));
      step.spec_file = name.starts_with('/') ? name : here_ + "/" + name;
    }
    if (const YamlEntry* target = entry_of(node, "target")) {
      step.target = TRY(reader_.text(target->value, "target"));
      if (step.spec_file.empty()) step.spec_file = here_ + "/hermetic.yaml";
    }
    YamlNode part{.kind = YamlNode::Kind::Mapping, .place = node.place};
    for (const YamlEntry& entry : node.entries)
      if (std::ranges::find(kDraftKeys, entry.key) != kDraftKeys.end())
        part.entries.push_back(entry);
    step.draft = TRY(read_draft(part, fmt::format("step '{}'", step.id), reader_, {}));
    return {};
  }

  // Only steps above: so there is no circle, and the file reads in the order in which it runs.
  Result<void> check_needs(const YamlNode& node) const {
    for (std::size_t i = 0; i < policy_.steps.size(); ++i)
      for (const std::string& need : policy_.steps[i].needs) {
        const auto end = policy_.steps.begin() + static_cast<std::ptrdiff_t>(i);
        if (std::find_if(policy_.steps.begin(), end,
                         [&](const Step& step) { return step.id == need; }) == end)
          return reader_.refuse(node.items[i].place,
                                fmt::format("the step '{}' needs '{}', which is no step above it",
                                            policy_.steps[i].id, shown(need)),
                                "a step needs only steps that stand before it");
      }
    return {};
  }

  NodeReader reader_;
  std::string here_;
  Policy policy_;
  std::vector<std::string> shell_ = {"/bin/sh", "-c"};
  EnvironmentPolicy environment_;
};

}  // namespace

Result<Policy> parse_policy(std::string_view text, const std::string& file_name,
                            const std::string& here) {
  const YamlNode root = TRY(parse_yaml(text, file_name));
  Policy policy = TRY(PolicyReader(file_name, here).read(root));
  policy.file = file_name;
  policy.text = text;
  policy.digest = sha256(text);
  return policy;
}

Result<Policy> load_policy(const std::string& file) {
  Result<std::string> text = read_whole_file(file);
  if (!text) {
    Error error = text.error();
    error.hint = fmt::format("name a policy with --policy; the usual place is {}", kUsualPolicy);
    return error;
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  if (error) return system_error(fmt::format("cannot find '{}'", printable(file)), error.value());
  Policy policy = TRY(parse_policy(*text, file, real.parent_path().string()));
  for (Step& step : policy.steps) {
    if (step.spec_file.empty()) continue;
    const Project project = TRY(load_project(step.spec_file));
    const std::optional<std::string_view> target =
        step.target.empty() ? std::nullopt : std::optional<std::string_view>(step.target);
    step.spec = TRY(draft_of(project, target));
  }
  return policy;
}

}  // namespace hermetic::gate
