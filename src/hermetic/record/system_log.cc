#include "hermetic/record/system_log.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr int kWarning = 4;
constexpr int kInformation = 6;
constexpr int kUser = 1;  // the facility

int severity_of(const Event& event) {
  const bool grave = event.verdict == Verdict::Deny || event.kind == Event::Kind::Lost;
  return grave ? kWarning : kInformation;
}

// Of printable text: no character is cut in two.
std::string shortened(std::string text, std::size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80U) --longest;
  text.resize(longest);
  return text + "...";
}

// Receivers cut lines at that length or above; a datagram that is too large is refused as a whole.
constexpr std::size_t kLongestLine = 2000;
constexpr std::size_t kLongestField = 16000;

}  // namespace

std::string syslog_message(const Event& event, const Redaction& redaction,
                           std::chrono::system_clock::time_point time, int pid) {
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts = {};
  ::localtime_r(&seconds, &parts);
  return fmt::format(
      "<{}>{} {:2} {:02}:{:02}:{:02} hermetic[{}]: {}", kUser * 8 + severity_of(event),
      kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_mday, parts.tm_hour,
      parts.tm_min, parts.tm_sec, pid, shortened(event_sentence(event, redaction), kLongestLine));
}

std::string journal_message(const Event& event, const EventStamp& stamp,
                            const Redaction& redaction) {
  std::string message;
  // No value has a newline: a field is one line.
  const auto add = [&](std::string_view field, std::string_view value) {
    if (value.empty()) return;
    message += fmt::format("{}={}\n", field, shortened(printable(value), kLongestField));
  };
  const auto clean = [&](std::string_view text) { return redaction.clean(text); };
  add("MESSAGE", event_sentence(event, redaction));
  add("PRIORITY", fmt::format("{}", severity_of(event)));
  add("SYSLOG_IDENTIFIER", "hermetic");
  add("SYSLOG_FACILITY", fmt::format("{}", kUser));
  add("HERMETIC_SEQ", fmt::format("{}", stamp.sequence));
  add("HERMETIC_KIND", to_string(event.kind));
  add("HERMETIC_VERDICT", to_string(event.verdict));
  add("HERMETIC_ACT", clean(event.act));
  add("HERMETIC_SUBJECT", clean(event.subject));
  add("HERMETIC_RULE", clean(event.rule));
  add("HERMETIC_DETAIL", clean(event.detail));
  if (event.amount != 0) add("HERMETIC_AMOUNT", fmt::format("{}", event.amount));
  if (event.endpoint) {
    add("HERMETIC_ADDRESS", clean(event.endpoint->address));
    add("HERMETIC_PORT", fmt::format("{}", event.endpoint->port));
    add("HERMETIC_PROTOCOL", clean(event.endpoint->protocol));
    add("HERMETIC_NAME", clean(event.endpoint->name));
  }
  if (!event.processes.empty()) {
    const ProcessFacts& process = event.processes.front();
    add("HERMETIC_EXECUTABLE", clean(process.executable));
    std::string arguments;
    for (const std::string& argument : redaction.clean_arguments(process.arguments))
      arguments += (arguments.empty() ? "" : " ") + argument;
    add("HERMETIC_ARGUMENTS", arguments);
    add("HERMETIC_DIRECTORY", clean(process.directory));
    add("HERMETIC_PID", fmt::format("{}", process.pid));
  }
  return message;
}

bool SystemLog::connect() {
  for (const bool journal : {true, false}) {
    const std::string& path = journal ? places_.journal : places_.syslog;
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    if (path.empty() || path.size() >= sizeof(address.sun_path)) continue;
    std::memcpy(address.sun_path, path.data(), path.size());
    UniqueFd made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* const name = reinterpret_cast<const sockaddr*>(&address);
    if (made.is_open() && ::connect(made.get(), name, sizeof(address)) == 0) {
      socket_ = std::move(made);
      to_journal_ = journal;
      return true;
    }
    os_error_ = errno;
  }
  return false;
}

bool SystemLog::send(std::string_view message) {
  for (const bool waited : {false, true}) {
    const ssize_t sent =
        ::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      patient_ = true;
      return true;
    }
    os_error_ = errno;
    if (os_error_ == ECONNREFUSED || os_error_ == ENOTCONN || os_error_ == ECONNRESET)
      socket_.reset();
    if (waited || (os_error_ != EAGAIN && os_error_ != ENOBUFS)) return false;
    pollfd ready = {.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    const int patience = patient_ ? static_cast<int>(places_.patience.count()) : 0;
    if (::poll(&ready, 1, patience) > 0) continue;
    patient_ = false;
    return false;
  }
  return false;
}

Result<SystemLog> SystemLog::make(const Redaction& redaction, const Places& places) {
  SystemLog log(redaction, places);
  if (!log.connect())
    return system_error(fmt::format("cannot reach the system's log at '{}'", places.syslog),
                        log.os_error_, "leave --syslog out, or start the service that listens");
  return log;
}

void SystemLog::record(const Event& event) {
  const EventStamp stamp{.sequence = next_++, .time = std::chrono::system_clock::now()};
  const auto delivered = [&] {
    if (!socket_.is_open() && !connect()) return false;
    return send(to_journal_ ? journal_message(event, stamp, *redaction_)
                            : syslog_message(event, *redaction_, stamp.time, ::getpid()));
  };
  if (delivered()) return;
  // A service that has gone may have come back, or another one in its place.
  const bool gone = !socket_.is_open();
  if (!gone || !delivered()) ++lost_;
}

Result<void> SystemLog::close() {
  socket_.reset();
  if (lost_ == 0) return {};
  return system_error(fmt::format("cannot send all events to '{}': {} of {} are lost", place(),
                                  lost_, next_ - EventStamp{}.sequence),
                      os_error_);
}

}  // namespace hermetic
