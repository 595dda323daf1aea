#include "hermetic/workspace/contents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>

#include "hermetic/base/file_digest.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {
namespace {

// Who writes twice within one tick of a file system's clock leaves the same times, so those of a
// file that was written just now say nothing. Nobody sets the time of the last change of anything.
bool has_settled(const struct stat& status) {
  constexpr std::time_t kLongestTick = 2;  // seconds
  return std::time(nullptr) - status.st_ctim.tv_sec > kLongestTick;
}

}  // namespace

Result<std::string> Contents::digest_of(const std::string& file) {
  const UniqueFd content(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!content.is_open())
    return system_error(fmt::format("cannot read '{}'", printable(file)), errno);
  return digest_of(content.get(), file);
}

Result<std::string> Contents::digest_of(int content, const std::string& file) {
  struct stat status = {};
  if (::fstat(content, &status) != 0)
    return system_error(fmt::format("cannot read '{}'", printable(file)), errno);
  // A device may have no end.
  if (!S_ISREG(status.st_mode)) return invalid(fmt::format("'{}' is not a file", printable(file)));
  const std::string key = fmt::format(
      "{}\n{} {} {} {}.{:09} {}.{:09}", file, status.st_dev, status.st_ino, status.st_size,
      status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  const bool settled = has_settled(status);
  const std::lock_guard guard(mutex_);
  if (const auto known = digests_.find(key); known != digests_.end()) return known->second;
  std::string digest = TRY(digest_of_file(content, file));
  if (settled) digests_[key] = digest;
  return digest;
}

}  // namespace hermetic
