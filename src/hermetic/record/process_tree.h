// The processes of a run, each under the one that started it, as far as they were seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"

namespace hermetic {

struct ProcessNode {
  int pid = 0;                             // outside; differs from run to run
  std::vector<std::string> executed;       // programs that it asked to become, in order
  std::vector<std::string> arguments;      // of the last program whose arguments were seen
  std::vector<ProcessNode> children = {};  // in an order that does not depend on time

  friend bool operator==(const ProcessNode&, const ProcessNode&) = default;
};

class ProcessTree {
 public:
  // Of kind Process or Network: anything that says who did it.
  void add(const Event& event);
  // Events that say more than there is room for.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::vector<ProcessNode> finish() &&;  // those that nobody seen has started

 private:
  static constexpr std::size_t kMost = 20'000;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
  static constexpr std::size_t kMostExecuted = 100;   // of one process, again and again
  static constexpr std::size_t kMostListed = 10'000;  // of one process, each another
  // Whoever walks the tree does so with its stack: what is deeper stands side by side.
  static constexpr int kDeepest = 100;

  struct Seen {
    int parent = 0;
    ProcessNode node;
    std::string was;  // what it was when it last asked to become something else
  };
  [[nodiscard]] bool add_one(const Event& event, std::size_t place);
  [[nodiscard]] bool execute(Seen& seen, const std::string& was, const Event& event);
  // False: there is no room for so much more.
  [[nodiscard]] bool take_room(std::size_t before, std::size_t after);
  [[nodiscard]] bool keep(std::vector<std::string>& place, const std::vector<std::string>& texts);

  std::map<int, Seen> seen_;
  std::size_t bytes_ = 0;
  std::uint64_t lost_ = 0;
};

// All that any of them asked to become; a search along PATH also asks for what is not there.
[[nodiscard]] std::set<std::string> executed_programs(const std::vector<ProcessNode>& roots);

// Without the numbers of processes: what two runs of the same command have in common.
[[nodiscard]] nlohmann::json process_tree_as_json(const std::vector<ProcessNode>& roots,
                                                  const Redaction& redaction);

}  // namespace hermetic
