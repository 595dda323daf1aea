#include "hermetic/monitor/process_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <set>

#include "hermetic/base/file_tree.h"

namespace hermetic {
namespace {

std::chrono::microseconds from_ticks(std::uint64_t ticks) {
  static const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::microseconds(ticks * 1'000'000 / ticks_per_second);
}

std::uint64_t page_size() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::optional<std::uint64_t> whole_number_in(std::string_view word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// The number after "key:" at the start of a line.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(key)) continue;
    std::string_view value = line.substr(key.size());
    value.remove_prefix(std::min(value.size(), value.find_first_not_of(' ')));
    return whole_number_in(value.substr(0, value.find(' ')));
  }
  return std::nullopt;
}

}  // namespace

bool parse_process_stat(std::string_view text, ProcessSample& sample) {
  // "N (name) S parent …": the name is the process's own choice and may hold anything, so that only
  // the last parenthesis ends it.
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2)
    return false;
  const std::optional<std::uint64_t> process = whole_number_in(text.substr(0, open));
  if (!process) return false;
  sample.process = *process;
  sample.name = text.substr(open + 2, close - open - 2);

  std::array<std::string_view, 22> fields;  // from the state, the third of proc(5), on
  std::string_view rest = text.substr(close + 2);
  std::size_t count = 0;
  while (count < fields.size() && !rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    fields[count++] = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  if (count < fields.size()) return false;
  const auto field = [&](std::size_t number) {
    return whole_number_in(fields[number - 3]).value_or(0);
  };
  sample.parent = field(4);
  sample.user_time = from_ticks(field(14));
  sample.system_time = from_ticks(field(15));
  sample.user_time_of_children = from_ticks(field(16));
  sample.system_time_of_children = from_ticks(field(17));
  sample.threads = field(20);
  sample.started_ticks = field(22);
  sample.resident_bytes = field(24) * page_size();
  return true;
}

bool parse_process_io(std::string_view text, TransferCounts& counts) {
  const std::optional<std::uint64_t> read = number_after(text, "rchar:");
  const std::optional<std::uint64_t> written = number_after(text, "wchar:");
  if (!read || !written) return false;
  counts.read_bytes = *read;
  counts.written_bytes = *written;
  counts.read_calls = number_after(text, "syscr:").value_or(0);
  counts.write_calls = number_after(text, "syscw:").value_or(0);
  counts.disk_read_bytes = number_after(text, "read_bytes:").value_or(0);
  counts.disk_written_bytes = number_after(text, "write_bytes:").value_or(0);
  return true;
}

std::optional<std::uint64_t> parse_loopback_bytes(std::string_view text) {
  // "    lo:    1234      5 …": the names stand to the right.
  const std::size_t name = text.find(" lo:");
  const std::string_view line = name == std::string_view::npos ? text : text.substr(name + 1);
  return number_after(line, "lo:");
}

bool ProcessTable::read_file(const char* path, std::string& text) const {
  const UniqueFd file(::openat(proc_.get(), path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return false;
  text.resize(4096);
  errno = 0;
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return size > 0;
}

std::vector<ProcessSample> ProcessTable::read(Transfers transfers) const {
  std::vector<ProcessSample> samples;
  if (!proc_.is_open()) return samples;
  const Result<UniqueFd> directory = open_directory(proc_.get(), ".");
  if (!directory) return samples;
  const Result<std::vector<std::string>> names = names_in(directory->get());
  if (!names) return samples;
  std::string text;
  for (const std::string& name : *names) {
    if (!whole_number_in(name)) continue;
    ProcessSample sample;
    if (!read_file((name + "/stat").c_str(), text) || !parse_process_stat(text, sample)) continue;
    if (transfers == Transfers::Read) sample.transfers = transfers_of(sample.process);
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<ProcessSample> ProcessTable::read_tree(std::uint64_t root, Transfers transfers) const {
  std::vector<ProcessSample> all = read(Transfers::Skip);
  std::set<std::uint64_t> members = {root};
  // A child may be listed before its parent: until nobody is added.
  for (std::size_t before = 0; before != members.size();) {
    before = members.size();
    for (const ProcessSample& sample : all)
      if (members.contains(sample.parent)) members.insert(sample.process);
  }
  std::erase_if(all,
                [&](const ProcessSample& sample) { return !members.contains(sample.process); });
  if (transfers == Transfers::Read)
    for (ProcessSample& sample : all) sample.transfers = transfers_of(sample.process);
  return all;
}

TransferCounts ProcessTable::transfers_of(std::uint64_t process) const {
  TransferCounts counts;
  std::string text;
  if (read_file(fmt::format("{}/io", process).c_str(), text)) (void)parse_process_io(text, counts);
  return counts;
}

std::optional<std::uint64_t> ProcessTable::loopback_bytes_of(std::uint64_t process) const {
  std::string text;
  if (!read_file(fmt::format("{}/net/dev", process).c_str(), text)) return std::nullopt;
  return parse_loopback_bytes(text);
}

std::optional<std::uint64_t> ProcessTable::proportional_bytes_of(std::uint64_t process) const {
  std::string text;
  if (!read_file(fmt::format("{}/smaps_rollup", process).c_str(), text)) {
    if (errno == EACCES || errno == EPERM) return std::nullopt;
    return 0;
  }
  return number_after(text, "Pss:").value_or(0) * 1024;
}

}  // namespace hermetic
