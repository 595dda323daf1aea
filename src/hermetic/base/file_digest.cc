#include "hermetic/base/file_digest.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <vector>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

// One call makes a file of terabytes that are not there, and whoever reads them is kept for days.
bool is_mostly_nothing(int descriptor) {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 30U;
  constexpr std::uint64_t kBlock = 512;
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t there = static_cast<std::uint64_t>(status.st_blocks) * kBlock;
  return size > there && size - there > kMost;
}

}  // namespace

Result<std::string> digest_of_file(int descriptor, std::string_view path) {
  if (is_mostly_nothing(descriptor))
    return unsupported(
        fmt::format("'{}' is too large for a digest: it is mostly holes", printable(path)),
        "keep disk images and the like elsewhere");
  Sha256 hash;
  std::vector<char> block(std::size_t{1} << 17U);
  for (;;) {
    const ssize_t size = ::read(descriptor, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error(fmt::format("cannot read '{}'", printable(path)), errno);
    if (size == 0) return hash.finish();
    hash.update({block.data(), static_cast<std::size_t>(size)});
  }
}

Result<std::string> digest_of_link(int parent, const std::string& name, std::string_view path) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(parent, name.c_str(), text.data(), text.size());
  if (size < 0)
    return system_error(fmt::format("cannot read the link '{}'", printable(path)), errno);
  return sha256({text.data(), static_cast<std::size_t>(size)});
}

void ListingDigest::add(std::string_view line, std::string_view name) {
  hash_.update(line);
  hash_.update(" ");
  hash_.update(name);
  hash_.update(std::string_view("\0", 1));
}

}  // namespace hermetic
