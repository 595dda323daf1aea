#include "hermetic/outputs/inspect.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "hermetic/base/file_digest.h"
#include "hermetic/base/file_powers.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

class Inspector {
 public:
  Inspector(const Publication& publication, Digests digests)
      : publication_(publication), digests_(digests) {}

  // Returns the entry's line in its directory's listing: kind, digest, name.
  Result<std::string> visit(int parent, const std::string& name, const std::string& path,
                            int depth) {
    struct stat status = {};
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return system_error(fmt::format("cannot inspect '{}'", printable(path)), errno);
    if (S_ISLNK(status.st_mode)) return visit_link(parent, name, path);
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
      return refuse(path, "has a set-user-id or set-group-id bit",
                    "clear it with chmod in the command");
    if (S_ISREG(status.st_mode)) return visit_file(parent, name, path, status);
    if (S_ISDIR(status.st_mode)) return visit_directory(parent, name, path, depth);
    return refuse(path, "is a device, fifo or socket",
                  "remove it in the command; only files, links and directories leave");
  }

  std::uint64_t bytes = 0;
  std::uint64_t files = 0;

 private:
  static Error refuse(const std::string& path, std::string_view why, std::string hint) {
    return unsupported(fmt::format("the output was not published: '{}' {}", printable(path), why),
                       std::move(hint));
  }

  Result<std::string> visit_link(int parent, const std::string& name, const std::string& path) {
    ++files;
    return "l " + TRY(digest_of_link(parent, name, path));
  }

  Result<std::string> visit_file(int parent, const std::string& name, const std::string& path,
                                 const struct stat& status) {
    if (has_capabilities(parent, name))
      return refuse(path, "has capabilities", "remove them with setcap -r in the command");
    ++files;
    bytes += static_cast<std::uint64_t>(status.st_size);
    const std::string kind = (status.st_mode & S_IXUSR) != 0 ? "x " : "f ";
    if (digests_ == Digests::Skip) return kind;
    UniqueFd file(::openat(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open() && errno == EACCES &&
        ::fchmodat(parent, name.c_str(), status.st_mode | S_IRUSR, 0) == 0) {
      // Unreadable for ourselves: readable for the moment it takes to hash it.
      file =
          UniqueFd(::openat(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
      (void)::fchmodat(parent, name.c_str(), status.st_mode, 0);
    }
    if (!file.is_open())
      return system_error(fmt::format("cannot open '{}'", printable(path)), errno);
    return kind + TRY(digest_of_file(file.get(), path));
  }

  Result<std::string> visit_directory(int parent, const std::string& name, const std::string& path,
                                      int depth) {
    if (depth > kDeepestTree)
      return refuse(path, fmt::format("lies more than {} directories deep", kDeepestTree),
                    "keep outputs flatter");
    Result<UniqueFd> opened = open_directory(parent, name);
    if (!opened && opened.error().os_error == EACCES)
      return refuse(path, "cannot be listed", "make it readable in the command");
    if (!opened) return std::move(opened).error();
    if (has_own_default_list(parent, name))
      return refuse(path, "has a default access control list of its own",
                    "remove it with setfacl -k in the command");
    const UniqueFd directory = std::move(*opened);
    ListingDigest listing;
    for (const std::string& child : TRY(names_in(directory.get()))) {
      const std::string child_path = join(path, child);
      const auto& exceptions = publication_.exceptions;
      const std::string published =
          join(publication_.destination, relative_to(child_path, publication_.path));
      if (std::find(exceptions.begin(), exceptions.end(), published) != exceptions.end()) continue;
      listing.add(TRY(visit(directory.get(), child, child_path, depth + 1)), child);
    }
    return "d " + listing.finish();
  }

  const Publication& publication_;
  Digests digests_;
};

// No process of the run is left: nothing changes between the look and the act.
Result<void> disarm_entry(int parent, const std::string& name, int depth) {
  struct stat status = {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return system_error(fmt::format("cannot inspect '{}'", printable(name)), errno);
  if (S_ISLNK(status.st_mode)) return {};
  const bool ordinary = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
  if (!ordinary && ::unlinkat(parent, name.c_str(), 0) != 0)
    return system_error(fmt::format("cannot remove '{}'", printable(name)), errno);
  if (!ordinary) return {};
  TRY(clear_powers(parent, name));
  if (!S_ISDIR(status.st_mode)) return {};
  if (depth > kDeepestTree)
    return unsupported(fmt::format("'{}' lies too deep to be kept", printable(name)));
  if ((status.st_mode & 0700) != 0700)
    (void)::fchmodat(parent, name.c_str(), (status.st_mode & 0777) | 0700, 0);
  const UniqueFd directory = TRY(open_directory(parent, name));
  for (const std::string& child : TRY(names_in(directory.get())))
    TRY(disarm_entry(directory.get(), child, depth + 1));
  return {};
}

}  // namespace

Result<PublishedOutput> inspect_output(const StagedOutput& staged, Digests digests) {
  Inspector inspector(staged.publication, digests);
  const std::string line =
      TRY(inspector.visit(staged.descriptor.get(), "tree", staged.publication.path, 0));
  const bool directory = line.starts_with("d ");
  return PublishedOutput{.path = staged.publication.destination,
                         .type = directory ? FileType::Directory : FileType::File,
                         .size_bytes = inspector.bytes,
                         .files = inspector.files,
                         .digest = digests == Digests::Make ? line.substr(2) : ""};
}

Result<void> disarm(const StagedOutput& staged) {
  return disarm_entry(staged.descriptor.get(), "tree", 0);
}

}  // namespace hermetic
