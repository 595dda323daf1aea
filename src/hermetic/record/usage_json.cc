#include "hermetic/record/usage_json.h"

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

using nlohmann::json;

void add_transfers(json& object, const TransferCounts& transfers) {
  object["read_bytes"] = transfers.read_bytes;
  object["written_bytes"] = transfers.written_bytes;
  object["read_calls"] = transfers.read_calls;
  object["write_calls"] = transfers.write_calls;
  object["disk_read_bytes"] = transfers.disk_read_bytes;
  object["disk_written_bytes"] = transfers.disk_written_bytes;
}

json process_as_json(const ProcessUsage& process) {
  json object = {{"process", process.process},
                 {"parent", process.parent},
                 {"name", printable(process.name)},
                 {"user_time_us", process.user_time.count()},
                 {"system_time_us", process.system_time.count()},
                 {"peak_memory_bytes", process.peak_memory_bytes}};
  add_transfers(object, process.transfers);
  return object;
}

}  // namespace

json usage_as_json(const Usage& usage) {
  json object = {{"wall_time_us", usage.wall_time.count()},
                 {"user_time_us", usage.user_time.count()},
                 {"system_time_us", usage.system_time.count()},
                 {"peak_memory_bytes", usage.peak_memory_bytes},
                 {"memory_measure", to_string(usage.memory_measure)},
                 {"peak_processes", usage.peak_processes},
                 {"started_processes", usage.started_processes},
                 {"minor_faults", usage.minor_faults},
                 {"major_faults", usage.major_faults},
                 {"voluntary_switches", usage.voluntary_switches},
                 {"involuntary_switches", usage.involuntary_switches}};
  add_transfers(object, usage.transfers);
  object["network_bytes"] = usage.network_bytes ? json(*usage.network_bytes) : json();
  object["pressure"] = nullptr;
  if (usage.pressure)
    object["pressure"] = {{"cpu_us", usage.pressure->cpu.count()},
                          {"memory_us", usage.pressure->memory.count()},
                          {"disk_us", usage.pressure->disk.count()}};
  if (!usage.by_process.empty()) {
    object["by_process"] = json::array();
    for (const ProcessUsage& process : usage.by_process)
      object["by_process"].push_back(process_as_json(process));
  }
  return object;
}

std::string sample_line(const Usage& usage) {
  json object = {{"wall_time_us", usage.wall_time.count()},
                 {"user_time_us", usage.user_time.count()},
                 {"system_time_us", usage.system_time.count()},
                 {"memory_bytes", usage.memory_bytes},
                 {"processes", usage.processes}};
  add_transfers(object, usage.transfers);
  return object.dump() + "\n";
}

}  // namespace hermetic
