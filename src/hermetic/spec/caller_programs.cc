#include "hermetic/spec/caller_programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <functional>
#include <set>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/presets.h"

namespace hermetic {
namespace {

constexpr std::size_t kMostNames = 200;

// Directories that managers of versions keep all their parts in. What is started there starts other
// parts.
constexpr std::array<std::string_view, 15> kManagers = {
    ".pyenv",  ".rbenv", ".nodenv", ".goenv", ".asdf",      ".volta",    ".sdkman",   ".jenv",
    ".rustup", ".ghcup", ".deno",   ".bun",   "miniconda3", "anaconda3", "miniforge3"};

std::string real_path_of(const std::string& path) {
  std::array<char, PATH_MAX> real;
  return ::realpath(path.c_str(), real.data()) == nullptr ? "" : real.data();
}

bool is_directory(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_program(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// What an empty or relative entry means depends on where one stands: they are not followed.
std::vector<std::string> entries_of(const std::string& search) {
  std::vector<std::string> entries;
  std::size_t begin = 0;
  while (begin <= search.size()) {
    const std::size_t end = std::min(search.find(':', begin), search.size());
    const std::string entry = search.substr(begin, end - begin);
    begin = end + 1;
    if (!entry.starts_with('/')) continue;
    if (const Result<std::string> normal = normal_path(entry)) entries.push_back(*normal);
  }
  return entries;
}

std::string find_program(const std::string& name, const std::string& search,
                         const std::function<bool(const std::string&)>& is_there) {
  for (const std::string& entry : entries_of(search))
    if (std::string path = join(entry, name); is_program(path) && is_there(path)) return path;
  return "";
}

// A private /tmp would be allowed, too, but it is empty.
bool shows_path(const Spec& spec, const std::string& path) {
  const Decision decision = spec.decide(path, Operation::Execute);
  return decision.allowed && decision.because == Decision::Because::Declared &&
         decision.tree != nullptr && decision.tree->declaration.kind != TreeKind::Temp;
}

bool shows_program(const Spec& spec, const std::string& path) {
  const std::string real = real_path_of(path);
  return !real.empty() && shows_path(spec, path) && shows_path(spec, real);
}

// The manager of versions whose own program or shim that is; "" of a version's own program, which
// needs no other version and no manager.
std::string manager_of(const std::string& path) {
  const std::string manager(parent_of(parent_of(path)));
  const std::string_view place = last_component(parent_of(path));
  const bool is_manager = std::ranges::find(kManagers, last_component(manager)) != kManagers.end();
  return is_manager && (place == "shims" || place == "bin") ? manager : "";
}

bool is_of_system(const std::string& path) {
  for (const std::string& directory : toolchain_directories())
    if (is_within(path, directory)) return true;
  return false;
}

// "/opt/tool" of "/opt/tool/bin/x"; "" where that would be the whole home, a folder of many things,
// or no installation.
std::string prefix_of(const std::string& program, const std::string& home) {
  const std::string_view directory = parent_of(program);
  if (last_component(directory) != "bin" && last_component(directory) != "sbin") return "";
  const std::string prefix(parent_of(directory));
  const bool too_much =
      prefix == "/" || prefix == "/usr" || prefix == "/usr/local" || prefix == "/tmp" ||
      prefix == "/home" || prefix == "/opt" ||
      (!home.empty() && (is_within(home, prefix) || prefix == join(home, ".local") ||
                         prefix == join(home, ".cargo")));
  return too_much ? "" : prefix;
}

// Rust's programs in ~/.cargo/bin are all rustup, which starts those of ~/.rustup.
std::string rustup_home(const std::string& program) {
  const std::string_view directory = parent_of(program);
  if (last_component(directory) != "bin" || last_component(parent_of(directory)) != ".cargo")
    return "";
  std::string beside = join(parent_of(parent_of(directory)), ".rustup");
  return is_directory(beside) ? beside : "";
}

void add_installation(const std::string& path, const std::string& home,
                      std::set<std::string>& trees) {
  if (path.empty() || is_of_system(path)) return;
  if (const std::string manager = manager_of(path); !manager.empty()) {
    trees.insert(manager);
  } else if (const std::string prefix = prefix_of(path, home); !prefix.empty()) {
    trees.insert(prefix);
  } else {
    trees.insert(path);
  }
  if (std::string rust = rustup_home(path); !rust.empty()) trees.insert(std::move(rust));
}

std::vector<std::string> outermost_of(const std::set<std::string>& trees) {
  std::vector<std::string> kept;
  for (const std::string& tree : trees)
    if (std::none_of(trees.begin(), trees.end(),
                     [&](const std::string& other) { return is_strictly_within(tree, other); }))
      kept.push_back(tree);
  return kept;
}

bool is_name_of_program(std::string_view word) {
  return !word.empty() && word.find_first_of("/=$`'\"\\*?[]{}<>~#") == std::string_view::npos &&
         !word.starts_with('-');
}

// After these comes a command once more.
bool leads_to_command(std::string_view word) {
  constexpr std::array<std::string_view, 16> kWords = {
      "then", "do",  "else", "elif", "if",    "while", "until", "exec",
      "time", "env", "nice", "!",    "nohup", "xargs", "sudo",  "command"};
  return std::ranges::find(kWords, word) != kWords.end();
}

void find_in_shell(std::string_view text, std::vector<std::string>& names) {
  bool expects_command = true;
  std::string word;
  char quote = '\0';
  const auto end_word = [&] {
    if (word.empty()) return;
    const bool assigns = word.find('=') != std::string::npos;
    if (expects_command && is_name_of_program(word)) names.push_back(word);
    expects_command = expects_command && (assigns || leads_to_command(word));
    word.clear();
  };
  for (const char c : text) {
    if (quote != '\0') {
      word += c;
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
      word += c;
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else if (std::string_view(";|&\n(){}`").find(c) != std::string_view::npos) {
      end_word();
      expects_command = true;
    } else {
      word += c;
    }
  }
  end_word();
}

}  // namespace

std::vector<std::string> programs_named_in(const std::vector<std::string>& command) {
  std::vector<std::string> names;
  if (command.empty()) return names;
  if (is_name_of_program(command.front())) names.push_back(command.front());
  const std::string_view shell = last_component(command.front());
  if (command.size() >= 3 && shell.ends_with("sh"))
    for (std::size_t i = 1; i + 1 < command.size(); ++i)
      if (command[i].starts_with('-') && command[i].ends_with('c')) {
        find_in_shell(command[i + 1], names);
        break;
      }
  return names;
}

std::vector<std::string> installation_of(const std::string& program, const std::string& home) {
  std::set<std::string> trees;
  add_installation(program, home, trees);
  add_installation(real_path_of(program), home, trees);
  return outermost_of(trees);
}

std::vector<OtherProgram> other_programs(const Spec& spec, const CallerSearch& caller,
                                         const std::vector<std::string>& names) {
  const auto inside_path = spec.variables().find("PATH");
  std::vector<OtherProgram> others;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!is_name_of_program(name) || seen.size() >= kMostNames || !seen.insert(name).second)
      continue;
    OtherProgram other{.name = name, .outside = {}, .inside = {}, .inputs = {}};
    other.outside =
        find_program(name, caller.path, [](const std::string& /*path*/) { return true; });
    if (other.outside.empty()) continue;
    if (inside_path != spec.variables().end())
      other.inside = find_program(name, inside_path->second, [&](const std::string& path) {
        return shows_program(spec, path);
      });
    for (std::string& tree : installation_of(other.outside, caller.home))
      if (!shows_path(spec, tree)) other.inputs.push_back(std::move(tree));
    const bool same =
        !other.inside.empty() && real_path_of(other.inside) == real_path_of(other.outside);
    // Of one that needs no other part of its installation nothing is missing.
    if (same && (other.inputs.empty() ||
                 (manager_of(other.outside).empty() && rustup_home(other.outside).empty())))
      continue;
    others.push_back(std::move(other));
  }
  return others;
}

std::string explanation_of(const OtherProgram& program) {
  std::string text;
  if (program.inside.empty())
    text = fmt::format("'{}' is not there inside, and {} on the caller's PATH",
                       printable(program.name), printable(program.outside));
  else if (program.inside == program.outside)
    text = fmt::format("'{}' is {}, which needs more than is shown of its installation",
                       printable(program.name), printable(program.outside));
  else
    text = fmt::format("'{}' is {} inside, and {} on the caller's PATH", printable(program.name),
                       printable(program.inside), printable(program.outside));
  if (program.inputs.empty()) return text + "; to use that: --toolchain auto";
  std::string inputs;
  for (const std::string& input : program.inputs)
    inputs += (inputs.empty() ? "" : ", ") + printable(input);
  return text + fmt::format("; to show that: --toolchain auto, or the inputs [{}]", inputs);
}

void add_caller_toolchain(Draft& draft, const CallerSearch& caller, std::string_view unless) {
  std::set<std::string> trees;
  for (const std::string& entry : entries_of(caller.path)) {
    const std::string real = real_path_of(entry);
    if (real.empty() || !is_directory(real) || is_of_system(real)) continue;
    if (!unless.empty() && (is_within(real, unless) || is_within(entry, unless))) continue;
    // All of a home is not a tool.
    if (!caller.home.empty() && is_within(caller.home, real)) continue;
    for (const std::string& place : {entry, real}) {
      // Any name will do: it is asked what its directory belongs to.
      const std::string some = join(place, "program");
      std::set<std::string> found;
      add_installation(some, caller.home, found);
      for (const std::string& tree : found) trees.insert(tree == some ? place : tree);
      if (std::string rust = rustup_home(some); !rust.empty())
        draft.environment.set.try_emplace("RUSTUP_HOME", std::move(rust));
    }
  }
  for (const std::string& tree : outermost_of(trees)) {
    const bool declared = std::any_of(
        draft.declarations.begin(), draft.declarations.end(), [&](const Declaration& other) {
          return other.kind == TreeKind::Input && is_within(tree, other.path);
        });
    if (declared || is_within(tree, "/proc") || is_within(tree, "/dev") || is_within(tree, "/sys"))
      continue;
    // What lies within it and is declared on its own stays what it is.
    std::erase_if(draft.declarations, [&](const Declaration& other) {
      return other.kind == TreeKind::Input && other.exceptions.empty() &&
             is_strictly_within(other.path, tree);
    });
    Declaration input{.kind = TreeKind::Input, .path = tree, .exceptions = {}};
    input.origin = {.source = "--toolchain"};
    for (const Declaration& other : draft.declarations)
      if (is_strictly_within(other.path, tree)) input.exceptions.push_back(other.path);
    draft.declarations.push_back(std::move(input));
  }
  draft.environment.set.try_emplace("PATH", caller.path);
}

}  // namespace hermetic
