// NameLookup: the addresses that a name really has, asked outside of the sandbox.
//
// The program is linked statically, where getaddrinfo() is of no use, and would wait. The hosts
// file comes first and is final; then the nameservers.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/guard/dns_exchange.h"
#include "hermetic/guard/host_files.h"
#include "hermetic/guard/poller.h"

namespace hermetic::guard {

struct LookupAnswer {
  enum class Status { Found, NoSuchName, Failed };

  Status status = Status::Failed;
  std::vector<Address> addresses;  // IPv4 first; of a Found name none at all is possible

  friend bool operator==(const LookupAnswer&, const LookupAnswer&) = default;
};

// What an answer says about the name: follows its aliases. `time_to_live` becomes the smallest.
[[nodiscard]] std::vector<Address> addresses_in(const DnsMessage& message, std::string_view name,
                                                std::uint16_t type, std::uint32_t& time_to_live);

class NameLookup {
 public:
  using Done = std::function<void(const LookupAnswer&)>;

  NameLookup(Poller& poller, HostTable hosts, ResolverSettings settings)
      : poller_(poller), hosts_(std::move(hosts)), settings_(std::move(settings)) {}

  [[nodiscard]] const HostTable& hosts() const { return hosts_; }
  // `name` is in lower case. Told once: at once, if the answer is known.
  void find(const std::string& name, Done done);
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  void on_time(Clock::time_point now);

 private:
  struct Task {
    std::vector<Done> waiting;
    std::vector<std::string> candidates;  // still to be tried, the next one last
    std::array<std::unique_ptr<DnsExchange>, 2> exchanges;
    std::array<std::optional<LookupAnswer>, 2> answers;
    std::uint32_t time_to_live = 0;
    bool any_failed = false;
    std::optional<Clock::time_point> deadline;  // IPv4 is known: IPv6 has until then
  };
  struct Known {
    LookupAnswer answer;
    Clock::time_point until;
  };

  void try_next(const std::string& name, Task& task);
  void take(const std::string& name, const std::string& candidate, std::size_t index,
            const std::optional<DnsMessage>& message);
  void consider(const std::string& name);
  void finish(const std::string& name, const LookupAnswer& answer);

  Poller& poller_;
  HostTable hosts_;
  ResolverSettings settings_;
  std::map<std::string, std::shared_ptr<Task>> tasks_;
  std::map<std::string, Known> known_;
};

}  // namespace hermetic::guard
