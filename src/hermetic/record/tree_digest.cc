#include "hermetic/record/tree_digest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_digest.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/place.h"

namespace hermetic {
namespace {

constexpr std::size_t kMostListed = 10'000;

// Digests by what is there, not by who asks: an unreadable entry counts as that, and the command,
// which has no more rights than the caller, could not read it either.
class TreeDigest {
 public:
  TreeDigest(const std::vector<std::string>& exceptions, InputDigest& result)
      : exceptions_(exceptions), result_(result) {}

  // Kind and digest of one entry.
  Result<std::string> visit(int parent, const std::string& name, const std::string& path,
                            int depth) {
    struct stat status = {};
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return system_error(fmt::format("cannot inspect '{}'", printable(path)), errno);
    std::string line = TRY(line_of(parent, name, path, depth, status));
    list(line, path);
    return line;
  }

 private:
  Result<std::string> line_of(int parent, const std::string& name, const std::string& path,
                              int depth, const struct stat& status) {
    if (S_ISDIR(status.st_mode)) return visit_directory(parent, name, path, depth);
    ++result_.files;
    if (S_ISLNK(status.st_mode)) return "l " + TRY(digest_of_link(parent, name, path));
    if (!S_ISREG(status.st_mode)) return std::string("s -");  // a device, fifo or socket
    result_.size_bytes += static_cast<std::uint64_t>(status.st_size);
    const UniqueFd file(
        ::openat(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open() && errno == EACCES) return std::string("u -");
    if (!file.is_open())
      return system_error(fmt::format("cannot open '{}'", printable(path)), errno);
    return ((status.st_mode & S_IXUSR) != 0 ? "x " : "f ") + TRY(digest_of_file(file.get(), path));
  }

  Result<std::string> visit_directory(int parent, const std::string& name, const std::string& path,
                                      int depth) {
    if (depth > kDeepestTree)
      return unsupported(
          fmt::format("'{}' lies more than {} directories deep", printable(path), kDeepestTree),
          "declare a part of the input, or run without --evidence");
    Result<UniqueFd> opened = open_directory(parent, name);
    if (!opened && opened.error().os_error == EACCES) return std::string("u -");
    if (!opened) return std::move(opened).error();
    ListingDigest listing;
    for (const std::string& child : TRY(names_in(opened->get()))) {
      const std::string child_path = join(path, child);
      if (std::find(exceptions_.begin(), exceptions_.end(), child_path) != exceptions_.end())
        continue;
      listing.add(TRY(visit(opened->get(), child, child_path, depth + 1)), child);
    }
    return "d " + listing.finish();
  }

  void list(const std::string& line, const std::string& path) {
    if (too_many_) return;
    const std::string_view below = relative_to(path, result_.path);
    if (!below.empty()) result_.listing.push_back(fmt::format("{} {}", line, printable(below)));
    too_many_ = result_.listing.size() > kMostListed;
    if (too_many_) result_.listing.clear();
  }

  const std::vector<std::string>& exceptions_;
  InputDigest& result_;
  bool too_many_ = false;
};

// Gigabytes that change with the system, not with the work.
bool is_of_the_system(std::string_view path) {
  constexpr std::array<std::string_view, 8> kSystem = {"/usr",   "/bin",   "/sbin",   "/lib",
                                                       "/lib32", "/lib64", "/libx32", "/opt"};
  // All of /etc is the host's; a part of it that somebody declares is what the command is given.
  return path == "/etc" ||
         std::any_of(kSystem.begin(), kSystem.end(), [&](std::string_view directory) {
           return is_within(path, directory) || is_within(directory, path);
         });
}

InputDigest digest_of(const Tree& tree, InputDigest::Measure measure) {
  return {.path = tree.place,
          .source = tree.found.real_path == tree.place ? "" : tree.found.real_path,
          .measure = measure,
          .digest = {}};
}

// What the command has executed under a name inside. A link out of a tree that stands elsewhere
// does not lead where it would lead on the host.
UniqueFd open_executed(const Tree& tree, const std::string& path) {
  if (tree.declaration.at.empty())
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const std::string below(relative_to(path, tree.place));
  if (below.empty())
    return UniqueFd(::open(tree.found.real_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const UniqueFd directory(::open(tree.found.real_path.c_str(), O_PATH | O_CLOEXEC));
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = tree.place == "/" ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, directory.get(), below.c_str(), &how, sizeof how)));
}

Result<InputDigest> content_of(const Tree& tree) {
  InputDigest digest = digest_of(tree, InputDigest::Measure::Content);
  TreeDigest walk(tree.holes, digest);
  const std::string line = TRY(walk.visit(AT_FDCWD, tree.found.real_path, tree.place, 0));
  digest.digest = line.substr(2);
  // A walk meets a directory after what is in it.
  std::sort(digest.listing.begin(), digest.listing.end(), [](const auto& a, const auto& b) {
    return a.substr(a.find(' ', 2)) < b.substr(b.find(' ', 2));
  });
  return digest;
}

// A search along PATH asks for programs that are not there.
Result<InputDigest> programs_of(const Tree& tree, const std::set<std::string>& executed) {
  InputDigest digest = digest_of(tree, InputDigest::Measure::Programs);
  ListingDigest listing;
  for (const std::string& path : executed) {
    if (!is_within(path, declared_place(tree.declaration)) && !is_within(path, tree.place))
      continue;
    const UniqueFd file = open_executed(tree, path);
    struct stat status = {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::string line = "x " + TRY(digest_of_file(file.get(), path));
    ++digest.files;
    digest.size_bytes += static_cast<std::uint64_t>(status.st_size);
    listing.add(line, path);
    digest.listing.push_back(fmt::format("{} {}", line, printable(path)));
  }
  digest.digest = listing.finish();
  return digest;
}

}  // namespace

std::string_view to_string(InputDigest::Measure measure) {
  switch (measure) {
    case InputDigest::Measure::Content: return "content";
    case InputDigest::Measure::Programs: return "programs";
    case InputDigest::Measure::Name: return "name";
  }
  return "";
}

Result<std::vector<InputDigest>> digest_inputs(const Spec& spec,
                                               const std::set<std::string>& executed,
                                               InputDigest::Measure usual) {
  std::vector<InputDigest> digests;
  for (const Tree& tree : spec.trees()) {
    if (tree.built_in || tree.declaration.kind != TreeKind::Input || !tree.found.exists()) continue;
    if (last_component(tree.found.real_path) == ".git") {
      digests.push_back(digest_of(tree, InputDigest::Measure::Name));
      digests.back().digest = sha256("");
      continue;
    }
    const bool by_programs = usual == InputDigest::Measure::Programs ||
                             is_of_the_system(tree.found.real_path) || is_root_of_its_own(tree);
    digests.push_back(by_programs ? TRY(programs_of(tree, executed)) : TRY(content_of(tree)));
  }
  std::sort(digests.begin(), digests.end(),
            [](const InputDigest& a, const InputDigest& b) { return a.path < b.path; });
  // What lies in another one is in its digest.
  const auto within_another = [&](const InputDigest& inner) {
    return std::any_of(digests.begin(), digests.end(), [&](const InputDigest& outer) {
      return is_strictly_within(inner.path, outer.path) && inner.measure == outer.measure &&
             inner.measure == InputDigest::Measure::Programs;
    });
  };
  std::vector<InputDigest> outermost;
  for (const InputDigest& digest : digests)
    if (!within_another(digest) && (outermost.empty() || outermost.back() != digest))
      outermost.push_back(digest);
  digests = std::move(outermost);
  return digests;
}

}  // namespace hermetic
