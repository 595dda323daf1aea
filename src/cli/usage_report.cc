#include "cli/usage_report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "hermetic/base/text.h"
#include "hermetic/record/usage_json.h"

namespace hermetic::cli {
namespace {

std::string_view memory_words(Usage::MemoryMeasure measure) {
  switch (measure) {
    case Usage::MemoryMeasure::LargestProcess: return "of the largest process";
    case Usage::MemoryMeasure::Samples: return "of all processes, as seen in samples";
    case Usage::MemoryMeasure::Kernel: return "of all processes, counted by the kernel";
  }
  return "";
}

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("\n  {:<18}{}", name, text);
}

}  // namespace

std::string rounded_size(std::uint64_t bytes) {
  static constexpr std::array kUnits = {"B", "K", "M", "G", "T", "P"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f}{}", amount, kUnits[unit]);
}

std::string rounded_time(std::chrono::microseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds < 0.001) return fmt::format("{} us", time.count());
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1000);
  if (seconds < 120) return fmt::format("{:.2f} s", seconds);
  return fmt::format("{:.0f} min {:.0f} s", std::floor(seconds / 60), std::fmod(seconds, 60));
}

std::string usage_table(const Usage& usage) {
  const TransferCounts& moved = usage.transfers;
  const double wall = std::chrono::duration<double>(usage.wall_time).count();
  const double cpus = wall > 0 ? std::chrono::duration<double>(usage.cpu_time()).count() / wall : 0;
  std::string text = "usage:";
  text += line("wall time", rounded_time(usage.wall_time));
  text += line("CPU time",
               fmt::format("{} (user {}, system {}; {:.2f} CPUs)", rounded_time(usage.cpu_time()),
                           rounded_time(usage.user_time), rounded_time(usage.system_time), cpus));
  text += line("peak memory", fmt::format("{} {}", rounded_size(usage.peak_memory_bytes),
                                          memory_words(usage.memory_measure)));
  text += line("processes", usage.memory_measure == Usage::MemoryMeasure::LargestProcess
                                ? fmt::format("{} started", usage.started_processes)
                                : fmt::format("{} started, {} at once", usage.started_processes,
                                              usage.peak_processes));
  text += line("read", fmt::format("{} in {} calls, {} from disk", rounded_size(moved.read_bytes),
                                   moved.read_calls, rounded_size(moved.disk_read_bytes)));
  text +=
      line("written", fmt::format("{} in {} calls, {} to disk", rounded_size(moved.written_bytes),
                                  moved.write_calls, rounded_size(moved.disk_written_bytes)));
  if (usage.network_bytes) text += line("network", rounded_size(*usage.network_bytes));
  text += line("page faults",
               fmt::format("{} minor, {} major", usage.minor_faults, usage.major_faults));
  text +=
      line("context switches", fmt::format("{} voluntary, {} involuntary", usage.voluntary_switches,
                                           usage.involuntary_switches));
  if (usage.pressure)
    text +=
        line("waited for",
             fmt::format("CPU {}, memory {}, disk {}", rounded_time(usage.pressure->cpu),
                         rounded_time(usage.pressure->memory), rounded_time(usage.pressure->disk)));
  if (usage.by_process.empty()) return text;
  text += fmt::format("\n  {:>8} {:>8} {:>10} {:>10} {:>10} {:>10}  {}", "process", "parent", "CPU",
                      "memory", "read", "written", "name");
  for (const ProcessUsage& process : usage.by_process)
    text += fmt::format("\n  {:>8} {:>8} {:>10} {:>10} {:>10} {:>10}  {}", process.process,
                        process.parent, rounded_time(process.user_time + process.system_time),
                        rounded_size(process.peak_memory_bytes),
                        rounded_size(process.transfers.read_bytes),
                        rounded_size(process.transfers.written_bytes), printable(process.name));
  return text;
}

Result<SamplesFile> SamplesFile::make(const OwnPlace& place) {
  LineFile file = TRY(LineFile::make(place, "the samples", {}));
  return SamplesFile(place.path(), std::move(file));
}

void SamplesFile::write(const Usage& usage) {
  if (!file_.append(sample_line(usage))) lost_ = true;
  file_.flush();
}

Result<void> SamplesFile::close() {
  if (file_.finish() != 0 || lost_)
    return system_error(fmt::format("cannot write the samples to '{}'", printable(path_)),
                        file_.os_error());
  return {};
}

}  // namespace hermetic::cli
