// Monitor: watches what a run uses, and notices when that is more than it may.
//
// The loop of a run drives it. It looks at the processes only as often as somebody needs the
// numbers: a limit that it has to keep, or a caller who wants samples.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "hermetic/monitor/control_group.h"
#include "hermetic/monitor/process_table.h"
#include "hermetic/run/outcome.h"
#include "hermetic/spec/limits.h"

namespace hermetic {

// A limit that the kernel does not keep is looked after this often.
inline constexpr std::chrono::milliseconds kLimitInterval{40};

class Monitor {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    ResourceLimits limits = {};
    // Processes besides the first, if nobody else keeps them from being more.
    std::optional<std::uint64_t> max_children = {};
    // How often to look, besides what the limits need; none: only when asked.
    std::optional<std::chrono::milliseconds> every = {};
    bool by_process = false;
    // Who is watched: this process and its descendants; 0: everybody in the table.
    std::uint64_t root = 0;
    // Somebody else, who is not of the run but in the table, as init is.
    std::uint64_t uncounted = 0;
    // Whose loopback carries the run's network bytes; 0: nobody's, see count_network().
    std::uint64_t loopback_of = 0;
  };

  explicit Monitor(Options options) : options_(std::move(options)) {}
  // Of a process of this host and its descendants, for whoever runs commands in other ways.
  static Monitor of_process(std::uint64_t process, ResourceLimits limits);

  // Before start(), or as soon as it is there.
  void watch(ProcessTable table);
  void watch(ControlGroup group);
  [[nodiscard]] const ControlGroup& group() const { return group_; }
  void close_doors() { group_.close_doors(); }
  // Of the group: see ControlGroup. From any thread.
  void end_members();
  void lift_rates();

  void start(Clock::time_point now = Clock::now());
  // When to call look(); none: nobody needs it.
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  // Looks at everything, and says what is over its limit, if anything is.
  std::optional<Ending> look(Clock::time_point now = Clock::now());

  // What has gone over the network so far, from whoever relays it. More than the limit is due to be
  // looked at, at once.
  void count_network(std::uint64_t bytes);

  // What was written to files in the run's name so far, by whoever carries it there.
  void count_written(std::uint64_t bytes);

  // What was seen then.
  [[nodiscard]] Usage last() const;

  // What has been used so far. From any thread.
  [[nodiscard]] Usage snapshot();

  // The last look, after which the group is removed. `exact` are numbers of the kernel about the
  // run as a whole, which are better than what was seen.
  Usage stop(const Usage& exact = {});

  [[nodiscard]] bool is_violated() const { return !violations().empty(); }
  [[nodiscard]] std::vector<OverLimit> violations() const;

 private:
  struct Key {
    std::uint64_t process;
    std::uint64_t started;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // With mutex_ held.
  void take_sample(Clock::time_point now);
  void add_counts_of_group();
  void take_larger(std::chrono::microseconds user, std::chrono::microseconds system);
  void add_process(const ProcessSample& sample);
  [[nodiscard]] bool is_over_memory() const;
  [[nodiscard]] std::optional<OverLimit> over() const;
  [[nodiscard]] bool is_over_network() const;
  [[nodiscard]] std::uint64_t disk_written() const;
  [[nodiscard]] bool is_idle(Clock::time_point now);
  [[nodiscard]] bool needs_processes() const;

  Options options_;
  ProcessTable table_;
  ControlGroup group_;
  mutable std::mutex mutex_;
  Clock::time_point started_ = {};
  std::optional<Clock::time_point> looked_;
  Usage usage_;
  std::vector<ProcessSample> alive_;
  std::map<Key, ProcessUsage> by_process_;
  std::vector<OverLimit> violations_;
  // What those who are there have done.
  std::chrono::microseconds cpu_time_now_ = {};
  std::uint64_t written_now_ = 0;
  std::uint64_t carried_to_files_ = 0;
  // When somebody last did something, and what they had done by then.
  Clock::time_point active_ = {};
  std::chrono::microseconds cpu_time_then_ = {};
  std::uint64_t written_then_ = 0;
};

}  // namespace hermetic
