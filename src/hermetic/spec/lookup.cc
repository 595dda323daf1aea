#include "hermetic/spec/lookup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <utility>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

Error cannot(std::string_view verb, std::string_view path, int os_error) {
  std::string hint;
  if (os_error == EMFILE) hint = "each declared path holds a descriptor: raise it with ulimit -n";
  return system_error(fmt::format("cannot {} '{}'", verb, printable(path)), os_error, hint);
}

Result<UniqueFd> open_component(int directory, const std::string& name) {
  UniqueFd fd(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.is_open()) return system_error(name, errno);
  return fd;
}

Result<std::string> read_link(int link, const std::string& path) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(link, "", text.data(), text.size());
  if (size < 0) return cannot("read the link", path, errno);
  if (static_cast<std::size_t>(size) == text.size())
    return cannot("read the link", path, ENAMETOOLONG);
  return std::string(text.data(), static_cast<std::size_t>(size));
}

// Fills in what the descriptor alone tells; returns the mode.
Result<mode_t> identify(Found& found, int fd) {
  struct statx status = {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_MNT_ID,
              &status) != 0)
    return cannot("inspect", found.existing_path, errno);
  found.type = S_ISDIR(status.stx_mode) ? FileType::Directory : FileType::File;
  found.device = (std::uint64_t{status.stx_dev_major} << 32U) | status.stx_dev_minor;
  found.inode = status.stx_ino;
  found.mount_id = (status.stx_mask & STATX_MNT_ID) != 0 ? status.stx_mnt_id : 0;
  return mode_t{status.stx_mode};
}

// One system call for the usual case: the whole path exists and no part of it is a link.
UniqueFd open_without_links(std::string_view path) {
  const std::string text(path);
  open_how how = {};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, text.c_str(), &how, sizeof how)));
}

bool is_link(int fd) {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 && S_ISLNK(status.st_mode);
}

// The walk of one path. Holds the object reached so far and the components still to go.
class Walk {
 public:
  explicit Walk(std::string_view path) : asked_(path) { push_front(path); }

  Result<Found> finish() {
    TRY(restart());
    while (!pending_.empty()) {
      const std::string name = std::move(pending_.front());
      pending_.pop_front();
      if (name == "..") {
        TRY(go_up());
      } else if (missing_) {
        found_.real_path = join(found_.real_path, name);
      } else {
        TRY(go_down(name));
      }
    }
    if (!missing_) found_.existing_path = found_.real_path;
    (void)TRY(identify(found_, here_.get()));
    found_.descriptor = std::make_shared<const UniqueFd>(std::move(here_));
    return std::move(found_);
  }

 private:
  void push_front(std::string_view path) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string_view name = path.substr(begin, end - begin);
      if (!name.empty() && name != ".") names.emplace_back(name);
      begin = end + 1;
    }
    pending_.insert(pending_.begin(), names.begin(), names.end());
  }

  Result<void> restart() {
    here_ = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!here_.is_open()) return cannot("open", "/", errno);
    found_.real_path = "/";
    return {};
  }

  Result<void> go_up() {
    if (missing_)
      return invalid(fmt::format("'{}' leads through '{}', which does not exist, and back",
                                 printable(asked_), printable(found_.real_path)),
                     "create it, or name the real path");
    here_ = TRY(open_component(here_.get(), ".."));
    found_.real_path = std::string(parent_of(found_.real_path));
    return {};
  }

  Result<void> go_down(const std::string& name) {
    const std::string path = join(found_.real_path, name);
    Result<UniqueFd> next = open_component(here_.get(), name);
    if (!next) {
      const int os_error = next.error().os_error;
      if (os_error != ENOENT && os_error != ENOTDIR) return cannot("open", path, os_error);
      missing_ = true;
      found_.existing_path = found_.real_path;
      found_.real_path = path;
      return {};
    }
    if (!is_link(next->get())) {
      here_ = std::move(*next);
      found_.real_path = path;
      return {};
    }
    if (++links_followed_ > kMostLinks) return cannot("open", asked_, ELOOP);
    const std::string target = TRY(read_link(next->get(), path));
    if (!is_utf8(target))
      return invalid(fmt::format("the link '{}' leads to '{}', which is not valid UTF-8",
                                 printable(path), printable(target)));
    found_.links.push_back({path, target});
    push_front(target);
    if (target.starts_with('/')) return restart();
    return {};
  }

  std::string_view asked_;
  std::deque<std::string> pending_;
  UniqueFd here_;
  Found found_;
  bool missing_ = false;
  int links_followed_ = 0;
};

// The usual kind of link stands alone at the end, like /bin, and leads straight on: no walk is
// needed.
Result<Found> follow_last_link(const std::string& path, const UniqueFd& link) {
  const std::string target = TRY(read_link(link.get(), path));
  const bool straight =
      is_utf8(target) && target.find("..") == std::string::npos && !target.empty();
  if (!straight) return Walk(path).finish();
  const Result<std::string> real =
      normal_path(target.starts_with('/') ? target : join(parent_of(path), target));
  if (!real) return Walk(path).finish();
  UniqueFd fd = open_without_links(*real);
  Found found;
  found.real_path = found.existing_path = *real;
  if (!fd.is_open()) return Walk(path).finish();
  const mode_t mode = TRY(identify(found, fd.get()));
  if (S_ISLNK(mode)) return Walk(path).finish();
  found.links.push_back({path, target});
  found.descriptor = std::make_shared<const UniqueFd>(std::move(fd));
  return found;
}

}  // namespace

Result<Found> look_up_on_host(std::string_view path) {
  if (path.find("/..") != std::string_view::npos) return Walk(path).finish();
  UniqueFd fd = open_without_links(path);
  if (!fd.is_open()) return Walk(path).finish();
  Found found;
  found.real_path = path;
  found.existing_path = path;
  const mode_t mode = TRY(identify(found, fd.get()));
  if (!S_ISLNK(mode)) {
    found.descriptor = std::make_shared<const UniqueFd>(std::move(fd));
    return found;
  }
  return follow_last_link(found.real_path, fd);
}

Result<Found> look_up_by_name(std::string_view path) {
  Found found;
  found.real_path = path;
  found.existing_path = path;
  found.type = FileType::Directory;
  return found;
}

}  // namespace hermetic
