#include "hermetic/backends/observed/trace_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "hermetic/base/path.h"

namespace hermetic::observed {
namespace {

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

// Ways to talk to the kernel or to a neighbour.
bool is_local(const std::string& family) {
  return family == "unix" || family == "netlink" || family == "alg";
}

bool is_temporary(const std::string& path) {
  return is_within(path, "/tmp") || is_within(path, "/var/tmp") || is_within(path, "/dev/shm");
}

std::string joined(const std::string& directory, const std::string& path) {
  if (path.empty()) return directory;
  return (std::filesystem::path(directory) / path).lexically_normal().string();
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
  if (!thread && processes_[child].directory.empty())
    processes_[child].directory = whole_path(parent, "");
  if (thread) return;
  const Image* const image = image_at(parent, line_);
  tell(parent, {.kind = Event::Kind::Process,
                .act = "fork",
                .subject = image == nullptr ? "" : image->executable});
}

// Of a kind by which packets go out that no later call has an address of.
void TraceStory::hear_socket(std::size_t process, const TraceCall& call) {
  if (call.arguments.size() < 2) return;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFamilies = {
      {{"AF_INET", "inet"}, {"AF_INET6", "inet6"}, {"AF_PACKET", "packet"}, {"AF_VSOCK", "vsock"}}};
  const auto family = std::ranges::find(kFamilies, call.arguments[0],
                                        [](const auto& entry) { return entry.first; });
  const bool raw = call.arguments[1].starts_with("SOCK_RAW");
  if (family == kFamilies.end() || (!raw && family->second.starts_with("inet"))) return;
  Event event{.kind = Event::Kind::Network,
              .act = "socket",
              .subject = std::string(family->second) + (raw ? "/raw" : "")};
  event.verdict = Verdict::Allow;
  event.rule = rule_;
  tell(process, std::move(event));
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
    return hear_socket(process, call);
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
    if (!address.path.empty()) hear_unix(process, name, address.path, call);
    if (is_local(address.family)) continue;
    if (address.family == "unspec" && (!sends || socket.family.empty())) continue;
    const bool datagrams = name == "connect" && socket.protocol == "udp";
    if (datagrams) peers_[place] = address;
    // To see which way a packet would take: getaddrinfo() does that for every "localhost".
    if (datagrams && is_loopback(address.address)) continue;
    tell_of(process, name, address, socket.protocol);
  }
}

// With the directory in which the process is. "" is that itself.
std::string TraceStory::whole_path(std::size_t process, const std::string& path) const {
  if (path.starts_with('@')) return path;
  if (path.starts_with('/')) return joined("/", path);
  process = leader_of(process);
  for (std::size_t steps = 0; steps < processes_.size() && process != kNobody; ++steps) {
    const Process& known = processes_[process];
    if (!known.directory.empty()) return joined(known.directory, path);
    process = known.parent == kNobody ? kNobody : leader_of(known.parent);
  }
  return joined(directory_, path);
}

// chdir("/w") or fchdir(3</w>).
void TraceStory::hear_directory(std::size_t process, const TraceCall& call) {
  if (call.result != 0L || call.arguments.empty()) return;
  const std::string& argument = call.arguments.front();
  std::string path = text_of_argument(argument).value_or("");
  if (const std::size_t begin = argument.find('<'); path.empty() && begin != std::string::npos)
    path = argument.substr(begin + 1, argument.size() - begin - 2);
  if (!path.empty()) processes_[leader_of(process)].directory = whole_path(process, path);
}

// Whoever serves a name that no process of the step has bound is outside. What the step serves can
// be reached, but for where a sandbox would have files of its own. Names are taken as they are
// written, links and all.
void TraceStory::hear_unix(std::size_t process, const std::string& act, const std::string& name,
                           const TraceCall& call) {
  if (call.result.value_or(0) < 0) return;  // it reached nobody
  const std::string path = whole_path(process, name);
  if (act == "bind") {
    if (own_sockets_.size() < kMostEvents) own_sockets_.insert(path);
    const bool of_workspace = is_within(path, directory_);
    const bool hidden = path.starts_with('@') || (!of_workspace && is_temporary(path));
    if (hidden) return;
  } else if (own_sockets_.contains(path)) {
    return;
  }
  Event event{.kind = Event::Kind::Network, .act = act, .subject = path};
  event.verdict = Verdict::Allow;
  event.rule = kUnixSocketsRule;
  event.endpoint = Endpoint{.family = "unix", .protocol = "", .address = "", .port = 0, .name = ""};
  tell(process, std::move(event));
}

void TraceStory::hear(int pid, const std::string& name, const TraceCall& call) {
  const std::size_t process = process_of(pid);
  if (name == "clone" || name == "clone3" || name == "fork" || name == "vfork")
    return hear_birth(process, call);
  if (name == "chdir" || name == "fchdir") return hear_directory(process, call);
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
