// Event: something that happened during a run. One vocabulary for all that is watched: network,
// files, processes and limits. Events travel up to whoever asked for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/run/usage.h"

namespace hermetic {

// The command tried what the spec does not allow. The attempt failed, but for a Unix socket that
// the command serves where processes outside can reach it; this says that it was made.
struct Violation {
  std::string act;          // "connect", "open", "limit"…
  std::string subject;      // the path, address or limit
  std::string detail;       // for people: who it was
  std::string rule = {};    // what decided, and where that was written
  std::uint64_t count = 1;  // how often the very same was tried
  std::string reason = {};  // why, where the rule alone does not say it
  std::string remedy = {};  // what would allow it, if a rule for the subject would not

  friend bool operator==(const Violation&, const Violation&) = default;
};

// A process, as it was when it was looked at.
struct ProcessFacts {
  int pid = 0;  // outside
  int parent = 0;
  std::string executable;
  std::vector<std::string> arguments;
  std::string directory;
  bool is_cut = false;  // there was more, of its arguments or of its parents

  friend bool operator==(const ProcessFacts&, const ProcessFacts&) = default;
};

// The other side of an attempt to reach somebody, or the own side of one who listens.
struct Endpoint {
  std::string family;    // "inet", "inet6", "vsock", "netlink", or the number
  std::string protocol;  // "tcp", "udp", "raw", or "" where it could not be told
  std::string address;   // "192.0.2.1"; "" if there is none
  std::uint16_t port = 0;
  std::string name;  // what was looked up to get the address, if that is known

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

enum class Verdict { None, Allow, Deny };  // None: nobody had to decide

struct Event {
  enum class Kind {
    Coverage,  // comes first: which detectors are on; `subject` is one of them, `detail` why not
    Started,   // the command runs
    Network,   // `act` is the call: "connect", "listen", "send", "resolve", "socket"…
    File,      // `act` is "read", "write" or "execute"; `subject` the path
    Process,   // `act` is "execute" or "fork"; `subject` the program, or the one that is copied
    Limit,     // `act` is the limit that was exceeded; `subject` its value
    Call,      // `act` is "refuse"; `subject` the system call, which the filter has refused
    Traffic,   // `act` is "sent" or "received"; `subject` the destination, `amount` the bytes
    Lost,      // `amount` events could not be recorded; `detail` says why
    Stopping,  // it was asked to end: by a limit, a violation or the caller
    Ended,     // no process of the run is left
  };

  Kind kind = Kind::Started;
  std::chrono::nanoseconds since_start = {};
  std::string act = {};
  std::string subject = {};
  std::string detail = {};
  Verdict verdict = Verdict::None;
  std::string rule = {};  // what decided: "network: none (hermetic.yaml:7)"
  std::uint64_t amount = 0;
  std::optional<Endpoint> endpoint = {};
  std::vector<std::string> arguments = {};   // of "execute": what the program is to get
  bool is_cut = false;                       // and there was more of them
  std::vector<ProcessFacts> processes = {};  // who did it, its parent, and so on up to the command

  friend bool operator==(const Event&, const Event&) = default;
};

[[nodiscard]] constexpr std::string_view to_string(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::Coverage: return "coverage";
    case Event::Kind::Started: return "started";
    case Event::Kind::Network: return "network";
    case Event::Kind::File: return "file";
    case Event::Kind::Process: return "process";
    case Event::Kind::Limit: return "limit";
    case Event::Kind::Call: return "call";
    case Event::Kind::Traffic: return "traffic";
    case Event::Kind::Lost: return "lost";
    case Event::Kind::Stopping: return "stopping";
    case Event::Kind::Ended: return "ended";
  }
  return "";
}
[[nodiscard]] constexpr std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::None: return "none";
    case Verdict::Allow: return "allow";
    case Verdict::Deny: return "deny";
  }
  return "";
}

// The rule of an event or violation about a Unix socket whose other end is, or may be, outside.
inline constexpr std::string_view kUnixSocketsRule = "unix_sockets";

// Hears what happens while a command runs. Called from the thread that is in Run::wait().
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
  // No: what it is told goes nowhere, so nobody finds out which processes did it.
  [[nodiscard]] virtual bool is_listening() const { return true; }
  // As often as RunOptions::sample_every says.
  virtual void on_sample(const Usage& /*usage*/) {}
};

// For whoever wants to know the outcome only.
class Silence final : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
  [[nodiscard]] bool is_listening() const override { return false; }
};

}  // namespace hermetic
