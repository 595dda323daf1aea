#include "hermetic/outputs/staging.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/own_folders.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/outputs/journal.h"
#include "hermetic/outputs/recovery.h"
#include "hermetic/places/private_folder.h"

namespace hermetic {
namespace {

std::uint64_t mount_of(const std::string& path) {
  struct statx status = {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &status) != 0) return 0;
  return status.stx_mnt_id;
}

std::string existing_part(std::string path) {
  while (path != "/" && ::access(path.c_str(), F_OK) != 0) path = std::string(parent_of(path));
  return path;
}

// Would the command see something that is made in this directory?
bool is_shown(const Plan& plan, std::string_view directory) {
  return std::any_of(plan.view.begin(), plan.view.end(), [&](const ViewEntry& entry) {
    const bool host =
        entry.kind == ViewEntry::Kind::Input || entry.kind == ViewEntry::Kind::OutputInPlace;
    return host && is_within(directory, entry.source);
  });
}

// Where an output is prepared: directories for temporary files come first, then those above the
// destination; one on the mount of the destination before all others. "" if there is none.
std::string base_for(const Plan& plan, const std::string& destination) {
  const std::string start = existing_part(std::string(parent_of(destination)));
  std::vector<std::string> candidates(kTemporaryFolders.begin(), kTemporaryFolders.end());
  for (std::string above = start;; above = std::string(parent_of(above))) {
    candidates.push_back(above);
    if (above == "/") break;
  }
  const std::uint64_t wanted = mount_of(start);
  std::string first;
  for (const std::string& candidate : candidates) {
    if (::access(candidate.c_str(), W_OK | X_OK) != 0 || is_shown(plan, candidate)) continue;
    if (mount_of(candidate) == wanted) return candidate;
    if (first.empty()) first = candidate;
  }
  return first;
}

// An output that is there already keeps its mode.
mode_t mode_for(const Publication& publication, mode_t usual) {
  struct stat status = {};
  if (::lstat(publication.destination.c_str(), &status) != 0 || S_ISLNK(status.st_mode))
    return usual;
  return status.st_mode & 0777;
}

Result<void> make_tree(int directory, const Publication& publication) {
  const auto failed = [&] {
    return system_error(fmt::format("cannot prepare the output '{}'", printable(publication.path)),
                        errno);
  };
  if (publication.type == FileType::File) {
    const UniqueFd file(::openat(directory, "tree", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.is_open() || ::fchmod(file.get(), mode_for(publication, 0644)) != 0) return failed();
    return {};
  }
  if (::mkdirat(directory, "tree", 0700) != 0) return failed();
  if (::fchmodat(directory, "tree", mode_for(publication, 0755) | 0700, 0) != 0) return failed();
  return {};
}

// The directory's own mode, so that a program that looks finds it as it is.
Result<void> make_maker_directory(int directory, const std::string& path) {
  struct stat status = {};
  const bool known = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  const mode_t mode = (known ? status.st_mode & 0777U : 0755U) | 0700U;
  if (::mkdirat(directory, "tree", 0700) == 0 && ::fchmodat(directory, "tree", mode, 0) == 0)
    return {};
  return system_error(fmt::format("cannot prepare the directory '{}'", printable(path)), errno);
}

Result<void> take_one(const MakerDirectory& maker, const StagedOutput& staged) {
  const Publication& publication = staged.publication;
  const auto refuse = [&](std::string_view why, std::string hint) {
    return unsupported(fmt::format("the output '{}' {}", printable(publication.path), why),
                       std::move(hint));
  };
  const UniqueFd directory = TRY(open_directory(maker.descriptor.get(), "tree"));
  const std::string name(last_component(publication.path));
  struct stat status = {};
  if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return refuse("was not made by the command",
                  "leave out made_by: command, or let the command make it");
  const bool file = S_ISREG(status.st_mode);
  if (!file && !S_ISDIR(status.st_mode))
    return refuse("is neither a file nor a directory",
                  "let the command make one of the two under this name");
  if (file != (publication.type == FileType::File))
    return refuse(file ? "is a file, not a directory" : "is a directory, not a file",
                  file ? "declare it with type: file" : "declare it with type: directory");
  TRY(remove_tree(staged.descriptor.get(), "tree"));
  if (::renameat(directory.get(), name.c_str(), staged.descriptor.get(), "tree") != 0)
    return system_error(fmt::format("cannot take the output '{}'", printable(publication.path)),
                        errno);
  return {};
}

}  // namespace

Result<void> Staging::take_what_was_made() {
  Result<void> first = {};
  for (const StagedOutput& staged : outputs_)
    for (const MakerDirectory& maker : makers_) {
      if (maker.path != staged.publication.made_in) continue;
      Result<void> taken = take_one(maker, staged);
      if (!taken && first) first = std::move(taken);
    }
  return first;
}

Result<Staging> Staging::make(const Plan& plan, Layering layering) {
  Staging staging;
  staging.places_ = TRY(ChangePlaces::make(plan, layering));
  if (plan.publications.empty()) return staging;
  // What stays is told by "hermetic gc"; it is no reason not to run.
  std::set<std::string> looked_through;
  const auto recover = [&](const std::string& base) {
    if (!base.empty() && looked_through.insert(base).second) (void)recover_abandoned(base);
  };
  recover(journal_base());
  std::vector<std::string> bases;
  for (const Publication& publication : plan.publications) {
    bases.push_back(base_for(plan, publication.destination));
    if (bases.back().empty())
      return unsupported(
          fmt::format("there is no directory in which the output '{}' can be prepared unseen",
                      printable(publication.path)),
          "make /var/tmp writable, or declare it as no input");
    recover(bases.back());
  }
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const Publication& publication = plan.publications[i];
    PrivateFolder folder =
        TRY(make_private_folder(bases[i], [&](const PrivateFolder& made) -> Result<void> {
          return make_tree(made.descriptor.get(), publication);
        }));
    staging.outputs_.push_back({.publication = publication,
                                .directory = std::move(folder.path),
                                .descriptor = std::move(folder.descriptor)});
    const std::string& made_in = publication.made_in;
    if (made_in.empty() ||
        std::any_of(staging.makers_.begin(), staging.makers_.end(),
                    [&](const MakerDirectory& maker) { return maker.path == made_in; }))
      continue;
    PrivateFolder maker =
        TRY(make_private_folder(bases[i], [&](const PrivateFolder& made) -> Result<void> {
          return make_maker_directory(made.descriptor.get(), made_in);
        }));
    staging.makers_.push_back({.path = made_in,
                               .directory = std::move(maker.path),
                               .descriptor = std::move(maker.descriptor)});
  }
  return staging;
}

Staging::~Staging() {
  // Nobody can be told from here; what cannot be removed is found again by its name.
  for (const StagedOutput& staged : outputs_)
    if (!staged.directory.empty()) (void)remove_tree(AT_FDCWD, staged.directory);
  for (const MakerDirectory& maker : makers_)
    if (!maker.directory.empty()) (void)remove_tree(AT_FDCWD, maker.directory);
}

}  // namespace hermetic
