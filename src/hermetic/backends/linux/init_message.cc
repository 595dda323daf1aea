#include "hermetic/backends/linux/init_message.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "hermetic/backends/linux/network_observer.h"
#include "hermetic/backends/linux/refused_calls.h"
#include "hermetic/backends/linux/seccomp_filter.h"
#include "hermetic/backends/linux/watch.h"

namespace hermetic::linux_backend {
namespace {

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// 0 would be no limit. With 1 nothing can be opened either.
std::uint32_t open_files(const Plan& plan) {
  if (!plan.limits.open_files) return 0;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(*plan.limits.open_files, 1, UINT32_MAX));
}

// The first stream that is a terminal, from 1 on; 0: none is.
std::uint8_t terminal_place(const Facts& facts) {
  if (facts.terminals.empty()) return 0;
  return static_cast<std::uint8_t>(std::countr_zero(facts.terminals.front().places) + 1);
}

}  // namespace

std::string init_message(const Plan& plan, const Facts& facts) {
  std::vector<sock_filter> filter = seccomp_filter(plan, facts.program_key);
  const std::vector<unsigned> refused = told_calls(filter);
  if (facts.watched.network) filter = exempt_from(filter, refused);
  const std::vector<sock_filter> observer = watch_filter(facts.watched, facts.program_key, refused);
  const InitConfig config{
      .filter_count = static_cast<std::uint32_t>(filter.size()),
      .observer_count = static_cast<std::uint32_t>(observer.size()),
      .directory_size = static_cast<std::uint32_t>(plan.directory.size()) + 1,
      .own_terminal = terminal_place(facts),
      .stay_when_alone = static_cast<std::uint8_t>(plan.process.kill_on_parent_exit ? 0 : 1),
      .only_this_program = static_cast<std::uint8_t>(plan.process.allow_exec ? 0 : 1),
      .count_network =
          static_cast<std::uint8_t>(plan.network.mode == NetworkPolicy::Mode::Loopback ? 1 : 0),
      .program_key = facts.program_key,
      .host_clock_nanoseconds = plan.own_uptime ? nanoseconds(facts.monotonic) : 0,
      .probes = facts.probes,
      .secret_size = static_cast<std::uint32_t>(facts.probed_secret.size()) + 1,
      .input_size = static_cast<std::uint32_t>(facts.probed_input.size()) + 1,
      .open_files = open_files(plan)};
  std::string message(reinterpret_cast<const char*>(&config), sizeof config);
  message.append(reinterpret_cast<const char*>(filter.data()), 8 * filter.size());
  message.append(reinterpret_cast<const char*>(observer.data()), 8 * observer.size());
  for (const std::string& path : {plan.directory, facts.probed_secret, facts.probed_input})
    message.append(path.c_str(), path.size() + 1);
  return message;
}

}  // namespace hermetic::linux_backend
