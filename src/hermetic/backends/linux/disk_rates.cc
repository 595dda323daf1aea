#include "hermetic/backends/linux/disk_rates.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <optional>
#include <set>

#include "hermetic/base/text.h"
#include "hermetic/monitor/block_device.h"

namespace hermetic::linux_backend {
namespace {

bool is_given_up(const Plan& plan, Clause clause) {
  return std::any_of(plan.clauses.begin(), plan.clauses.end(), [&](const PlannedClause& planned) {
    return planned.clause == clause && planned.given_up;
  });
}

// What the caller has opened for the command, if it is a file: its name, or nothing.
std::optional<std::string> file_at(int descriptor) {
  struct stat status = {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  std::array<char, PATH_MAX> name;  // NOLINT(*-member-init): written before it is read
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), name.data(), name.size());
  if (size <= 0 || name[0] != '/') return std::nullopt;
  return std::string(name.data(), static_cast<std::size_t>(size));
}

struct Paths {
  std::set<std::string> read;
  std::set<std::string> written;
};

Paths paths_of(const Plan& plan, const Staging& staging, const RunOptions& options) {
  Paths paths;
  for (const ViewEntry& entry : plan.view) {
    if (entry.kind == ViewEntry::Kind::Input) paths.read.insert(entry.source);
    if (entry.kind == ViewEntry::Kind::OutputInPlace) paths.written.insert(entry.source);
  }
  for (const StagedOutput& staged : staging.outputs()) paths.written.insert(staged.directory);
  for (const int descriptor :
       {options.standard_input, options.standard_output, options.standard_error})
    if (const auto file = file_at(descriptor)) paths.written.insert(*file);
  paths.read.insert(paths.written.begin(), paths.written.end());  // and read again
  return paths;
}

Error refusal(Clause clause, const std::string& path, const Mount& mount, const char* reason) {
  return unsupported(
      fmt::format("{} cannot be kept for '{}': {} ('{}', mounted at '{}')", to_string(clause),
                  printable(path), reason, printable(mount.filesystem), printable(mount.point)),
      fmt::format("put it on a disk, or do without: --give-up {}", to_string(clause)));
}

// The disks below the path and of the path itself.
Result<void> add_disks(std::set<std::string>& disks, const std::string& path, Clause clause,
                       const MountTable& mounts, const std::string& sys, bool is_given_up) {
  std::vector<const Mount*> found = mounts.below(path);
  if (const Mount* own = mounts.showing(path)) found.push_back(own);
  for (const Mount* mount : found) {
    if (is_without_disk(mount->filesystem)) continue;
    const Result<std::string> disk = whole_disk(mount->device, sys);
    if (!disk && is_given_up) continue;
    if (!disk) return refusal(clause, path, *mount, "its file system has no disk of its own");
    if (clause == Clause::DiskWriteRate && !is_given_up &&
        !is_written_for_its_writer(mount->filesystem))
      return refusal(clause, path, *mount,
                     "the kernel does not know for whom it writes this kind of file system");
    disks.insert(*disk);
  }
  return {};
}

}  // namespace

Result<std::vector<DiskRate>> disk_rates(const Plan& plan, const Staging& staging,
                                         const RunOptions& options, const MountTable& mounts,
                                         const std::string& sys) {
  const Paths paths = paths_of(plan, staging, options);
  std::map<std::string, DiskRate> rates;
  const auto add = [&](Clause clause, const std::set<std::string>& places,
                       std::optional<std::uint64_t> rate,
                       std::optional<std::uint64_t> DiskRate::*member) -> Result<void> {
    if (!rate) return {};
    std::set<std::string> disks;
    for (const std::string& path : places)
      TRY(add_disks(disks, path, clause, mounts, sys, is_given_up(plan, clause)));
    for (const std::string& disk : disks) {
      rates[disk].disk = disk;
      rates[disk].*member = rate;
    }
    return {};
  };
  TRY(add(Clause::DiskReadRate, paths.read, plan.limits.disk_read_rate, &DiskRate::read_bytes));
  TRY(add(Clause::DiskWriteRate, paths.written, plan.limits.disk_write_rate,
          &DiskRate::written_bytes));
  std::vector<DiskRate> all;
  for (auto& [disk, rate] : rates) all.push_back(std::move(rate));
  return all;
}

}  // namespace hermetic::linux_backend
