#include "hermetic/record/evidence_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "hermetic/base/file_digest.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/own_folders.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr const char* kTree = "tree";            // in the private folder
constexpr std::string_view kKind = "evidence-";  // of that folder

Error cannot(std::string_view verb, std::string_view path, int os_error) {
  return system_error(fmt::format("cannot {} '{}'", verb, printable(path)), os_error);
}

bool holds(int folder, std::string_view file) {
  const Result<bool> there = exists_at(folder, std::string(file));
  return there && *there;
}

// Made by hermetic: nothing else is replaced.
bool is_evidence(int parent, const std::string& name) {
  const Result<UniqueFd> folder = open_directory(parent, name);
  return folder && holds(folder->get(), kVolatileFile) &&
         (holds(folder->get(), kManifestFile) || holds(folder->get(), kReportFile));
}

Result<void> collect(int directory, const std::string& prefix,
                     std::map<std::string, Subject>& files) {
  for (const std::string& name : TRY(names_in(directory))) {
    const std::string path = prefix + name;
    struct stat status = {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return cannot("inspect", path, errno);
    if (S_ISDIR(status.st_mode)) {
      const UniqueFd below = TRY(open_directory(directory, name));
      TRY(collect(below.get(), path + "/", files));
      continue;
    }
    if (!S_ISREG(status.st_mode))
      return invalid(
          fmt::format("'{}' in the evidence is neither a file nor a folder", printable(path)));
    const UniqueFd file(
        ::openat(directory, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open()) return cannot("open", path, errno);
    files[path] = {.name = path, .digest = TRY(digest_of_file(file.get(), path)) };
  }
  return {};
}

struct Base {
  UniqueFd directory;
  std::string path;
};

// The parent of the place, so that publishing is one rename; another directory if a command would
// get at that.
Result<Base> find_base(const OwnPlace& place, const EvidenceFolder::IsSeen& is_seen) {
  std::vector<std::string> candidates = { TRY(real_path_of(place.directory())) };
  candidates.insert(candidates.end(), kTemporaryFolders.begin(), kTemporaryFolders.end());
  for (const std::string& path : candidates) {
    const Found found = TRY(look_up_on_host(path));
    if (!found.exists() || ::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
      continue;
    const bool seen = TRY(is_seen(found));
    if (seen) continue;
    UniqueFd directory = TRY(open_without_links(AT_FDCWD, found.real_path));
    return Base{.directory = std::move(directory), .path = path};
  }
  return unsupported(
      fmt::format("there is no place to make the evidence '{}' that the command cannot see",
                  printable(place.path())),
      fmt::format("nothing was run; name one outside of what is declared, or make {} writable",
                  kTemporaryFolders.front()));
}

}  // namespace

Result<EvidenceFolder> EvidenceFolder::make(OwnPlace place, IfThere if_there,
                                            const IsSeen& is_seen) {
  TRY(place.make_parents());
  const std::string name(place.name());
  const bool replaces = if_there == IfThere::Replace && is_evidence(place.directory(), name);
  if (place.holds() != OwnPlace::Holds::Nothing && !replaces)
    return invalid(fmt::format("'{}' is there already", printable(place.path())),
                   "choose a folder that does not exist; evidence is never mixed");
  TRY(place.check_for_folder());
  Base base = TRY(find_base(place, is_seen));
  (void)remove_abandoned_folders(base.directory.get(), base.path, kKind);
  UniqueFd tree;
  const auto fill = [&](const PrivateFolder& made) -> Result<void> {
    if (::mkdirat(made.descriptor.get(), kTree, 0700) != 0)
      return cannot("make a folder in", made.path, errno);
    tree = TRY(open_directory(made.descriptor.get(), kTree));
    return {};
  };
  PrivateFolder folder = TRY(make_private_folder(base.directory.get(), base.path, kKind, fill));
  return EvidenceFolder(std::move(place), if_there, std::move(base.directory), std::move(folder),
                        std::move(tree));
}

EvidenceFolder::EvidenceFolder(EvidenceFolder&& other) noexcept = default;

EvidenceFolder::~EvidenceFolder() {
  if (base_.is_open()) (void)remove_tree(base_.get(), std::string(last_component(folder_.path)));
}

Result<Found> EvidenceFolder::workshop() const { return look_up_on_host(folder_.path); }

// The directory in which the file `name` belongs.
Result<UniqueFd> EvidenceFolder::folder_of(const std::string& name) const {
  UniqueFd folder = TRY(open_directory(tree_.get(), "."));
  std::size_t begin = 0;
  for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', begin)) {
    const std::string part = name.substr(begin, end - begin);
    if (::mkdirat(folder.get(), part.c_str(), 0777) != 0 && errno != EEXIST)
      return cannot("make", join(path(), name.substr(0, end)), errno);
    folder = TRY(open_directory(folder.get(), part));
    begin = end + 1;
  }
  return folder;
}

Result<OwnPlace> EvidenceFolder::place_of(const std::string& name) const {
  OwnFolder folder{.path = folder_.path, .descriptor = {}};
  folder.descriptor = TRY(folder_of(name));
  return OwnPlace::in_folder(folder, std::string(last_component(name)));
}

Result<void> EvidenceFolder::write(const std::string& name, std::string_view text) const {
  const UniqueFd folder = TRY(folder_of(name));
  const std::string last(last_component(name));
  const UniqueFd file(::openat(folder.get(), last.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return cannot("write", join(path(), name), errno);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", join(path(), name), errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::map<std::string, Subject>> EvidenceFolder::files() const {
  std::map<std::string, Subject> files;
  TRY(collect(tree_.get(), "", files));
  return files;
}

std::string EvidenceFolder::hide_from(const std::string& workspace) const {
  std::string parent(parent_of(place_.real_path()));
  return is_strictly_within(parent, workspace) ? parent : "";
}

// A command that could not write to the place may have been able to move a directory above it.
Result<void> EvidenceFolder::check_still_there() const {
  const std::string parent(parent_of(place_.real_path()));
  const Result<UniqueFd> now = open_without_links(AT_FDCWD, parent);
  struct stat there = {};
  struct stat held = {};
  if (now && ::fstat(now->get(), &there) == 0 && ::fstat(place_.directory(), &held) == 0 &&
      there.st_dev == held.st_dev && there.st_ino == held.st_ino)
    return {};
  return system_error(
      fmt::format("cannot publish the evidence as '{}'", printable(place_.real_path())), ESTALE,
      "its directory was moved while the command ran");
}

Result<void> EvidenceFolder::publish() {
  TRY(check_still_there());
  const std::string name(place_.name());
  const int parent = place_.directory();
  const auto rename_from = [&](const UniqueFd& folder) {
    const int os_error = rename_at(folder.get(), kTree, parent, name, Renaming::Fresh);
    // What is under our name afterwards is the old one.
    if (os_error == EEXIST && if_there_ == IfThere::Replace && is_evidence(parent, name))
      return rename_at(folder.get(), kTree, parent, name, Renaming::Exchange);
    return os_error;
  };
  int os_error = rename_from(folder_.descriptor);
  if (os_error == EXDEV) {
    const std::string above = TRY(real_path_of(parent));
    const auto fill = [&](const PrivateFolder& made) {
      return copy_tree(folder_.descriptor.get(), kTree, made.descriptor.get(), kTree);
    };
    const PrivateFolder copy = TRY(make_private_folder(parent, above, kKind, fill));
    os_error = rename_from(copy.descriptor);
    (void)remove_tree(parent, std::string(last_component(copy.path)));
  }
  if (os_error != 0) return cannot("publish the evidence as", place_.real_path(), os_error);
  tree_.reset();
  (void)remove_tree(base_.get(), std::string(last_component(folder_.path)));
  base_.reset();
  return {};
}

Result<std::map<std::string, Subject>> files_in(const std::string& folder) {
  const UniqueFd directory = TRY(open_directory(AT_FDCWD, folder));
  std::map<std::string, Subject> files;
  TRY(collect(directory.get(), "", files));
  return files;
}

}  // namespace hermetic
