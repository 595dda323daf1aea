#include "hermetic/record/key_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "hermetic/base/entries.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/reach.h"

namespace hermetic {

Result<KeyFile> KeyFile::open(const std::string& path) {
  const auto failed = [&](int os_error) {
    return system_error(fmt::format("cannot read the key '{}'", printable(path)), os_error);
  };
  const UniqueFd opened(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status = {};
  if (!opened.is_open() || ::fstat(opened.get(), &status) != 0) return failed(errno);
  std::optional<Found> file;
  if (S_ISREG(status.st_mode) && status.st_nlink > 0) {
    const std::string real = TRY(real_path_of(opened.get()));
    file = TRY(look_up_on_host(real));
    struct stat found = {};
    const bool same = file->exists() &&
                      ::fstatat(file->descriptor->get(), "", &found, AT_EMPTY_PATH) == 0 &&
                      found.st_dev == status.st_dev && found.st_ino == status.st_ino;
    if (!same) return failed(ESTALE);
  }
  SigningKey key = TRY(SigningKey::from_open_file(opened.get(), path));
  std::optional<Identity> identity;
  if (S_ISREG(status.st_mode)) identity = Identity{.device = status.st_dev, .inode = status.st_ino};
  return KeyFile(path, identity, std::move(file), std::move(key));
}

Result<void> KeyFile::check_unseen(const Spec& spec) const {
  if (!file_) return {};
  const Reach reach = TRY(Reach::of(spec));
  const std::optional<Reach::Way> read = TRY(reach.to_read(*file_));
  const std::optional<Reach::Way> way = read ? read : reach.to_write(*file_, Reach::Extent::Itself);
  if (!way) return {};
  return invalid(fmt::format("the command could {} '{}', the key that signs its own evidence: it "
                             "is '{}' in the {}",
                             read ? "read" : "replace", printable(file_->real_path),
                             printable(way->name), way->through),
                 "keep the key outside of all that the command sees, or except it; it has no other "
                 "name there");
}

Result<void> KeyFile::check_not_handed_on(std::span<const int> descriptors) const {
  if (!identity_) return {};
  for (const int descriptor : descriptors) {
    struct stat status = {};
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) continue;
    if (status.st_dev != identity_->device || status.st_ino != identity_->inode) continue;
    return invalid(fmt::format("the command would get '{}', the key that signs its own evidence, "
                               "as a standard stream",
                               printable(path_)),
                   "give the command something else, such as </dev/null, and name the key by its "
                   "path");
  }
  return {};
}

}  // namespace hermetic
