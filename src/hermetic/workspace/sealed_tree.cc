#include "hermetic/workspace/sealed_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr int kDeepest = 1000;  // each level holds a descriptor

class Sealer {
 public:
  Result<void> add(int directory, int depth) {
    if (depth > kDeepest) return system_error("a tree is too deep to be sealed", ELOOP);
    for (const std::string& name : TRY(names_in(directory))) {
      struct stat status = {};
      if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return system_error(fmt::format("cannot look at '{}'", printable(name)), errno);
      line(name, status);
      if (S_ISLNK(status.st_mode)) TRY(link(directory, name));
      if (!S_ISDIR(status.st_mode)) continue;
      const UniqueFd child = TRY(open_directory(directory, name));
      TRY(add(child.get(), depth + 1));
      hash_.update("up\n");
    }
    return {};
  }

  std::string finish() { return hash_.finish(); }

 private:
  void line(const std::string& name, const struct stat& status) {
    // Directories are counted by what is in them; hard links to a file change it, too.
    hash_.update(fmt::format("{} {:o} {} {} {}.{} ", name.size(), status.st_mode, status.st_ino,
                             S_ISDIR(status.st_mode) ? 0 : status.st_size, status.st_ctim.tv_sec,
                             status.st_ctim.tv_nsec));
    hash_.update(name);
    hash_.update("\n");
  }

  Result<void> link(int directory, const std::string& name) {
    std::array<char, PATH_MAX> target = {};
    const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    if (size < 0)
      return system_error(fmt::format("cannot read the link '{}'", printable(name)), errno);
    hash_.update({target.data(), static_cast<std::size_t>(size)});
    return {};
  }

  Sha256 hash_;
};

}  // namespace

Result<std::string> seal_of(int directory) {
  Sealer sealer;
  TRY(sealer.add(directory, 0));
  return sealer.finish();
}

}  // namespace hermetic
