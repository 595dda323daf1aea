// A host that exists only as a list of what one run saw.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hermetic/base/path.h"
#include "hermetic/learn/generalise.h"
#include "hermetic/learn/spec_text.h"
#include "hermetic/spec/loader.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {

inline constexpr const char* kProject = "/p/app";
inline constexpr const char* kHome = "/home/u";

class World {
 public:
  World() {
    observation.command = {"make"};
    observation.directory = kProject;
    observation.home = kHome;
  }

  SeenPath& add(const std::string& path, FileType type) {
    SeenPath seen;
    seen.path = path;
    seen.type = type;
    return paths_.insert_or_assign(path, seen).first->second;
  }
  World& reads(const std::string& path) {
    SeenPath& seen = add(path, FileType::File);
    seen.read = seen.opened = true;
    return *this;
  }
  World& lists(const std::string& path) {
    SeenPath& seen = add(path, FileType::Directory);
    seen.read = seen.opened = true;
    return *this;
  }
  World& runs(const std::string& path) {
    SeenPath& seen = add(path, FileType::File);
    seen.executed = true;
    return *this;
  }
  World& makes(const std::string& path, FileType type = FileType::File) {
    SeenPath& seen = add(path, type);
    seen.written = seen.absent_before = true;
    return *this;
  }
  // A file that was there.
  World& changes(const std::string& path, bool replaced = false) {
    SeenPath& seen = add(path, FileType::File);
    seen.written = seen.opened = true;
    seen.replaced = replaced;
    return *this;
  }
  World& makes_and_removes(const std::string& path) {
    makes(path, FileType::Unknown);
    return *this;
  }
  World& probes(const std::string& path) {
    SeenPath& seen = add(path, FileType::Unknown);
    seen.read = seen.absent_before = true;
    return *this;
  }
  // Something that is there and was not touched.
  World& has(const std::string& path) {
    others_.insert(path);
    return *this;
  }

  [[nodiscard]] Observation seen() const {
    Observation whole = observation;
    for (const auto& [path, one] : paths_) whole.paths.push_back(one);
    return whole;
  }

  [[nodiscard]] Surroundings surroundings() const {
    std::set<std::string> names = others_;
    for (const auto& [path, one] : paths_)
      if (one.exists()) names.insert(path);
    const auto list = [names](const std::string& directory) {
      std::map<std::string, bool> entries;
      for (const std::string& name : names) {
        if (!is_strictly_within(name, directory)) continue;
        const std::string_view rest = relative_to(name, directory);
        const std::size_t end = rest.find('/');
        bool& is_directory = entries[std::string(rest.substr(0, end))];
        is_directory = is_directory || end != std::string_view::npos;
      }
      std::vector<Surroundings::Entry> found;
      for (const auto& [name, is_directory] : entries) found.push_back({name, is_directory});
      return found;
    };
    return {.list = list, .system_directories = {"/usr", "/bin", "/lib64"}};
  }

  [[nodiscard]] Learned learned(Results results = Results::OneByOne) const {
    return generalise(seen(), surroundings(), results);
  }

  Observation observation;

 private:
  std::map<std::string, SeenPath, PathOrder> paths_;
  std::set<std::string> others_;
};

// As the file would be read.
inline Result<Spec> spec_of(const Learned& learned) {
  const Project project = TRY(parse_project(spec_text(learned, kProject), "text", kProject));
  Draft draft = TRY(draft_of(project, std::nullopt));
  return SpecBuilder(std::move(draft)).lookup(look_up_by_name).caller_environment({}).build();
}

}  // namespace hermetic
