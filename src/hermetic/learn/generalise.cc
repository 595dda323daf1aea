#include "hermetic/learn/generalise.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/rules.h"
#include "hermetic/learn/secrets.h"
#include "hermetic/record/redaction.h"
#include "hermetic/record/secret_names.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/presets.h"

namespace hermetic {
namespace {

// In every environment, or about the caller's terminal and session: never learned.
const std::set<std::string_view> kOfTheSession = {
    "HOME", "LANG",   "PATH",   "TZ",       "USER",  "PWD",   "OLDPWD",    "SHLVL",     "_",
    "TERM", "SHELL",  "EDITOR", "LOGNAME",  "PAGER", "LINES", "COLORTERM", "LS_COLORS", "COLUMNS",
    "MAIL", "TMPDIR", "TEMP",   "HOSTNAME", "TMP",   "PS1",   "IFS",       "DISPLAY"};

// Compilers and interpreters look at these without being told to.
constexpr std::array<std::string_view, 27> kOfTools = {"AR",
                                                       "CC",
                                                       "CFLAGS",
                                                       "CPATH",
                                                       "CPP",
                                                       "CPPFLAGS",
                                                       "CXX",
                                                       "CXXFLAGS",
                                                       "GOFLAGS",
                                                       "GOPATH",
                                                       "GOROOT",
                                                       "JAVA_HOME",
                                                       "LD",
                                                       "LDFLAGS",
                                                       "LD_LIBRARY_PATH",
                                                       "LIBRARY_PATH",
                                                       "MAKEFLAGS",
                                                       "NODE_OPTIONS",
                                                       "NODE_PATH",
                                                       "PKG_CONFIG_PATH",
                                                       "PYTHONDONTWRITEBYTECODE",
                                                       "PYTHONHASHSEED",
                                                       "PYTHONPATH",
                                                       "RUSTFLAGS",
                                                       "SOURCE_DATE_EPOCH",
                                                       "CMAKE_PREFIX_PATH",
                                                       "CMAKE_GENERATOR"};

constexpr std::array<std::string_view, 3> kUsualPath = {"/usr/local/bin", "/usr/bin", "/bin"};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.") ||
         host.starts_with("::ffff:127.");
}

bool is_address(std::string_view host) {
  return host.find_first_not_of("0123456789.") == std::string_view::npos ||
         host.find(':') != std::string_view::npos;
}

class Generaliser {
 public:
  Generaliser(const Observation& observation, const Surroundings& surroundings, Results results)
      : observation_(observation), surroundings_(surroundings), results_(results) {}

  Learned make() {
    Written written = place_written(observation_, surroundings_, results_);
    Needed needed = gather_needed(observation_, surroundings_, written.trees);
    for (LearnedTree& tree : written.trees) hide_secrets(tree);
    learned_.withheld = std::move(needed.withheld);
    const std::vector<std::string>& known = observation_.earlier.command;
    learned_.command = known.empty() ? observation_.command : known;
    learned_.several_runs = !known.empty();
    std::move(needed.trees.begin(), needed.trees.end(), std::back_inserter(learned_.trees));
    std::move(written.trees.begin(), written.trees.end(), std::back_inserter(learned_.trees));
    learned_.notes = std::move(needed.notes);
    std::move(written.notes.begin(), written.notes.end(), std::back_inserter(learned_.notes));
    choose_directory();
    choose_home();
    choose_path();
    choose_variables();
    if (written.bytecode)
      set("PYTHONDONTWRITEBYTECODE", "1", "or Python would write among its modules");
    for (const auto& [name, value] : observation_.earlier.variables)
      if (learned_.variables.count(name) == 0) set(name, value, "");
    if (observation_.earlier.is_known())
      for (auto& [name, variable] : learned_.variables) variable.reason = "needed by a run";
    choose_network();
    say_what_is_left();
    for (const std::string& note : observation_.earlier.notes)
      if (std::find(learned_.notes.begin(), learned_.notes.end(), note) == learned_.notes.end())
        learned_.notes.push_back(note);
    if (observation_.earlier.is_known()) std::sort(learned_.notes.begin(), learned_.notes.end());
    std::stable_sort(learned_.trees.begin(), learned_.trees.end(),
                     [](const LearnedTree& a, const LearnedTree& b) {
                       return a.declaration.kind < b.declaration.kind;
                     });
    return std::move(learned_);
  }

 private:
  // What is changed in place is seen, and what is merged could be replaced.
  void hide_secrets(LearnedTree& tree) const {
    if (tree.declaration.kind == TreeKind::Temp || tree.declaration.publish == Publish::Replace)
      return;
    // What the run makes is not there when the next one starts.
    for (std::string& secret : secrets_below(tree.declaration.path, surroundings_))
      if (!is_made_by_run(secret, observation_))
        tree.declaration.exceptions.push_back(std::move(secret));
    std::sort(tree.declaration.exceptions.begin(), tree.declaration.exceptions.end(), PathOrder());
  }

  [[nodiscard]] bool touches(const std::string& directory) const {
    return std::any_of(learned_.trees.begin(), learned_.trees.end(), [&](const LearnedTree& tree) {
      return is_within(tree.declaration.path, directory) ||
             is_within(directory, tree.declaration.path);
    });
  }

  void choose_directory() {
    const std::string& directory = observation_.directory;
    learned_.directory = directory;
    if (touches(directory)) return;
    // Where nothing is declared, nothing is; but a command that looks for something must not find
    // itself elsewhere.
    const bool asked =
        std::any_of(observation_.paths.begin(), observation_.paths.end(),
                    [&](const SeenPath& seen) { return is_strictly_within(seen.path, directory); });
    std::vector<std::string> secrets;  // each has its place if it is declared later
    for (const std::string& secret : learned_.withheld)
      if (is_strictly_within(secret, directory)) secrets.push_back(secret);
    if (asked)
      learned_.trees.push_back({{.kind = TreeKind::Temp,
                                 .path = directory,
                                 .exceptions = std::move(secrets),
                                 .type = FileType::Directory},
                                "the directory it was started in: nothing of it is needed"});
    else
      learned_.directory = "/";
  }

  // A private /tmp is home enough, unless files of the real one are needed.
  void choose_home() {
    const std::string& home = observation_.home;
    if (home.empty() || home == "/") return;
    const bool needed =
        std::any_of(learned_.trees.begin(), learned_.trees.end(), [&](const LearnedTree& tree) {
          const std::string& path = tree.declaration.path;
          return is_strictly_within(path, home) && !is_within(path, observation_.directory) &&
                 !is_within(observation_.directory, path);
        });
    if (!needed) return;
    set("HOME", home, "files of the home directory are needed");
    std::map<std::string, FileType> states;
    for (const SeenPath& seen : observation_.paths) {
      if (!seen.written || !is_user_state(seen.path, observation_)) continue;
      const std::string_view rest = relative_to(seen.path, home);
      const bool file = rest.find('/') == std::string_view::npos && seen.type == FileType::File;
      states.try_emplace(join(home, rest.substr(0, rest.find('/'))),
                         file ? FileType::File : FileType::Directory);
    }
    for (const auto& [state, type] : states)
      if (!touches(state) && !is_secret_path(state))
        learned_.trees.push_back({{.kind = TreeKind::Temp, .path = state, .type = type},
                                  "state of the user that is made anew"});
  }

  void choose_path() {
    const auto path = observation_.environment.find("PATH");
    if (path == observation_.environment.end()) return;
    std::set<std::string> used;
    for (const SeenPath& seen : observation_.paths)
      if (seen.executed && seen.exists()) used.emplace(parent_of(seen.path));
    std::vector<std::string> kept;
    bool unusual = false;
    for (const std::string& directory : split(path->second, ':')) {
      const bool usual =
          std::find(kUsualPath.begin(), kUsualPath.end(), directory) != kUsualPath.end();
      if ((!usual && used.count(directory) == 0) || !directory.starts_with('/')) continue;
      if (std::find(kept.begin(), kept.end(), directory) != kept.end()) continue;
      unusual = unusual || !usual;
      kept.push_back(directory);
    }
    if (!unusual) return;
    for (const std::string_view directory : kUsualPath)
      if (std::find(kept.begin(), kept.end(), directory) == kept.end())
        kept.emplace_back(directory);
    set("PATH", fmt::format("{}", fmt::join(kept, ":")), "programs were found there");
  }

  // What the writer of a spec has to decide.
  void say_what_is_left() {
    if (looks_.clean_arguments(observation_.command) != observation_.command)
      learned_.notes.emplace_back(
          "the command has what looks like a secret in it, and so has this spec: give it in a "
          "variable that is passed, or in a file");
    if (std::any_of(observation_.paths.begin(), observation_.paths.end(), [](const SeenPath& seen) {
          return seen.is_needed() && is_within(seen.path, kSystem);
        }))
      learned_.notes.emplace_back(
          "what was read in /sys is about this machine and left out: declare it if it is meant");
  }

  void choose_variables() {
    for (const auto& [name, value] : observation_.environment) {
      if (kOfTheSession.count(name) != 0 || name.starts_with("HERMETIC")) continue;
      const std::string reason = reason_for(name, value);
      if (reason.empty() || !is_utf8(value)) continue;
      if (is_secret_variable(name) || looks_.clean(value) != value)
        learned_.notes.push_back(
            fmt::format("the variable {} looks like a secret: pass it yourself if it is meant",
                        printable(name)));
      else
        set(name, value, reason);
    }
  }

  [[nodiscard]] std::string reason_for(const std::string& name, const std::string& value) const {
    if (observation_.mentioned.count(name) != 0) return "named by a file that was read";
    if (observation_.asked.count(name) != 0) return "a program asked for it";
    if (std::find(kOfTools.begin(), kOfTools.end(), name) != kOfTools.end() &&
        (!value.starts_with('/') || leads_somewhere(value)))
      return "compilers and interpreters look at it";
    for (const std::string& part : split(value, ':'))
      if (leads_to_needed(part)) return "it leads to files that were read";
    return "";
  }

  [[nodiscard]] bool leads_somewhere(const std::string& value) const {
    const std::vector<std::string> parts = split(value, ':');
    return std::any_of(
        observation_.paths.begin(), observation_.paths.end(), [&](const SeenPath& seen) {
          return seen.exists() && std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
                   return part.size() > 1 && is_within(seen.path, part);
                 });
        });
  }

  // A place of its own, not one that holds everything anyway.
  [[nodiscard]] bool leads_to_needed(const std::string& path) const {
    if (!path.starts_with('/') || path.size() < 2 || !normal_path(path)) return false;
    if (is_broad(path, observation_) || is_built_in(path) ||
        is_within(observation_.directory, path) || is_in_temporary(path, observation_) ||
        is_within(path, "/etc"))
      return false;
    for (const std::string& directory : surroundings_.system_directories)
      if (is_within(path, directory)) return false;
    return std::any_of(
        observation_.paths.begin(), observation_.paths.end(),
        [&](const SeenPath& seen) { return seen.is_needed() && is_within(seen.path, path); });
  }

  void choose_network() {
    std::set<std::uint16_t> own_ports;
    for (const Reached& side : observation_.listened) own_ports.insert(side.port);
    std::set<std::string> hosts;
    std::set<std::uint16_t> ports;  // of those who were reached, by address or by name
    bool loopback = !observation_.listened.empty();
    bool names = !observation_.names.empty();
    for (const Reached& side : observation_.reached) {
      if (is_loopback(side.host) && (own_ports.count(side.port) != 0 || own_ports.count(0) != 0)) {
        loopback = true;
      } else if (side.port == kDomain) {
        names = true;
      } else {
        const bool six = side.host.find(':') != std::string::npos;
        if (!is_loopback(side.host)) ports.insert(side.port);
        // A name and its address: the name is what the spec is to say.
        if (!observation_.names.empty() && !is_loopback(side.host) && is_address(side.host))
          continue;
        hosts.insert(six ? fmt::format("[{}]:{}", side.host, side.port)
                         : fmt::format("{}:{}", side.host, side.port));
      }
    }
    for (const std::string& name : observation_.names)
      for (const std::uint16_t port : ports) hosts.insert(fmt::format("{}:{}", name, port));
    if (observation_.names.size() > 1 && ports.size() > 1)
      learned_.notes.emplace_back(
          "which of the names was reached on which port is not known: each has them all");
    if (names && hosts.empty())
      learned_.notes.emplace_back("names were looked up, and nobody was reached");
    hosts.insert(observation_.earlier.hosts.begin(), observation_.earlier.hosts.end());
    loopback = loopback || observation_.earlier.loopback;
    learned_.hosts.assign(hosts.begin(), hosts.end());
    if (!hosts.empty())
      learned_.network = "hosts";
    else if (loopback)
      learned_.network = "loopback";
  }

  void set(const std::string& name, std::string value, std::string reason) {
    learned_.variables.insert_or_assign(name, LearnedVariable{std::move(value), std::move(reason)});
  }

  static constexpr std::uint16_t kDomain = 53;
  const Redaction looks_{std::map<std::string, std::string>()};  // what looks like a secret
  const Observation& observation_;
  const Surroundings& surroundings_;
  Results results_;
  Learned learned_;
};

std::vector<Surroundings::Entry> list_directory(const std::string& directory) {
  std::vector<Surroundings::Entry> entries;
  DIR* const stream = ::opendir(directory.c_str());
  if (stream == nullptr) return entries;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({.name = std::string(name), .directory = entry->d_type == DT_DIR});
  }
  ::closedir(stream);
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

}  // namespace

Surroundings surroundings_of_host() {
  return {.list = list_directory, .system_directories = toolchain_directories()};
}

Learned generalise(const Observation& observation, const Surroundings& surroundings,
                   Results results) {
  return Generaliser(observation, surroundings, results).make();
}

}  // namespace hermetic
