// From what one run did to what the command needs: few declarations, each with the rule behind it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hermetic/learn/observation.h"
#include "hermetic/spec/declaration.h"

namespace hermetic {

// What the rules have to know about the host besides the observation.
struct Surroundings {
  struct Entry {
    std::string name;
    bool directory = false;  // and no link to one
  };
  std::function<std::vector<Entry>(const std::string& directory)> list;
  std::vector<std::string> system_directories;  // programs and libraries that everybody has
};
[[nodiscard]] Surroundings surroundings_of_host();

struct LearnedTree {
  Declaration declaration;
  std::string reason;  // the rule, for people
};

struct LearnedVariable {
  std::string value;
  std::string reason;
};

struct Learned {
  std::vector<std::string> command;
  bool several_runs = false;
  std::string directory;
  std::vector<LearnedTree> trees;                    // inputs, outputs, temps
  std::map<std::string, LearnedVariable> variables;  // to be set
  std::string network;                               // "", "loopback", or "hosts"
  std::vector<std::string> hosts;                    // of "hosts"
  std::vector<std::string> notes;                    // what was left out, and why
  std::set<std::string> withheld;                    // read, but they look like secrets
};

// How results that stand among sources are declared: one by one, or the directory with all that is
// in it, changed in place. The second is weaker, and does for programs that replace files by
// renaming.
enum class Results { OneByOne, InPlace };

[[nodiscard]] Learned generalise(const Observation& observation, const Surroundings& surroundings,
                                 Results results);

}  // namespace hermetic
