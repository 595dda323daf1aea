#include "hermetic/places/own_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "hermetic/base/current_directory.h"
#include "hermetic/base/entries.h"
#include "hermetic/base/path.h"
#include "hermetic/base/standard_descriptors.h"
#include "hermetic/base/text.h"
#include "hermetic/places/planted.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic {
namespace {

constexpr const char* kMakeFirst = "nothing was run; make its directory first, or name another one";

Error cannot_write(const std::string& path, int os_error, std::string hint = {}) {
  return system_error(fmt::format("cannot write '{}'", printable(path)), os_error, std::move(hint));
}

// Like absolute_path(), but ".." stays: what it means is found out by walking the path.
Result<std::string> absolute_with_parents(const std::string& path) {
  const bool has_parents = path.starts_with("..") || path.find("/..") != std::string::npos;
  if (!has_parents) return absolute_path(path);
  if (path.starts_with('/')) return path;
  const std::string here = TRY(current_directory());
  return here + "/" + path;
}

// The number of the descriptor, if the link is one of those that /proc keeps for each; -1 if they
// are those of another process.
std::optional<int> descriptor_behind(const std::string& link) {
  const std::string_view parent = parent_of(link);
  if (!is_within(parent, kProcesses) || last_component(parent) != "fd") return std::nullopt;
  std::array<char, 32> own = {};
  if (::readlink("/proc/self", own.data(), own.size() - 1) < 0) return -1;
  const std::string here = fmt::format("{}/{}", kProcesses, own.data());
  if (!is_strictly_within(parent, here)) return -1;
  const std::string_view number = last_component(link);
  int descriptor = -1;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), descriptor);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return descriptor;
}

// What hermetic itself has opened is closed on execution; what the caller has handed in is not.
Result<UniqueFd> take_descriptor(const std::string& path, int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  if (flags < 0 || (flags & FD_CLOEXEC) != 0 || was_closed(descriptor))
    return invalid(fmt::format("cannot write '{}': it is not a descriptor that hermetic was given",
                               printable(path)),
                   "name a descriptor that the caller has opened for writing");
  const int how = ::fcntl(descriptor, F_GETFL);
  if (how < 0 || (how & O_ACCMODE) == O_RDONLY || (how & O_PATH) != 0)
    return invalid(
        fmt::format("cannot write '{}': the descriptor is not open for writing", printable(path)));
  UniqueFd copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
  if (!copy.is_open()) return cannot_write(path, errno);
  return copy;
}

Error is_no_file(const std::string& path, std::string_view what) {
  return invalid(fmt::format("cannot write '{}': it is a {}", printable(path), what),
                 "name a file");
}

// Or a directory: nothing that could be written to where a file system is read-only.
bool is_file(const Found& found) {
  struct stat status = {};
  return ::fstatat(found.descriptor->get(), "", &status, AT_EMPTY_PATH) == 0 &&
         (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

OwnPlace::Holds kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return OwnPlace::Holds::Folder;
  return S_ISREG(mode) ? OwnPlace::Holds::File : OwnPlace::Holds::Stream;
}

// Where file names stand for the kernel's own objects. /dev/shm is an ordinary file system.
bool is_of_the_kernel(std::string_view directory) {
  if (is_within(directory, kSharedMemory)) return false;
  return is_within(directory, kDevices) || is_within(directory, kProcesses) ||
         is_within(directory, kSystem);
}

}  // namespace

Result<OwnPlace> OwnPlace::find(const std::string& path) {
  OwnPlace place;
  place.path_ = path;
  if (path.empty()) return invalid("cannot write '': an empty name is no place", "name a file");
  const std::string absolute = TRY(absolute_with_parents(path));
  place.found_ = TRY(look_up_on_host(absolute));
  for (const Link& link : place.found_.links) {
    TRY(check_not_planted(link, path));
    if (const std::optional<int> descriptor = descriptor_behind(link.path))
      return of_descriptor(*descriptor, path);
  }
  const std::string& real = place.found_.real_path;
  if (place.found_.exists()) {
    struct stat status = {};
    if (::fstatat(place.found_.descriptor->get(), "", &status, AT_EMPTY_PATH) != 0)
      return cannot_write(path, errno);
    place.holds_ = kind_of(status.st_mode);
    if (S_ISBLK(status.st_mode)) return is_no_file(path, "disk");
    if (S_ISSOCK(status.st_mode)) return is_no_file(path, "socket");
  }
  const std::string parent(parent_of(real));
  const std::string& existing = place.found_.existing_path;
  const std::string deepest = place.found_.exists() ? parent : existing;
  Result<UniqueFd> directory = open_without_links(AT_FDCWD, deepest);
  if (!directory) return cannot_write(path, directory.error().os_error);
  place.directory_ = std::make_shared<const UniqueFd>(std::move(*directory));
  TRY(check_not_planted(place.found_, place.directory_->get(), path));
  const std::string_view below = relative_to(parent, deepest);
  for (std::size_t begin = 0; begin < below.size();) {
    const std::size_t end = std::min(below.find('/', begin), below.size());
    place.missing_.emplace_back(below.substr(begin, end - begin));
    begin = end + 1;
  }
  return place;
}

Result<OwnPlace> OwnPlace::of_descriptor(int descriptor, const std::string& path) {
  OwnPlace place;
  place.path_ = path;
  place.holds_ = Holds::Stream;
  UniqueFd copy = TRY(take_descriptor(path, descriptor));
  struct stat status = {};
  if (::fstat(copy.get(), &status) != 0) return cannot_write(path, errno);
  if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
  if (S_ISBLK(status.st_mode)) return is_no_file(path, "disk");
  // To standard output and error the command writes in any case.
  const bool is_pipe = S_ISFIFO(status.st_mode) && descriptor > STDERR_FILENO;
  if (S_ISREG(status.st_mode) || is_pipe) {
    const std::string real = TRY(real_path_of(copy.get()));
    // Most pipes have no name: "pipe:[123]".
    if (real.starts_with('/')) place.found_ = TRY(look_up_on_host(real));
  }
  place.handed_in_ = std::make_shared<const UniqueFd>(std::move(copy));
  return place;
}

Result<OwnPlace> OwnPlace::in_folder(const OwnFolder& folder, const std::string& name) {
  OwnPlace place;
  place.path_ = join(folder.path, name);
  UniqueFd directory(::fcntl(folder.descriptor.get(), F_DUPFD_CLOEXEC, 3));
  if (!directory.is_open()) return cannot_write(place.path_, errno);
  const std::string real = TRY(real_path_of(directory.get()));
  place.found_ = TRY(look_up_on_host(join(real, name)));
  struct stat status = {};
  if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(status.st_mode)) return cannot_write(place.path_, ELOOP);
    place.holds_ = kind_of(status.st_mode);
  }
  place.directory_ = std::make_shared<const UniqueFd>(std::move(directory));
  return place;
}

Result<void> OwnPlace::check_way(const Reach& reach, std::string_view option) const {
  for (const Link& link : found_.links) {
    Found where = TRY(look_up_on_host(parent_of(link.path)));
    where.real_path = link.path;
    if (const auto way = reach.to_write(where, Reach::Extent::Itself))
      return invalid(fmt::format("{} '{}' goes through the link '{}', which lies inside the {}",
                                 option, printable(path_), printable(link.path), way->through),
                     "choose a way that the command cannot have changed");
  }
  return {};
}

Result<void> OwnPlace::check_out_of_reach(const Reach& reach, std::string_view option,
                                          Reach::Extent extent) const {
  // A pipe or a device has no place among the trees of a spec.
  if (handed_in_ && !found_.descriptor) return {};
  TRY(check_way(reach, option));
  std::optional<Reach::Way> way = reach.to_write(found_, extent);
  if (!way && handed_in_ && found_.exists()) way = TRY(reach.to_write_into(found_));
  // A pipe can be written to, and read, on a mount that is read-only.
  if (!way && found_.exists() && !is_file(found_)) way = TRY(reach.to_read(found_));
  if (!way) return {};
  const std::string what =
      real_path() == path_
          ? fmt::format("'{}'", printable(path_))
          : fmt::format("'{}', which is '{}',", printable(path_), printable(real_path()));
  if (!way->is_inside)
    return invalid(fmt::format("{} {} is around the {}", option, what, way->through),
                   "choose a place that holds nothing of the command's");
  const std::string as =
      way->name == real_path() ? "" : fmt::format(" as '{}'", printable(way->name));
  return invalid(fmt::format("{} {} lies inside the {}{}", option, what, way->through, as),
                 "choose a place that the command cannot write to");
}

std::string_view OwnPlace::name() const { return last_component(found_.real_path); }

int OwnPlace::directory() const { return directory_ && missing_.empty() ? directory_->get() : -1; }

int OwnPlace::handed_in() const { return handed_in_ ? handed_in_->get() : -1; }

Result<void> OwnPlace::make_parents(mode_t mode) {
  while (!missing_.empty()) {
    const std::string& name = missing_.front();
    if (::mkdirat(directory_->get(), name.c_str(), mode) != 0 && errno != EEXIST)
      return system_error(fmt::format("cannot make the directories of '{}'", printable(path_)),
                          errno);
    UniqueFd next(
        ::openat(directory_->get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.is_open()) return cannot_write(path_, errno);
    directory_ = std::make_shared<const UniqueFd>(std::move(next));
    missing_.erase(missing_.begin());
  }
  return {};
}

// That something can be made in it, or replaced.
Result<void> OwnPlace::check_directory() const {
  if (!missing_.empty()) return cannot_write(path_, ENOENT, kMakeFirst);
  if (is_of_the_kernel(parent_of(real_path())))
    return invalid(
        fmt::format("cannot write '{}': no file of hermetic's belongs there", printable(path_)),
        "name a place in another directory");
  if (::faccessat(directory_->get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return cannot_write(path_, errno, kMakeFirst);
  return {};
}

Result<void> OwnPlace::check_for_file() const {
  if (handed_in_) return {};
  if (holds_ == Holds::Folder) return cannot_write(path_, EISDIR, kMakeFirst);
  const std::string file(name());
  const auto can_be_written = [&] {
    return ::faccessat(directory_->get(), file.c_str(), W_OK, AT_EACCESS) == 0;
  };
  if (holds_ == Holds::Stream)
    return can_be_written() ? Result<void>() : cannot_write(path_, errno, kMakeFirst);
  Result<void> checked = check_directory();
  // A file that cannot be replaced can still be written to.
  const bool in_place = holds_ == Holds::File && !checked && checked.error().os_error != 0;
  return in_place && can_be_written() ? Result<void>() : checked;
}

Result<void> OwnPlace::check_for_folder() const {
  if (handed_in_ || (holds_ != Holds::Nothing && holds_ != Holds::Folder))
    return cannot_write(path_, ENOTDIR, "name a folder");
  return check_directory();
}

}  // namespace hermetic
