// DnsExchange: one question to the host's nameservers, until one of them answers or all have
// failed.
#pragma once

#include <functional>
#include <optional>

#include "hermetic/guard/dns_message.h"
#include "hermetic/guard/host_files.h"
#include "hermetic/guard/poller.h"

namespace hermetic::guard {

class DnsExchange {
 public:
  // An answer with NoError or NoSuchName; nothing if there is none. Told once.
  using Done = std::function<void(std::optional<DnsMessage>)>;

  // Both are borrowed, and `settings` has a nameserver.
  DnsExchange(Poller& poller, const ResolverSettings& settings, DnsQuestion question, Done done);
  DnsExchange(const DnsExchange&) = delete;
  DnsExchange& operator=(const DnsExchange&) = delete;

  // May be done at once, without a network.
  void start() { ask_next(); }
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  void on_time(Clock::time_point now);

 private:
  enum class Step { Idle, Datagram, Connecting, Writing, ReadingSize, ReadingMessage, Done };

  void ask_next();
  bool open(int type);  // a fresh socket, so that each question comes from another port
  bool ask_by_datagram();
  bool ask_by_stream();
  void on_datagram();
  void on_stream();
  bool stream_step();
  void take(std::span<const std::uint8_t> bytes, bool by_stream);
  [[nodiscard]] bool is_answer(const DnsMessage& message) const;
  void finish(std::optional<DnsMessage> message);
  [[nodiscard]] const Nameserver& server() const;

  Poller& poller_;
  const ResolverSettings& settings_;
  DnsQuestion question_;
  Done done_;
  Step step_ = Step::Idle;
  unsigned tries_ = 0;  // started
  std::uint16_t id_ = 0;
  Clock::time_point deadline_ = {};
  Bytes out_;  // what is left to write
  Bytes in_;
  std::size_t wanted_ = 0;
  UniqueFd socket_;
  Poller::Watch watch_;
};

}  // namespace hermetic::guard
