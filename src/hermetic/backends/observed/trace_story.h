// TraceStory: what a trace tells, as events: who executed what, and who tried to reach whom.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hermetic/backends/observed/trace_line.h"
#include "hermetic/run/event.h"

namespace hermetic::observed {

// "192.0.2.1:80/tcp", as the guard calls it.
[[nodiscard]] std::string subject_of(const Endpoint& endpoint);

class TraceStory {
 public:
  // `rule` is what events are said to be decided by; `directory` is where the command starts.
  TraceStory(std::string rule, std::string directory)
      : rule_(std::move(rule)), directory_(std::move(directory)) {}

  void add(std::string_view line, std::chrono::nanoseconds since_start);

  [[nodiscard]] int command() const { return processes_.empty() ? 0 : processes_.front().pid; }
  [[nodiscard]] bool command_started() const { return command_started_; }
  [[nodiscard]] bool command_ended() const { return command_ended_; }

  // A child is often heard of before its parent says that it has one: so events are told when all
  // is known. Within a bound; what is beyond it is told to be lost.
  [[nodiscard]] std::vector<Event> finish();

 private:
  static constexpr std::size_t kMostEvents = 100'000;
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  struct Image {
    std::size_t since = 0;  // the line
    std::string executable;
    std::vector<std::string> arguments;
  };
  struct Process {
    int pid = 0;
    std::size_t parent = kNobody;
    bool thread = false;  // of its parent
    std::size_t born = 0;
    std::vector<Image> images = {};
    std::string directory = {};  // "": that of the parent
  };
  struct Pending {
    std::size_t line = 0;
    std::size_t process = 0;
    Event event;
  };

  std::size_t process_of(int pid);
  [[nodiscard]] std::size_t leader_of(std::size_t process) const;
  [[nodiscard]] const Image* image_at(std::size_t process, std::size_t line) const;
  [[nodiscard]] std::vector<ProcessFacts> chain_of(std::size_t process, std::size_t line) const;
  void hear(int pid, const std::string& name, const TraceCall& call);
  void hear_birth(std::size_t parent, const TraceCall& call);
  void hear_network(std::size_t process, const std::string& name, const TraceCall& call);
  void hear_socket(std::size_t process, const TraceCall& call);
  void hear_unix(std::size_t process, const std::string& act, const std::string& name,
                 const TraceCall& call);
  void tell(std::size_t process, Event event);
  void tell_of(std::size_t process, const std::string& act, const TraceAddress& address,
               const std::string& protocol);

  [[nodiscard]] std::string whole_path(std::size_t process, const std::string& path) const;
  void hear_directory(std::size_t process, const TraceCall& call);

  std::string rule_;
  std::string directory_;
  std::chrono::nanoseconds now_ = {};
  std::size_t line_ = 0;
  std::vector<Process> processes_;
  std::map<int, std::size_t> alive_;
  std::map<int, std::size_t> last_;  // with this number, dead or alive
  std::map<int, TraceLine> unfinished_;
  // Where a socket for datagrams sends to that names no address.
  std::map<std::pair<std::size_t, int>, TraceAddress> peers_;
  std::set<std::string> own_sockets_;  // names that the command has bound
  std::vector<Pending> pending_;
  std::uint64_t lost_ = 0;
  bool command_started_ = false;
  bool command_ended_ = false;
};

}  // namespace hermetic::observed
