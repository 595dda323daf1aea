#include "hermetic/record/process_tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/run/event_size.h"

namespace hermetic {
namespace {

// By what they ran, not by when they started.
bool before(const ProcessNode& a, const ProcessNode& b) {
  return std::tie(a.executed, a.arguments, a.pid) < std::tie(b.executed, b.arguments, b.pid);
}

}  // namespace

bool ProcessTree::take_room(std::size_t before, std::size_t after) {
  if (after > before && bytes_ + (after - before) > kMostBytes) return false;
  bytes_ = bytes_ + after - before;
  return true;
}

bool ProcessTree::keep(std::vector<std::string>& place, const std::vector<std::string>& texts) {
  if (place == texts) return true;
  if (!take_room(memory_of(place), memory_of(texts))) return false;
  place = texts;
  return true;
}

void ProcessTree::add(const Event& event) {
  bool is_whole = true;
  for (std::size_t i = 0; i < event.processes.size(); ++i)
    if (!add_one(event, i)) is_whole = false;
  if (!is_whole) ++lost_;
}

bool ProcessTree::add_one(const Event& event, std::size_t place) {
  const ProcessFacts& facts = event.processes[place];
  if (facts.pid == 0) return true;  // stands for those that are left out
  auto found = seen_.find(facts.pid);
  if (found == seen_.end()) {
    if (seen_.size() >= kMost || !take_room(0, sizeof(Seen))) return false;
    found = seen_.emplace(facts.pid, Seen{}).first;
  }
  Seen& seen = found->second;
  seen.parent = facts.parent;
  seen.node.pid = facts.pid;
  bool is_whole = facts.arguments.empty() || keep(seen.node.arguments, facts.arguments);
  if (place == 0 && event.kind == Event::Kind::Process && event.act == "execute")
    is_whole = execute(seen, facts.executable, event) && is_whole;
  return is_whole;
}

// Whoever looks for a program along PATH asks for it in one directory after the other, and stays
// what it is until one is found: only the last of them was it.
bool ProcessTree::execute(Seen& seen, const std::string& was, const Event& event) {
  const std::string& program = event.subject;
  bool is_whole = event.arguments.empty() || keep(seen.node.arguments, event.arguments);
  std::vector<std::string>& executed = seen.node.executed;
  const bool searching = !executed.empty() && seen.was == was &&
                         last_component(executed.back()) == last_component(program);
  // One process can go on becoming others for ever; what it has not been before still counts.
  const bool too_many = executed.size() >= kMostListed ||
                        (executed.size() >= kMostExecuted &&
                         std::find(executed.begin(), executed.end(), program) != executed.end());
  if (searching && take_room(memory_of(executed.back()), memory_of(program)))
    executed.back() = program;
  else if (!searching && !too_many && take_room(0, memory_of(program)))
    executed.push_back(program);
  else if (searching || !too_many)
    is_whole = false;
  seen.was = was;
  return is_whole;
}

std::vector<ProcessNode> ProcessTree::finish() && {
  std::map<int, std::vector<int>> children;
  for (const auto& [pid, seen] : seen_)
    children[seen_.contains(seen.parent) && seen.parent != pid ? seen.parent : 0].push_back(pid);
  std::set<int> taken;
  const auto take = [&](const auto& self, int pid, int depth) -> ProcessNode {
    taken.insert(pid);
    ProcessNode node = std::move(seen_[pid].node);
    std::vector<int> below = std::exchange(children[pid], {});
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (taken.contains(below[i])) continue;
      if (depth == kDeepest) {
        const std::vector<int> deeper = std::exchange(children[below[i]], {});
        below.insert(below.end(), deeper.begin(), deeper.end());
      }
      node.children.push_back(self(self, below[i], depth + 1));
    }
    std::sort(node.children.begin(), node.children.end(), before);
    return node;
  };
  std::vector<ProcessNode> roots;
  for (const int pid : children[0]) roots.push_back(take(take, pid, 0));
  // Numbers are given out again: two can name each other as parent, and have nobody above them.
  for (const auto& [pid, seen] : seen_)
    if (!taken.contains(pid)) roots.push_back(take(take, pid, 0));
  std::sort(roots.begin(), roots.end(), before);
  return roots;
}

std::set<std::string> executed_programs(const std::vector<ProcessNode>& roots) {
  std::set<std::string> programs;
  for (const ProcessNode& node : roots) {
    programs.insert(node.executed.begin(), node.executed.end());
    programs.merge(executed_programs(node.children));
  }
  return programs;
}

nlohmann::json process_tree_as_json(const std::vector<ProcessNode>& roots,
                                    const Redaction& redaction) {
  using nlohmann::json;
  json list = json::array();
  for (const ProcessNode& node : roots) {
    json executed = json::array();
    for (const std::string& program : node.executed)
      executed.push_back(printable(redaction.clean(program)));
    json arguments = json::array();
    for (const std::string& argument : redaction.clean_arguments(node.arguments))
      arguments.push_back(printable(argument));
    list.push_back({{"executed", std::move(executed)},
                    {"arguments", std::move(arguments)},
                    {"children", process_tree_as_json(node.children, redaction)}});
  }
  return list;
}

}  // namespace hermetic
