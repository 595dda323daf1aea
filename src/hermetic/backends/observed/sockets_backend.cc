#include "hermetic/backends/observed/sockets_backend.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "hermetic/backends/observed/observed_run.h"
#include "hermetic/backends/observed/socket_table.h"
#include "hermetic/backends/observed/trace_story.h"

namespace hermetic {
namespace observed {
namespace {

class SocketsWatcher final : public Watcher {
 public:
  explicit SocketsWatcher(std::string rule) : rule_(std::move(rule)) {}

  std::vector<std::string> wrapped(const Plan& plan, const std::string& /*program*/) override {
    return plan.command;
  }
  void started(pid_t process) override { command_ = process; }
  void read(std::chrono::nanoseconds /*since_start*/) override {}
  void look(EventSink& events, std::chrono::nanoseconds since_start) override;
  [[nodiscard]] bool command_ended() override { return false; }  // then it can be waited for
  [[nodiscard]] pid_t command() const override { return command_; }
  [[nodiscard]] std::vector<ProcessStatus> processes() override;

  [[nodiscard]] Result<void> finish(EventSink& /*events*/) override {
    if (failure_) return *failure_;
    return {};
  }

 private:
  [[nodiscard]] std::vector<ProcessFacts> chain_of(pid_t process) const;
  void tell(EventSink& events, std::chrono::nanoseconds since_start, const SocketEntry& socket,
            pid_t owner);

  std::string rule_;
  pid_t command_ = 0;
  // Whoever was seen to be one of them stays one, also if its parent ends.
  std::set<std::pair<pid_t, std::uint64_t>> known_;
  std::map<pid_t, ProcessStatus> tree_;  // at the last look
  std::map<pid_t, ProcessFacts> executed_;
  std::set<std::pair<std::uint64_t, std::string>> told_;
  std::optional<Error> failure_;
};

// Of its session, started by one of them, or seen before. A parent can come after its children.
std::vector<ProcessStatus> SocketsWatcher::processes() {
  std::vector<ProcessStatus> all = live_processes();
  std::set<pid_t> members = {command_};
  for (const ProcessStatus& process : all)
    if (process.session == command_ || known_.contains({process.pid, process.started}))
      members.insert(process.pid);
  for (bool grew = true; grew;) {
    grew = false;
    for (const ProcessStatus& process : all)
      if (members.contains(process.parent)) grew = members.insert(process.pid).second || grew;
  }
  std::erase_if(all, [&](const ProcessStatus& process) { return !members.contains(process.pid); });
  tree_.clear();
  for (const ProcessStatus& process : all) {
    known_.emplace(process.pid, process.started);
    tree_[process.pid] = process;
  }
  return all;
}

std::vector<ProcessFacts> SocketsWatcher::chain_of(pid_t process) const {
  std::vector<ProcessFacts> chain;
  for (auto found = tree_.find(process); found != tree_.end() && chain.size() <= tree_.size();
       found = tree_.find(found->second.parent)) {
    chain.push_back(facts_of(found->second));
    if (found->first == command_) chain.back().parent = 0;
  }
  return chain;
}

void SocketsWatcher::tell(EventSink& events, std::chrono::nanoseconds since_start,
                          const SocketEntry& socket, pid_t owner) {
  if (!socket.listens && socket.peer_port == 0) return;
  Event event{.kind = Event::Kind::Network,
              .since_start = since_start,
              .act = socket.listens ? "listen" : "connect",
              .verdict = Verdict::Allow,
              .rule = rule_};
  event.endpoint = Endpoint{.family = socket.family,
                            .protocol = socket.protocol,
                            .address = socket.listens ? socket.own_address : socket.peer_address,
                            .port = socket.listens ? socket.own_port : socket.peer_port,
                            .name = ""};
  event.subject = subject_of(*event.endpoint);
  if (!told_.emplace(socket.inode, event.subject).second) return;
  event.processes = chain_of(owner);
  events.on_event(event);
}

void SocketsWatcher::look(EventSink& events, std::chrono::nanoseconds since_start) {
  std::map<std::uint64_t, pid_t> owners;
  for (const ProcessStatus& process : processes()) {
    for (const std::uint64_t inode : sockets_of(process.pid)) owners.emplace(inode, process.pid);
    ProcessFacts facts = facts_of(process);
    auto [seen, added] = executed_.try_emplace(process.pid);
    if (!added && seen->second == facts) continue;
    seen->second = facts;
    Event event{.kind = Event::Kind::Process,
                .since_start = since_start,
                .act = "execute",
                .subject = facts.executable};
    event.processes = chain_of(process.pid);
    events.on_event(event);
  }
  if (owners.empty()) return;
  const Result<std::vector<SocketEntry>> table = socket_table();
  if (!table) {
    if (!failure_) failure_ = table.error();
    return;
  }
  // One that was accepted is the other side of what came to a listener, which is told of.
  std::set<std::pair<std::string, std::uint16_t>> listening;
  for (const SocketEntry& socket : *table)
    if (socket.listens) listening.emplace(socket.protocol, socket.own_port);
  for (const SocketEntry& socket : *table) {
    const auto owner = owners.find(socket.inode);
    if (owner == owners.end()) continue;
    const bool accepted = !socket.listens && listening.contains({socket.protocol, socket.own_port});
    if (!accepted) tell(events, since_start, socket, owner->second);
  }
}

}  // namespace
}  // namespace observed

Result<SocketsBackend> SocketsBackend::make() {
  TRY(observed::socket_table());
  return SocketsBackend();
}

Capabilities SocketsBackend::probe() const {
  Capabilities capabilities{.backend = "sockets"};
  for (const Clause clause : all_clauses())
    capabilities.clauses[clause] = {.strength = Strength::Absent,
                                    .mechanism = "",
                                    .reason = "the table of sockets is only looked at",
                                    .remedy = "use the guard, or install strace"};
  return capabilities;
}

Result<std::unique_ptr<Run>> SocketsBackend::start(const Plan& plan, const RunOptions& options,
                                                   EventSink& events) {
  return observed::start_observed(std::make_unique<observed::SocketsWatcher>(plan.network_rule),
                                  plan, options, events);
}

}  // namespace hermetic
