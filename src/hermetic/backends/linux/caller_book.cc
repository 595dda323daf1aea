#include "hermetic/backends/linux/caller_book.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "hermetic/guard/address.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::size_t kMostCallers = 128;
// Each costs some microseconds, and a command can ask for names without end.
constexpr std::size_t kMostLooks = 16;
constexpr std::size_t kMostNamed = 3;

bool may_be(const NetworkCaller& caller, const guard::Arrival& arrival) {
  const bool asks = arrival.to == Address{};  // a nameserver, whatever its address
  return caller.protocol == arrival.protocol && caller.port == arrival.to_port &&
         (asks || caller.to == arrival.to);
}

// Is what it called with the socket that this came from?
bool is_its_socket(const NetworkCaller& caller, const guard::Arrival& arrival,
                   ProcessReader& processes) {
  const auto socket = processes.descriptor_of(caller.thread, caller.descriptor);
  sockaddr_storage own = {};
  socklen_t size = sizeof own;
  if (!socket.is_open() ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return false;
  const auto [address, port] = guard::place_in(own);
  if (port == 0) return false;
  const bool anywhere = address == Address{} || address == guard::ipv4_address(0);
  return port == arrival.from_port && (anywhere || address == arrival.from);
}

bool are_the_same(const std::vector<ProcessFacts>& a, const std::vector<ProcessFacts>& b) {
  return !a.empty() && !b.empty() && a.front().pid == b.front().pid;
}

}  // namespace

std::string command_line(const ProcessFacts& process) {
  if (process.arguments.empty()) return process.executable;
  std::string line = process.executable;
  for (std::size_t i = 1; i < process.arguments.size(); ++i) line += " " + process.arguments[i];
  constexpr std::size_t kLongest = 200;
  return line.size() <= kLongest ? line : line.substr(0, kLongest) + "…";
}

void CallerBook::add(NetworkCaller caller, std::vector<ProcessFacts> processes) {
  if (processes.empty()) return;  // it is gone
  // What it had by the same number may live on by another.
  std::erase_if(entries_, [&](const Entry& entry) {
    const NetworkCaller& known = entry.caller;
    return known.thread == caller.thread && known.descriptor == caller.descriptor &&
           known.to == caller.to && known.port == caller.port &&
           known.protocol == caller.protocol && known.name == caller.name;
  });
  entries_.push_front({.caller = std::move(caller), .processes = std::move(processes)});
  if (entries_.size() > kMostCallers) entries_.pop_back();
}

guard::Who CallerBook::find(const guard::Arrival& arrival, ProcessReader& processes) const {
  processes.next_question();
  std::vector<const Entry*> left;
  std::size_t looks = 0;
  for (const Entry& entry : entries_) {
    if (!may_be(entry.caller, arrival)) continue;
    if (++looks <= kMostLooks && is_its_socket(entry.caller, arrival, processes))
      return {.processes = entry.processes};
    const bool known = std::any_of(left.begin(), left.end(), [&](const Entry* other) {
      return are_the_same(other->processes, entry.processes);
    });
    if (!known) left.push_back(&entry);
  }
  const auto said_so = std::stable_partition(left.begin(), left.end(), [&](const Entry* entry) {
    return !arrival.name.empty() && entry->caller.name == arrival.name;
  });
  if (said_so != left.begin()) left.erase(said_so, left.end());
  if (left.empty()) return {};
  if (left.size() == 1) return {.processes = left.front()->processes};
  guard::Who who{.processes = {}, .perhaps = "one of: "};
  for (std::size_t i = 0; i < std::min(left.size(), kMostNamed); ++i)
    who.perhaps += (i == 0 ? "" : ", ") + command_line(left[i]->processes.front());
  if (left.size() > kMostNamed) who.perhaps += ", …";
  return who;
}

}  // namespace hermetic::linux_backend
