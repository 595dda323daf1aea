#include "hermetic/backends/linux/unix_observer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "hermetic/backends/linux/socket_object.h"
#include "hermetic/backends/linux/socket_path.h"
#include "hermetic/base/file_tree.h"

namespace hermetic::linux_backend {
namespace {

using Kind = NetworkCall::Kind;

// Each is a violation already; what is forgotten is told once more.
constexpr std::size_t kMostOwn = 4096;
constexpr std::size_t kMostListeners = 1 << 16;

Event event_about(const NetworkCall& call, std::string path) {
  Event event{.kind = Event::Kind::Network, .act = call.name, .subject = std::move(path)};
  event.endpoint = Endpoint{
      .family = family_name(AF_UNIX), .protocol = "", .address = "", .port = 0, .name = ""};
  return event;
}

std::string remedy_for(const std::string& path) {
  return "--allow-unix-socket " + path + ", or in a spec: unix_sockets: [\"" + path + "\"]";
}

}  // namespace

bool UnixObserver::is_allowed(const std::string& path) const {
  return std::any_of(plan_.unix_sockets.begin(), plan_.unix_sockets.end(),
                     [&](const std::string& allowed) {
                       return allowed == path || without_links(plan_, allowed) == path;
                     });
}

void UnixObserver::note_listener(pid_t process) {
  if (listeners_.size() < kMostListeners) listeners_.insert(process);
}

// In mount namespaces of its own the command can show a tree at any path.
bool UnixObserver::is_private(const SocketObject& found, const SocketPath& seen) const {
  if (!seen.is_private || !plan_.allow_nested_namespaces) return seen.is_private;
  const std::uint64_t device = found.device();
  return device != 0 && std::none_of(plan_.view.begin(), plan_.view.end(),
                                     [&](const auto& entry) { return entry.device == device; });
}

// With the caller's network nothing is denied; who judges runs reads the rule.
void UnixObserver::deny(const std::string& reason, Heard& heard) const {
  Event& event = *heard.event;
  event.rule = kUnixSocketsRule;
  if (is_open_network()) {
    event.verdict = Verdict::Allow;
    return;
  }
  event.verdict = Verdict::Deny;
  heard.violation = Violation{.act = event.act,
                              .subject = event.subject,
                              .detail = "",
                              .rule = event.rule,
                              .reason = reason,
                              .remedy = remedy_for(event.subject)};
}

UnixObserver::Heard UnixObserver::hear_listen(pid_t thread, const NetworkCall& call,
                                              const std::string& name) {
  if (name.empty() || names_.contains(name)) return {};
  Heard heard = hear_bind(thread, call, name);
  heard.answer.reset();  // it is bound already
  return heard;
}

// Not refused: a build that has such a socket beside its files goes on, and is told of.
UnixObserver::Heard UnixObserver::hear_bind(pid_t thread, const NetworkCall& call,
                                            const std::string& path) {
  Heard heard;
  const SocketObject place = find_place_of_socket(thread, path);
  if (place.path.empty()) {
    // Where it would be cannot be told, so it does not come to be.
    if (!is_open_network()) heard.answer = -(place.error != 0 ? place.error : EACCES);
    return heard;
  }
  if (names_.size() >= kMostOwn) names_.clear();
  names_.insert(path);
  if (is_private(place, find_in_view(plan_, place.path))) return heard;
  heard.event = event_about(call, place.path);
  if (own_.size() < kMostOwn) own_.insert(place.path);
  if (is_allowed(place.path)) {
    heard.event->rule = kUnixSocketsRule;
    heard.event->verdict = Verdict::Allow;
  } else {
    deny("processes outside can reach it", heard);
  }
  return heard;
}

// Nothing is there, or the way leads through what only the process itself can follow.
UnixObserver::Heard UnixObserver::hear_unfound(pid_t thread, const NetworkCall& call,
                                               const std::string& path, int type,
                                               const SocketObject& found) const {
  Heard heard;
  const std::string lexical = whole_path(thread, path);
  const bool is_stream = type == SOCK_STREAM || type == SOCK_SEQPACKET;
  if (!is_stream && !is_open_network())
    heard.answer = -(found.error != 0 ? found.error : EACCES);
  else if (is_stream)
    heard.peer = lexical;
  if (lexical.empty()) return heard;
  SocketPath seen = find_in_view(plan_, lexical);
  // As of files: what is nowhere is missed by no program, and the C library looks for sockets that
  // few have.
  if (!seen.in_view && !is_present(lexical)) return heard;
  heard.event = event_about(call, lexical);
  heard.event->verdict = seen.in_view ? Verdict::Allow : Verdict::Deny;
  heard.event->rule = std::move(seen.rule);
  return heard;
}

UnixObserver::Heard UnixObserver::hear(pid_t thread, const NetworkCall& call,
                                       const std::string& path, int type) {
  if (call.kind == Kind::Bind) return hear_bind(thread, call, path);
  const SocketObject found = find_socket(thread, path);
  if (found.path.empty()) return hear_unfound(thread, call, path, type, found);
  Heard heard;
  heard.event = event_about(call, found.path);
  SocketPath seen = find_in_view(plan_, found.path);
  const bool is_private_here = is_private(found, seen);
  heard.event->verdict = Verdict::Allow;
  heard.event->rule = std::move(seen.rule);
  const bool leads_out = !is_private_here && found.is_socket() && found.is_served();
  if (leads_out && is_allowed(found.path)) {
    heard.event->rule = kUnixSocketsRule;
  } else if (leads_out && !own_.contains(found.path)) {
    deny("its other end is outside the sandbox", heard);
    if (heard.violation) heard.answer = -EACCES;
  }
  if (!heard.answer && (type == SOCK_STREAM || type == SOCK_SEQPACKET)) heard.peer = found.path;
  return heard;
}

}  // namespace hermetic::linux_backend
