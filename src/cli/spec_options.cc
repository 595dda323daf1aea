#include "cli/spec_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "hermetic/base/current_directory.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/environment.h"
#include "hermetic/spec/loader.h"
#include "hermetic/spec/placed_path.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/quantity.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::cli {
namespace {

// The variables that stand in for options; HERMETIC and HERMETIC_DEBUG are read elsewhere.
const std::set<std::string> kVariables = {"HERMETIC_MEMORY", "HERMETIC_CPU_TIME",
                                          "HERMETIC_PROCESSES", "HERMETIC_NETWORK"};

Error at_option(Error error, std::string_view option) {
  error.origin = {.source = std::string(option)};
  return error;
}

// Reads one option into the draft. `input` is the declaration that a following --except belongs to.
class OptionReader {
 public:
  explicit OptionReader(Draft& draft) : draft_(draft) {}

  Result<void> read(const Given& given) {
    Result<void> done = dispatch(given);
    if (!done) return at_option(std::move(done).error(), given.name);
    return {};
  }

 private:
  Result<void> dispatch(const Given& given) {
    const std::string_view name = given.name;
    const std::string& value = given.value;
    if (name == "--input") return declare({.kind = TreeKind::Input}, given);
    if (name == "--output") return declare({.kind = TreeKind::Output}, given);
    if (name == "--output-file")
      return declare({.kind = TreeKind::Output, .type = FileType::File}, given);
    if (name == "--output-in-place")
      return declare({.kind = TreeKind::Output, .publish = Publish::InPlace}, given);
    if (name == "--temp") return declare({.kind = TreeKind::Temp}, given);
    if (name == "--root") return root({.kind = TreeKind::Input}, given);
    if (name == "--root-writable") return root({.kind = TreeKind::Temp}, given);
    if (name == "--except") return except(value);
    if (name == "--env") return set_variable(value);
    if (name == "--pass-env") return (void)draft_.environment.pass.insert(value), Result<void>();
    if (name == "--network") return network(value);
    if (name == "--allow-host") return allow_host(value);
    if (name == "--allow-unix-socket") return allow_unix_socket(value);
    if (name == "--dir") return assign(draft_.directory, absolute_path(value));
    if (name == "--timeout") return assign(draft_.limits.wall_time, parse_duration(value));
    if (name == "--idle-time") return assign(draft_.limits.idle_time, parse_duration(value));
    if (name == "--memory") return assign(draft_.limits.memory_bytes, parse_size(value));
    if (name == "--cpu-time") return assign(draft_.limits.cpu_time, parse_duration(value));
    if (name == "--processes")
      return assign(draft_.limits.processes, parse_count(value, 1, 1'000'000));
    if (name == "--file-size") return assign(draft_.limits.file_size_bytes, parse_size(value));
    if (name == "--open-files")
      return assign(draft_.limits.open_files, parse_count(value, 1, 1'048'576));
    if (name == "--disk-write") return assign(draft_.limits.disk_write_bytes, parse_size(value));
    if (name == "--disk-read-rate") return assign(draft_.limits.disk_read_rate, parse_size(value));
    if (name == "--disk-write-rate")
      return assign(draft_.limits.disk_write_rate, parse_size(value));
    if (name == "--network-bytes") return assign(draft_.limits.network_bytes, parse_size(value));
    if (name == "--cpu-weight")
      return assign(draft_.limits.cpu_weight, parse_count(value, 1, 10'000));
    if (name == "--cpus") return assign(draft_.process.cpus, parse_count(value, 1, 1024));
    if (name == "--nice") return assign(draft_.process.nice, parse_count(value, 1, 19));
    if (name == "--on-violation") return on_violation(value);
    if (name == "--identity") return identity(value);
    if (name == "--give-up") return (void)draft_.give_up.insert(value), Result<void>();
    return {};  // not about the spec
  }

  template <class Field, class Value>
  static Result<void> assign(std::optional<Field>& field, Result<Value> value) {
    if (!value) return std::move(value).error();
    field = std::move(*value);
    return {};
  }

  Result<void> declare(Declaration declaration, const Given& given) {
    const PlacedPath placed = TRY(parse_placed_path(given.value));
    declaration.path = TRY(absolute_path(placed.path));
    declaration.at = placed.at;
    // Nothing of the host is in a temp but what it starts as.
    if (declaration.kind == TreeKind::Temp && !placed.at.empty()) {
      declaration.over = {declaration.path};
      declaration.path = placed.at;
    }
    declaration.origin = {.source = std::string(given.name)};
    draft_.declarations.push_back(std::move(declaration));
    return {};
  }

  Result<void> root(Declaration declaration, const Given& given) {
    declaration.path = TRY(absolute_path(given.value));
    declaration.origin = {.source = std::string(given.name)};
    draft_.declarations.push_back(as_root(std::move(declaration)));
    return {};
  }

  Result<void> except(const std::string& value) {
    std::string path = TRY(absolute_path(value));
    if (draft_.declarations.empty())
      return invalid("nothing to take an exception from",
                     "put --except after its --input, --output or --temp");
    draft_.declarations.back().exceptions.push_back(std::move(path));
    return {};
  }

  Result<void> set_variable(const std::string& value) {
    const std::size_t equals = value.find('=');
    if (equals == std::string::npos)
      return invalid(fmt::format("'{}' has no value", printable(value)),
                     fmt::format("write --env {}=VALUE, or --pass-env {} for the caller's",
                                 printable(value), printable(value)));
    draft_.environment.set[value.substr(0, equals)] = value.substr(equals + 1);
    return {};
  }

  Result<void> network(const std::string& value) {
    using Mode = NetworkPolicy::Mode;
    for (const Mode mode : {Mode::None, Mode::Loopback, Mode::Host}) {
      if (value != to_string(mode)) continue;
      draft_.network = NetworkPolicy{.mode = mode};
      draft_.origins["network"] = {.source = "--network"};
      return {};
    }
    return invalid(fmt::format("unknown network '{}'", printable(value)),
                   "use none, loopback or host; allow single hosts with --allow-host");
  }

  Result<void> allow_host(const std::string& value) {
    hosts_.push_back(value);
    draft_.network = TRY(NetworkPolicy::allow_hosts(hosts_));
    draft_.origins["network"] = {.source = "--allow-host"};
    return {};
  }

  Result<void> allow_unix_socket(const std::string& value) {
    draft_.unix_sockets.insert(TRY(absolute_path(value)));
    return {};
  }

  Result<void> on_violation(const std::string& value) {
    for (const OnViolation policy : {OnViolation::Report, OnViolation::Fail, OnViolation::Kill})
      if (value == to_string(policy)) return (void)(draft_.on_violation = policy), Result<void>();
    return invalid(fmt::format("unknown policy '{}'", printable(value)),
                   "use report, fail or kill");
  }

  Result<void> identity(const std::string& value) {
    for (const Identity identity : {Identity::Builder, Identity::Root})
      if (value == to_string(identity)) return (void)(draft_.identity = identity), Result<void>();
    return invalid(fmt::format("unknown identity '{}'", printable(value)), "use builder or root");
  }

  Draft& draft_;
  std::vector<std::string> hosts_;
};

Result<Draft> draft_without_file(const Draft& options) {
  const std::string directory = TRY(current_directory());
  return default_draft(options, directory);
}

Result<std::optional<std::string>> spec_file(const Arguments& arguments) {
  if (arguments.has("--spec")) return std::optional(arguments.last("--spec"));
  // A target without a file means the project file of the current directory.
  if (!arguments.words.empty()) return std::optional(std::string(kDefaultFile));
  return std::optional<std::string>();
}

Result<Draft> draft_from_file(const std::string& file, const Arguments& arguments) {
  if (arguments.words.size() > 1)
    return invalid(fmt::format("unexpected word '{}'", printable(arguments.words[1])),
                   "one target at a time; the command stands after --");
  std::optional<std::string_view> target;
  if (!arguments.words.empty()) target = arguments.words.front();
  const Project project = TRY(load_project(file));
  return draft_of(project, target);
}

}  // namespace

// On the command line a path may be relative, and start with "..": the current directory has no
// links in its name, so that both have one meaning. Further in, ".." would depend on links.
Result<std::string> absolute_path(std::string_view text) {
  if (text.empty() || text.starts_with('/')) return normal_path(text);
  std::string base = TRY(current_directory());
  while (text == ".." || text.starts_with("../")) {
    base = std::string(parent_of(base));
    text.remove_prefix(std::min<std::size_t>(3, text.size()));
  }
  return normal_path(base + "/" + std::string(text));
}

Option toolchain_option() {
  return {"--toolchain", "auto", "also show the programs of the caller's PATH, such as pyenv's"};
}

Result<bool> wants_caller_toolchain(const Arguments& arguments) {
  if (!arguments.has("--toolchain")) return false;
  if (arguments.last("--toolchain") == "auto") return true;
  return invalid(
      fmt::format("--toolchain '{}' is not known", printable(arguments.last("--toolchain"))),
      "write --toolchain auto, or name the trees with --input");
}

CallerSearch caller_search() {
  const char* path = std::getenv("PATH");
  const char* home = std::getenv("HOME");
  std::error_code error;
  return {.path = path == nullptr ? "" : path,
          .home = home == nullptr ? "" : std::filesystem::canonical(home, error).string()};
}

std::vector<Option> spec_options() {
  return {
      {"--spec", "FILE", "take the spec from FILE (YAML or JSON; - is standard input)"},
      {"--input", "PATH[:AT]", "allow reading the file or tree PATH; it stands at AT inside"},
      {"--except", "PATH", "but for PATH; follows the declaration that it narrows"},
      {"--output", "PATH[:AT]", "a directory that the command writes; published if it succeeds"},
      {"--output-file", "PATH[:AT]", "the same for a single file that may not exist yet"},
      {"--output-in-place", "PATH[:AT]",
       "an output whose present content is seen and changed directly (weaker)"},
      {"--temp", "AT, PATH:AT", "a private directory, or a copy of PATH, thrown away afterwards"},
      {"--root", "DIR", "DIR is the root of the command's file system, read only"},
      {"--root-writable", "DIR", "the same as a copy, thrown away afterwards"},
      toolchain_option(),
      {"--env", "NAME=VALUE", "set a variable"},
      {"--pass-env", "NAME", "take a variable from the caller"},
      {"--network", "MODE", "none (default), loopback, or host (the caller's, not hermetic)"},
      {"--allow-host", "HOST[:PORT]", "allow one host, *.domain or address range"},
      {"--allow-unix-socket", "PATH", "allow a Unix socket that leads out of the sandbox"},
      {"--dir", "PATH", "start in PATH"},
      {"--timeout", "TIME", "end the run after TIME, such as 2s or 1h30m"},
      {"--idle-time", "TIME", "end the run when it has neither written nor computed for TIME"},
      {"--memory", "SIZE", "limit the memory, such as 64M"},
      {"--cpu-time", "TIME", "limit the CPU time of all processes together"},
      {"--processes", "COUNT", "limit the number of processes"},
      {"--file-size", "SIZE", "limit the size of each file that is written"},
      {"--open-files", "COUNT", "limit the open files of each process"},
      {"--disk-write", "SIZE", "limit what all processes together write to disk"},
      {"--disk-read-rate", "SIZE", "read no more than so many bytes a second from each disk"},
      {"--disk-write-rate", "SIZE", "write no more than so many bytes a second to each disk"},
      {"--network-bytes", "SIZE", "limit what goes over the network, both ways"},
      {"--cpu-weight", "WEIGHT", "share of the CPU under contention, 1 to 10000; 100 is usual"},
      {"--cpus", "COUNT", "run on so many CPUs"},
      {"--nice", "LEVEL", "give way to other processes, 1 to 19"},
      {"--identity", "WHO", "builder (default) or root inside"},
      {"--on-violation", "WHAT", "report (default), fail or kill"},
      {"--give-up", "CLAUSE", "run even if this clause cannot be enforced"},
  };
}

Result<Draft> draft_of_options(const Arguments& arguments) {
  Draft options;
  OptionReader reader(options);
  for (const Given& given : arguments.options) TRY(reader.read(given));
  options.command = arguments.command;
  return options;
}

Result<Draft> draft_from(const Arguments& arguments) {
  const Draft options = TRY(draft_of_options(arguments));
  const Draft variables = TRY(draft_from_environment(passed_by_caller(kVariables)));
  const std::optional<std::string> file = TRY(spec_file(arguments));
  const Draft base = TRY(file ? draft_from_file(*file, arguments) : draft_without_file(options));
  Draft draft = overlay(overlay(variables, base), options);
  if (TRY(wants_caller_toolchain(arguments))) add_caller_toolchain(draft, caller_search());
  return draft;
}

Result<Spec> spec_from(const Arguments& arguments) {
  Draft draft = TRY(draft_from(arguments));
  return SpecBuilder(std::move(draft)).build();
}

}  // namespace hermetic::cli
