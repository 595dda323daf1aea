// What a command has to read: system directories, toolchains, the project, single files.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/rules.h"
#include "hermetic/learn/secrets.h"

namespace hermetic {
namespace {

constexpr std::size_t kMostScanned = 20'000;
const std::string kOfTheSystem = "programs and libraries of the system";
const std::string kFiles = "files that were read";
const std::string kEarlier = "an earlier run needed it";
const std::string kDirectories = "directories of which something was read";

class Gatherer {
 public:
  Gatherer(const Observation& observation, const Surroundings& surroundings,
           const std::vector<LearnedTree>& written)
      : observation_(observation), surroundings_(surroundings), written_(written) {}

  Needed gather() {
    find_installations();
    remember_earlier();
    for (const SeenPath& seen : observation_.paths)
      if (seen.is_needed() && !is_covered(seen.path)) take(seen);
    generalise_directories();
    generalise_project();
    for (const auto& [path, reason] : roots_) places_.erase(path);
    std::map<std::string, std::string, PathOrder> all = roots_;
    all.insert(places_.begin(), places_.end());
    for (const auto* group : {&roots_, &places_})
      for (const auto& [path, reason] : *group)
        // Of secrets, only those are there that were declared by hand.
        if (!is_inside_another(path, all) || is_secret_path(path)) put(path, reason);
    if (observation_.earlier.is_known()) forget_which_run();
    std::stable_sort(
        needed_.trees.begin(), needed_.trees.end(),
        [](const LearnedTree& a, const LearnedTree& b) { return rank(a.reason) < rank(b.reason); });
    std::sort(needed_.notes.begin(), needed_.notes.end());
    needed_.notes.erase(std::unique(needed_.notes.begin(), needed_.notes.end()),
                        needed_.notes.end());
    return std::move(needed_);
  }

 private:
  // What is the same for everybody comes first.
  static int rank(const std::string& reason) {
    if (reason == kOfTheSystem) return 0;
    return reason == kFiles ? 1 : 2;
  }

  // Every sandbox has it, or the run has made it.
  [[nodiscard]] bool is_covered(const std::string& path) const {
    if (path == "/" || path == "/tmp" || is_built_in(path) || !is_utf8(path)) return true;
    // A cache that was not declared is made anew.
    if (!observation_.home.empty() && is_within(path, join(observation_.home, ".cache")) &&
        !is_within(path, observation_.directory))
      return true;
    return std::any_of(written_.begin(), written_.end(), [&](const LearnedTree& tree) {
      const std::vector<std::string>& holes = tree.declaration.exceptions;
      return is_within(path, tree.declaration.path) &&
             std::none_of(holes.begin(), holes.end(),
                          [&](const std::string& hole) { return is_within(path, hole); });
    });
  }

  void remember_earlier() {
    for (const Declaration& tree : observation_.earlier.trees) {
      if (tree.kind != TreeKind::Input || is_covered(tree.path)) continue;
      const auto& system = surroundings_.system_directories;
      if (std::find(system.begin(), system.end(), tree.path) != system.end())
        roots_.try_emplace(tree.path, kOfTheSystem);
      else
        places_.try_emplace(tree.path, kEarlier);
    }
    needed_.withheld = observation_.earlier.withheld;
  }

  // Or the same runs, added in another order, would make another file.
  void forget_which_run() {
    for (LearnedTree& tree : needed_.trees)
      if (tree.reason != kOfTheSystem)
        tree.reason = is_directory(tree.declaration.path) ? kDirectories : kFiles;
    std::sort(needed_.trees.begin(), needed_.trees.end(),
              [](const LearnedTree& a, const LearnedTree& b) {
                return compare_paths(a.declaration.path, b.declaration.path) < 0;
              });
  }

  [[nodiscard]] bool is_directory(const std::string& path) const {
    const std::vector<Surroundings::Entry> beside =
        surroundings_.list(std::string(parent_of(path)));
    return std::any_of(beside.begin(), beside.end(), [&](const Surroundings::Entry& entry) {
      return entry.directory && entry.name == last_component(path);
    });
  }

  // Where a program from elsewhere is installed: its bin directory stands in it.
  void find_installations() {
    for (const SeenPath& seen : observation_.paths) {
      if (!seen.is_needed() || seen.type == FileType::Directory) continue;
      const std::string_view parent = parent_of(seen.path);
      if (last_component(seen.path) == "pyvenv.cfg") {
        installations_.try_emplace(std::string(parent), "a virtual environment of Python");
      }
      if (seen.executed && (last_component(parent) == "bin" || last_component(parent) == "libexec"))
        installations_.try_emplace(std::string(parent_of(parent)),
                                   "a toolchain: programs of it ran");
      for (Components component(seen.path); component.next();)
        if (component.name() == "node_modules") {
          installations_.try_emplace(std::string(component.prefix()), "packages of Node");
          break;
        }
      if (is_within(seen.path, "/opt") || is_within(seen.path, "/nix/store")) {
        const std::string_view top = is_within(seen.path, "/opt") ? "/opt" : "/nix/store";
        const std::string_view rest = relative_to(seen.path, top);
        const std::size_t end = rest.find('/');
        if (end != std::string_view::npos)
          installations_.try_emplace(join(top, rest.substr(0, end)), "an installed program");
      }
    }
    for (auto place = installations_.begin(); place != installations_.end();)
      if (is_broad(place->first, observation_) || is_covered(place->first) ||
          is_within(observation_.directory, place->first) || is_secret_path(place->first))
        place = installations_.erase(place);
      else
        ++place;
  }

  void take(const SeenPath& seen) {
    const std::string& path = seen.path;
    if (seen.written && is_user_state(path, observation_)) return;  // made anew, as it was written
    for (const std::string& directory : surroundings_.system_directories)
      if (is_within(path, directory)) {
        roots_.try_emplace(directory, kOfTheSystem);
        return;
      }
    const auto installed =
        std::find_if(installations_.begin(), installations_.end(),
                     [&](const auto& installation) { return is_within(path, installation.first); });
    const bool toolchain = installed != installations_.end();
    if (toolchain && !is_secret_in_toolchain(path)) {
      roots_.try_emplace(installed->first, installed->second);
      return;
    }
    const auto known = places_.find(path);  // declared by hand, after an earlier run
    if (known != places_.end() && known->second == kEarlier) return;
    if (toolchain || is_secret_path(path)) {
      needed_.withheld.insert(path);
      return;
    }
    if (seen.type != FileType::Directory || seen.link) {
      files_[std::string(parent_of(path))].push_back(path);
    } else if (is_broad(path, observation_)) {
      note(fmt::format("listed, but too much to be declared as a whole: {}", printable(path)));
    } else {
      place(path, "listed");
    }
  }

  // What this run needs has its own reason.
  void place(const std::string& path, std::string reason) {
    const auto [known, fresh] = places_.try_emplace(path, reason);
    if (!fresh && known->second == kEarlier) known->second = std::move(reason);
  }

  void generalise_directories() {
    for (const auto& [directory, files] : files_) {
      if (files.size() > kFewFiles && !is_broad(directory, observation_) &&
          !is_secret_path(directory)) {
        place(directory, fmt::format("{} files of it were read", files.size()));
        continue;
      }
      for (const std::string& file : files) place(file, kFiles);
    }
    // Many directories beside each other are the directory above them.
    for (bool again = true; again;) {
      again = false;
      std::map<std::string, std::size_t> beside;
      for (const auto& [path, reason] : places_)
        if (reason != kFiles && reason != kEarlier) ++beside[std::string(parent_of(path))];
      for (const auto& [parent, count] : beside) {
        if (count <= kFewFiles || is_broad(parent, observation_) || is_covered(parent)) continue;
        if (!places_.try_emplace(parent, fmt::format("{} directories of it were read", count))
                 .second)
          continue;
        for (auto place = places_.begin(); place != places_.end();)
          place = is_strictly_within(place->first, parent) ? places_.erase(place) : ++place;
        again = true;
        break;
      }
    }
  }

  void generalise_project() {
    const std::string& project = observation_.directory;
    if (is_broad(project, observation_) || is_covered(project) || is_secret_path(project)) return;
    std::size_t count = 0;
    for (const auto& [path, reason] : places_)
      if (is_within(path, project)) ++count;
    if (count <= kFewFiles) return;
    for (auto place = places_.begin(); place != places_.end();)
      place = is_within(place->first, project) && !is_secret_path(place->first)
                  ? places_.erase(place)
                  : ++place;
    places_[project] = "the directory it was started in: many files of it were read";
  }

  static bool is_inside_another(const std::string& path,
                                const std::map<std::string, std::string, PathOrder>& all) {
    for (std::string_view above = path; above != "/";) {
      above = parent_of(above);
      if (all.find(above) != all.end()) return true;
    }
    return false;
  }

  [[nodiscard]] bool was_used(const std::string& path) const {
    return std::any_of(
        observation_.paths.begin(), observation_.paths.end(),
        [&](const SeenPath& seen) { return seen.is_needed() && is_within(seen.path, path); });
  }

  void put(const std::string& path, const std::string& reason) {
    Declaration input{.kind = TreeKind::Input, .path = path};
    std::set<std::string, PathOrder> exceptions;
    for (const LearnedTree& tree : written_)
      if (is_strictly_within(tree.declaration.path, path)) exceptions.insert(tree.declaration.path);
    const bool toolchain = roots_.find(path) != roots_.end();
    if (reason != kOfTheSystem)
      for (const std::string& secret : secrets_below(path, surroundings_, toolchain))
        if (!is_made_by_run(secret, observation_)) exceptions.insert(secret);
    if (!toolchain) {
      const std::string history = join(path, ".git");
      if (!was_used(history) && has_entry(path, ".git")) exceptions.insert(history);
    }
    for (const Declaration& earlier : observation_.earlier.trees) {
      if (earlier.kind != TreeKind::Input || earlier.path != path) continue;
      for (const std::string& exception : earlier.exceptions)
        if (!was_used(exception)) exceptions.insert(exception);
    }
    std::string last;
    for (const std::string& exception : exceptions) {
      if (!last.empty() && is_within(exception, last)) continue;
      input.exceptions.push_back(exception);
      last = exception;
    }
    needed_.trees.push_back({std::move(input), reason});
  }

  [[nodiscard]] bool has_entry(const std::string& directory, std::string_view name) const {
    const std::vector<Surroundings::Entry> entries = surroundings_.list(directory);
    return std::any_of(entries.begin(), entries.end(),
                       [&](const Surroundings::Entry& entry) { return entry.name == name; });
  }

  void note(std::string text) { needed_.notes.push_back(std::move(text)); }

  const Observation& observation_;
  const Surroundings& surroundings_;
  const std::vector<LearnedTree>& written_;
  std::map<std::string, std::string> installations_;
  std::map<std::string, std::string, PathOrder> roots_;    // system directories and toolchains
  std::map<std::string, std::string, PathOrder> places_;   // everything else, with its reason
  std::map<std::string, std::vector<std::string>> files_;  // by directory
  Needed needed_;
};

}  // namespace

Needed gather_needed(const Observation& observation, const Surroundings& surroundings,
                     const std::vector<LearnedTree>& written) {
  return Gatherer(observation, surroundings, written).gather();
}

std::vector<std::string> secrets_below(const std::string& top, const Surroundings& surroundings,
                                       bool toolchain) {
  std::vector<std::string> found;
  std::vector<std::string> pending = {top};
  for (std::size_t scanned = 0; !pending.empty() && scanned < kMostScanned;) {
    const std::string directory = std::move(pending.back());
    pending.pop_back();
    for (const Surroundings::Entry& entry : surroundings.list(directory)) {
      ++scanned;
      const std::string path = join(directory, entry.name);
      const bool packages = toolchain || path.find("/node_modules/") != std::string::npos;
      if (packages ? is_secret_in_toolchain(path) : is_secret_path(path)) {
        if (is_utf8(path)) found.push_back(path);
      } else if (entry.directory && entry.name != ".git") {
        pending.push_back(path);
      }
    }
  }
  return found;
}

}  // namespace hermetic
