#include "hermetic/monitor/monitor.h"

#include <fcntl.h>

#include <algorithm>

namespace hermetic {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// Less CPU time than this is what waiting costs: the kernel counts in steps of ten milliseconds.
constexpr microseconds kActivity{10'000};

// A run that starts processes without end does not fill our memory with them.
constexpr std::size_t kMostProcesses = 10'000;

}  // namespace

Monitor Monitor::of_process(std::uint64_t process, ResourceLimits limits) {
  return Monitor({.limits = limits, .root = process});
}

void Monitor::watch(ProcessTable table) {
  const std::lock_guard lock(mutex_);
  table_ = std::move(table);
}

void Monitor::watch(ControlGroup group) {
  const std::lock_guard lock(mutex_);
  group_ = std::move(group);
}

void Monitor::end_members() {
  const std::lock_guard lock(mutex_);
  group_.end_members();
}

void Monitor::lift_rates() {
  const std::lock_guard lock(mutex_);
  group_.lift_rates();
}

void Monitor::start(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  // Of this host, if nobody has brought another.
  if (!table_.is_open() && options_.root != 0)
    table_ = ProcessTable(UniqueFd(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  started_ = now;
  active_ = now;
}

std::optional<Monitor::Clock::time_point> Monitor::due() const {
  const ResourceLimits& limits = options_.limits;
  std::optional<milliseconds> every = options_.every;
  // The memory and the processes are limited by the kernel, if there is a group for it; then this
  // is how soon it is noticed.
  if (limits.cpu_time || limits.disk_write_bytes || limits.idle_time || limits.memory_bytes ||
      limits.processes || limits.network_bytes || options_.max_children)
    every = std::min(every.value_or(kLimitInterval), kLimitInterval);
  if (!every) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (is_over_network()) return started_;
  return looked_.value_or(started_) + *every;
}

void Monitor::count_network(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  usage_.network_bytes = bytes;
}

void Monitor::count_written(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  carried_to_files_ = bytes;
}

std::uint64_t Monitor::disk_written() const {
  return usage_.transfers.disk_written_bytes + carried_to_files_;
}

bool Monitor::is_over_network() const {
  const std::optional<std::uint64_t>& limit = options_.limits.network_bytes;
  return limit && usage_.network_bytes.value_or(0) > *limit;
}

std::optional<Ending> Monitor::look(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  looked_ = now;  // and a snapshot is no look: whoever asks for those would put this off
  take_sample(now);
  if (const std::optional<OverLimit> breach = over()) {
    violations_.push_back(*breach);
    return *breach;
  }
  if (is_idle(now)) return TimedOut{*options_.limits.idle_time, TimedOut::Which::IdleTime};
  return std::nullopt;
}

Usage Monitor::snapshot() {
  const std::lock_guard lock(mutex_);
  if (started_ != Clock::time_point()) {
    take_sample(Clock::now());
    usage_.pressure = group_.pressure();
  }
  return usage_;
}

Usage Monitor::last() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

std::vector<OverLimit> Monitor::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

// What nobody but the processes themselves can say is not asked for if nobody wants to know.
bool Monitor::needs_processes() const {
  const ResourceLimits& limits = options_.limits;
  return options_.every || options_.by_process || options_.root != 0 || options_.max_children ||
         limits.disk_write_bytes || limits.idle_time ||
         (limits.memory_bytes && !group_.memory_bytes()) ||
         (limits.cpu_time && !group_.cpu_time()) || (limits.processes && !group_.processes()) ||
         !group_.exists();
}

void Monitor::take_sample(Clock::time_point now) {
  usage_.wall_time = duration_cast<microseconds>(now - started_);
  if (needs_processes()) {
    using Transfers = ProcessTable::Transfers;
    alive_ = options_.root != 0 ? table_.read_tree(options_.root, Transfers::Read)
                                : table_.read(Transfers::Read);
    microseconds user = {};
    microseconds system = {};
    TransferCounts transfers;
    usage_.memory_bytes = 0;
    usage_.processes = 0;
    for (const ProcessSample& sample : alive_) {
      // Whoever is waited for is counted by the one who has waited, also by init.
      user += sample.user_time_of_children;
      system += sample.system_time_of_children;
      transfers += sample.transfers;
      if (sample.process == options_.uncounted) continue;
      user += sample.user_time;
      system += sample.system_time;
      usage_.memory_bytes += sample.resident_bytes;
      usage_.processes += sample.threads;
      if (options_.by_process) add_process(sample);
    }
    take_larger(user, system);
    cpu_time_now_ = user + system;
    written_now_ = transfers.written_bytes;
    if (transfers.written_bytes >= usage_.transfers.written_bytes) usage_.transfers = transfers;
    if (usage_.memory_measure == Usage::MemoryMeasure::LargestProcess)
      usage_.memory_measure = Usage::MemoryMeasure::Samples;
  }
  add_counts_of_group();
  if (options_.loopback_of != 0)
    if (const auto bytes = table_.loopback_bytes_of(options_.loopback_of))
      usage_.network_bytes = *bytes;
  usage_.peak_memory_bytes = std::max(usage_.peak_memory_bytes, usage_.memory_bytes);
  usage_.peak_processes = std::max(usage_.peak_processes, usage_.processes);
}

void Monitor::add_counts_of_group() {
  if (const std::optional<std::uint64_t> bytes = group_.memory_bytes()) {
    // A peak that was seen before there were numbers of the kernel was of another measure.
    if (usage_.memory_measure != Usage::MemoryMeasure::Kernel) usage_.peak_memory_bytes = 0;
    usage_.memory_bytes = *bytes;
    usage_.memory_measure = Usage::MemoryMeasure::Kernel;
    usage_.peak_memory_bytes =
        std::max(usage_.peak_memory_bytes, group_.peak_memory_bytes().value_or(0));
  }
  if (const auto counted = group_.cpu_time()) take_larger(counted->user, counted->system);
  usage_.transfers.disk_written_bytes =
      std::max(usage_.transfers.disk_written_bytes, group_.disk_written_bytes());
  usage_.transfers.disk_read_bytes =
      std::max(usage_.transfers.disk_read_bytes, group_.disk_read_bytes());
}

// Somebody may end between two reads, and be in neither: what was used stays used.
void Monitor::take_larger(microseconds user, microseconds system) {
  if (user + system <= usage_.cpu_time()) return;
  usage_.user_time = user;
  usage_.system_time = system;
}

void Monitor::add_process(const ProcessSample& sample) {
  const Key key = {sample.process, sample.started_ticks};
  if (by_process_.size() >= kMostProcesses && !by_process_.contains(key)) return;
  ProcessUsage& seen = by_process_[key];
  seen.process = sample.process;
  seen.parent = sample.parent;
  seen.name = sample.name;
  seen.user_time = sample.user_time;
  seen.system_time = sample.system_time;
  seen.peak_memory_bytes = std::max(seen.peak_memory_bytes, sample.resident_bytes);
  seen.transfers = sample.transfers;
}

// Several processes may share what each of them has: before it is called too much, it is counted
// once.
bool Monitor::is_over_memory() const {
  const std::uint64_t limit = *options_.limits.memory_bytes;
  if (usage_.memory_bytes <= limit) return false;
  std::uint64_t shares = 0;
  for (const ProcessSample& sample : alive_)
    shares += table_.proportional_bytes_of(sample.process).value_or(sample.resident_bytes);
  return shares > limit;
}

std::optional<OverLimit> Monitor::over() const {
  const ResourceLimits& limits = options_.limits;
  const bool kernel_counts_memory = usage_.memory_measure == Usage::MemoryMeasure::Kernel;
  if (limits.memory_bytes) {
    const std::uint64_t limit = *limits.memory_bytes;
    const bool over = kernel_counts_memory ? group_.killed_for_memory() > 0 : is_over_memory();
    if (over) return OverLimit{"memory", std::max(usage_.peak_memory_bytes, limit), limit};
  }
  if (limits.processes) {
    const std::uint64_t limit = *limits.processes;
    if (group_.refused_processes() > 0) return OverLimit{"processes", limit + 1, limit};
    if (usage_.processes > limit) return OverLimit{"processes", usage_.processes, limit};
  }
  if (options_.max_children && usage_.processes > *options_.max_children + 1)
    return OverLimit{"max_children", usage_.processes - 1, *options_.max_children};
  if (limits.cpu_time && usage_.cpu_time() > *limits.cpu_time)
    return OverLimit{
        "cpu_time",
        static_cast<std::uint64_t>(duration_cast<milliseconds>(usage_.cpu_time()).count()),
        static_cast<std::uint64_t>(limits.cpu_time->count())};
  if (limits.disk_write_bytes && disk_written() > *limits.disk_write_bytes)
    return OverLimit{"disk_write", disk_written(), *limits.disk_write_bytes};
  if (is_over_network())
    return OverLimit{"network_bytes", *usage_.network_bytes, *limits.network_bytes};
  return std::nullopt;
}

bool Monitor::is_idle(Clock::time_point now) {
  if (!options_.limits.idle_time) return false;
  // Who ends and is not waited for takes what it has used out of the sums: they may become smaller.
  const bool active = cpu_time_now_ >= cpu_time_then_ + kActivity ||
                      cpu_time_now_ < cpu_time_then_ || written_now_ != written_then_;
  if (active) {
    active_ = now;
    cpu_time_then_ = cpu_time_now_;
    written_then_ = written_now_;
  }
  return now - active_ >= *options_.limits.idle_time;
}

Usage Monitor::stop(const Usage& exact) {
  const std::lock_guard lock(mutex_);
  usage_.wall_time = exact.wall_time;
  if (exact.wall_time == microseconds{} && started_ != Clock::time_point())
    take_sample(Clock::now());
  take_larger(exact.user_time, exact.system_time);
  if (exact.transfers.read_calls > 0) usage_.transfers = exact.transfers;
  if (exact.network_bytes) usage_.network_bytes = exact.network_bytes;
  add_counts_of_group();
  if (usage_.memory_measure != Usage::MemoryMeasure::Kernel &&
      exact.peak_memory_bytes >= usage_.peak_memory_bytes) {
    usage_.peak_memory_bytes = exact.peak_memory_bytes;
    usage_.memory_measure = Usage::MemoryMeasure::LargestProcess;
  }
  // Over at the last moment: no look may have come in between.
  if (violations_.empty())
    if (const std::optional<OverLimit> breach = over()) violations_.push_back(*breach);
  usage_.transfers.disk_written_bytes = disk_written();
  usage_.memory_bytes = 0;
  usage_.processes = 0;
  usage_.started_processes = exact.started_processes;
  usage_.peak_processes = std::max<std::uint64_t>(usage_.peak_processes, 1);
  usage_.minor_faults = exact.minor_faults;
  usage_.major_faults = exact.major_faults;
  usage_.voluntary_switches = exact.voluntary_switches;
  usage_.involuntary_switches = exact.involuntary_switches;
  usage_.pressure = group_.pressure();
  for (const auto& [key, process] : by_process_) usage_.by_process.push_back(process);
  group_ = ControlGroup();
  table_ = ProcessTable();
  started_ = {};  // from now on a snapshot is this
  return usage_;
}

}  // namespace hermetic
