#include "hermetic/backends/observed/trace_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hermetic::observed {
namespace {

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

// Ways to talk to the kernel or to a neighbour.
bool is_local(const std::string& family) {
  return family == "unix" || family == "netlink" || family == "alg";
}

}  // namespace

std::string subject_of(const Endpoint& endpoint) {
  if (endpoint.address.empty()) return endpoint.family;
  const std::string protocol = endpoint.protocol.empty() ? "" : "/" + endpoint.protocol;
  return endpoint.address.find(':') != std::string::npos
             ? fmt::format("[{}]:{}{}", endpoint.address, endpoint.port, protocol)
             : fmt::format("{}:{}{}", endpoint.address, endpoint.port, protocol);
}

std::size_t TraceStory::process_of(int pid) {
  const auto [found, added] = alive_.try_emplace(pid, processes_.size());
  if (added) {
    processes_.push_back({.pid = pid, .born = line_});
    last_[pid] = found->second;
  }
  return found->second;
}

std::size_t TraceStory::leader_of(std::size_t process) const {
  for (std::size_t steps = 0; steps < processes_.size() && processes_[process].thread; ++steps)
    process = processes_[process].parent;
  return process;
}

// Without a program of its own it is what its parent was when it was born.
const TraceStory::Image* TraceStory::image_at(std::size_t process, std::size_t line) const {
  for (std::size_t steps = 0; steps < processes_.size() && process != kNobody; ++steps) {
    const Process& known = processes_[process];
    for (auto image = known.images.rbegin(); image != known.images.rend(); ++image)
      if (image->since <= line) return &*image;
    if (!known.thread) line = std::min(line, known.born);
    process = known.parent;
  }
  return nullptr;
}

std::vector<ProcessFacts> TraceStory::chain_of(std::size_t process, std::size_t line) const {
  std::vector<ProcessFacts> chain;
  process = leader_of(process);
  for (std::size_t steps = 0; steps < processes_.size() && process != kNobody; ++steps) {
    const Process& known = processes_[process];
    const std::size_t parent = known.parent == kNobody ? kNobody : leader_of(known.parent);
    ProcessFacts facts{.pid = known.pid,
                       .parent = parent == kNobody ? 0 : processes_[parent].pid,
                       .executable = "",
                       .arguments = {},
                       .directory = ""};
    if (const Image* image = image_at(process, line)) {
      facts.executable = image->executable;
      facts.arguments = image->arguments;
    }
    chain.push_back(std::move(facts));
    process = parent;
  }
  return chain;
}

void TraceStory::tell(std::size_t process, Event event) {
  if (pending_.size() >= kMostEvents) {
    ++lost_;
    return;
  }
  event.since_start = now_;
  pending_.push_back({.line = line_, .process = process, .event = std::move(event)});
}

void TraceStory::tell_of(std::size_t process, const std::string& act, const TraceAddress& address,
                         const std::string& protocol) {
  Event event{.kind = Event::Kind::Network, .act = act, .verdict = Verdict::Allow, .rule = rule_};
  event.endpoint = Endpoint{.family = address.family,
                            .protocol = protocol,
                            .address = address.address,
                            .port = static_cast<std::uint16_t>(address.port),
                            .name = ""};
  event.subject = subject_of(*event.endpoint);
  if (act == "bind") event.verdict = Verdict::None;  // it reaches nobody
  tell(process, std::move(event));
}

void TraceStory::hear_birth(std::size_t parent, const TraceCall& call) {
  if (!call.result || *call.result <= 0) return;
  const int pid = static_cast<int>(*call.result);
  const bool thread = std::ranges::any_of(call.arguments, [](const std::string& argument) {
    return argument.find("CLONE_THREAD") != std::string::npos;
  });
  // It may have spoken, and even ended, before its parent came back from the call.
  std::size_t child = kNobody;
  if (const auto last = last_.find(pid);
      last != last_.end() && processes_[last->second].parent == kNobody && last->second != 0)
    child = last->second;
  if (child == kNobody) {
    alive_.erase(pid);
    child = process_of(pid);
  }
  if (child == parent) return;
  processes_[child].parent = parent;
  processes_[child].thread = thread;
  if (thread) return;
  const Image* const image = image_at(parent, line_);
  tell(parent, {.kind = Event::Kind::Process,
                .act = "fork",
                .subject = image == nullptr ? "" : image->executable});
}

void TraceStory::hear_network(std::size_t process, const std::string& name, const TraceCall& call) {
  if (call.arguments.empty()) return;
  if (name == "io_uring_setup") {
    Event event{.kind = Event::Kind::Network, .act = name, .subject = "io_uring"};
    event.verdict = Verdict::Allow;
    event.rule = rule_;
    return tell(process, std::move(event));
  }
  const TraceSocket socket = parse_trace_socket(call.arguments.front());
  const auto place = std::pair(leader_of(process), socket.descriptor);
  if (name == "socket") {  // the number may have been another's
    peers_.erase({place.first, static_cast<int>(call.result.value_or(-1))});
    return;
  }
  if (name == "listen") {
    if (socket.family.empty()) return;
    const std::string any = socket.family == "inet6" ? "::" : "0.0.0.0";
    return tell_of(process, name,
                   {.family = socket.family,
                    .address = socket.address.empty() ? any : socket.address,
                    .port = socket.port},
                   socket.protocol);
  }
  std::vector<TraceAddress> addresses;
  for (std::size_t i = 1; i < call.arguments.size(); ++i)
    for (TraceAddress& address : addresses_in(call.arguments[i]))
      addresses.push_back(std::move(address));
  const bool sends = name.starts_with("send");
  if (addresses.empty() && sends) {
    if (const auto peer = peers_.find(place); peer != peers_.end() && socket.protocol == "udp")
      tell_of(process, name, peer->second, socket.protocol);
    return;
  }
  // It could not be read by strace, and perhaps by the kernel.
  if (addresses.empty() && name == "connect" && call.result.value_or(0) == 0 &&
      !socket.family.empty()) {
    Event event{.kind = Event::Kind::Network, .act = name, .subject = "a hidden address"};
    event.verdict = Verdict::Allow;
    event.rule = rule_;
    return tell(process, std::move(event));
  }
  for (const TraceAddress& address : addresses) {
    if (is_local(address.family)) continue;
    if (address.family == "unspec" && (!sends || socket.family.empty())) continue;
    const bool datagrams = name == "connect" && socket.protocol == "udp";
    if (datagrams) peers_[place] = address;
    // To see which way a packet would take: getaddrinfo() does that for every "localhost".
    if (datagrams && is_loopback(address.address)) continue;
    tell_of(process, name, address, socket.protocol);
  }
}

void TraceStory::hear(int pid, const std::string& name, const TraceCall& call) {
  const std::size_t process = process_of(pid);
  if (name == "clone" || name == "clone3" || name == "fork" || name == "vfork")
    return hear_birth(process, call);
  if (name != "execve" && name != "execveat") return hear_network(process, name, call);
  if (call.result != 0L) return;
  const std::size_t program = name == "execveat" ? 1 : 0;
  if (call.arguments.size() < program + 2) return;
  Image image{.since = line_,
              .executable = text_of_argument(call.arguments[program]).value_or(""),
              .arguments = texts_of_argument(call.arguments[program + 1])};
  std::erase_if(peers_, [&](const auto& peer) { return peer.first.first == process; });
  command_started_ = true;
  processes_[process].images.push_back(image);
  tell(process, {.kind = Event::Kind::Process,
                 .act = "execute",
                 .subject = std::move(image.executable),
                 .arguments = std::move(image.arguments)});
}

void TraceStory::add(std::string_view line, std::chrono::nanoseconds since_start) {
  std::optional<TraceLine> parsed = parse_trace_line(line);
  if (!parsed) return;
  now_ = since_start;
  ++line_;
  const int pid = parsed->pid;
  switch (parsed->kind) {
    case TraceLine::Kind::Call: hear(pid, parsed->name, parse_trace_call(parsed->text)); break;
    case TraceLine::Kind::Unfinished:
      (void)process_of(pid);
      unfinished_[pid] = std::move(*parsed);
      break;
    case TraceLine::Kind::Resumed: {
      const auto begun = unfinished_.find(pid);
      if (begun == unfinished_.end() || begun->second.name != parsed->name) break;
      const std::string text = begun->second.text + parsed->text;
      unfinished_.erase(begun);
      hear(pid, parsed->name, parse_trace_call(text));
      break;
    }
    case TraceLine::Kind::Ended:
      if (const auto begun = unfinished_.find(pid); begun != unfinished_.end()) {
        const TraceLine call = std::move(begun->second);
        unfinished_.erase(begun);
        hear(pid, call.name, parse_trace_call(call.text));
      }
      command_ended_ = command_ended_ || pid == command();
      alive_.erase(pid);
      break;
  }
}

std::vector<Event> TraceStory::finish() {
  for (const auto& [pid, call] : std::exchange(unfinished_, {}))
    hear(pid, call.name, parse_trace_call(call.text));
  std::vector<Event> events;
  for (Pending& pending : pending_) {
    pending.event.processes = chain_of(pending.process, pending.line);
    events.push_back(std::move(pending.event));
  }
  pending_.clear();
  if (lost_ != 0)
    events.push_back({.kind = Event::Kind::Lost,
                      .since_start = now_,
                      .detail = "more happened than is kept",
                      .amount = lost_});
  return events;
}

}  // namespace hermetic::observed
