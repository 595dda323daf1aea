#include "hermetic/workspace/changes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>

#include "hermetic/base/file_digest.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unlocked.h"

namespace hermetic {
namespace {

std::string_view type_of(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return "file";
  if (S_ISDIR(status.st_mode)) return "directory";
  return S_ISLNK(status.st_mode) ? "link" : "other";
}

// Set-user-id and set-group-id bits are not kept, and so they are no changes either.
constexpr mode_t kKeptMode = S_IFMT | 01777U;

std::optional<struct stat> look_at(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  status.st_mode &= kKeptMode;
  return status;
}

// Empty if it has none, or if the command keeps it from being read: one call makes a file of
// terabytes that are not there. That it was changed is told in any case.
Result<std::string> digest_of(const std::string& path, const struct stat& status) {
  if (S_ISLNK(status.st_mode)) return digest_of_link(AT_FDCWD, path, path);
  if (!S_ISREG(status.st_mode)) return std::string();
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open() && errno == EACCES) return std::string();
  if (!file.is_open()) return system_error(fmt::format("cannot read '{}'", printable(path)), errno);
  Result<std::string> digest = digest_of_file(file.get(), path);
  if (!digest && digest.error().kind == Error::Kind::Unsupported) return std::string();
  return digest;
}

Result<std::vector<std::string>> names_at(const std::string& path) {
  const UniqueFd directory = TRY(open_directory(AT_FDCWD, path));
  return names_in(directory.get());
}

// What the layers together show.
class Below {
 public:
  explicit Below(const std::vector<std::string>& layers) : layers_(layers) {}

  // Where the object at a relative path is, if there is one.
  [[nodiscard]] std::optional<std::string> find(const std::string& path) const {
    const std::string rooted = "/" + path;
    for (const std::string& layer : layers_) {
      bool hidden = is_opaque(layer);  // what the layers further below have is not shown
      std::string place = layer;
      for (Components component(rooted); component.next();) {
        place += "/";
        place += component.name();
        const std::optional<struct stat> status = look_at(place);
        if (!status) break;
        if (is_whiteout(status->st_mode, status->st_rdev)) return std::nullopt;
        if (component.prefix().size() == rooted.size()) return place;
        if (!S_ISDIR(status->st_mode)) return std::nullopt;
        hidden = hidden || is_opaque(place);
      }
      if (hidden) return std::nullopt;
    }
    return std::nullopt;
  }

  // The names in a directory, of all layers together.
  [[nodiscard]] Result<std::set<std::string>> names(const std::string& path) const {
    std::set<std::string> all;
    for (const std::string& layer : layers_) {
      if (!has_directory(layer, path)) continue;
      for (std::string& name : TRY(names_at(join_below(layer, path))))
        if (find(join_names(path, name))) all.insert(std::move(name));
    }
    return all;
  }

  static std::string join_names(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "/" + name;
  }
  static std::string join_below(const std::string& layer, const std::string& path) {
    return path.empty() ? layer : layer + "/" + path;
  }

 private:
  // By no link: where a layer further up has a directory, this one may have a link to anywhere.
  static bool has_directory(const std::string& layer, const std::string& path) {
    std::string place = layer;
    const std::string rooted = "/" + path;
    for (Components component(rooted); component.next();) {
      place += "/";
      place += component.name();
      const std::optional<struct stat> status = look_at(place);
      if (!status || !S_ISDIR(status->st_mode)) return false;
    }
    return true;
  }

  const std::vector<std::string>& layers_;
};

class Comparison {
 public:
  Comparison(const std::string& upper, const std::vector<std::string>& layers)
      : upper_(upper), below_(layers), longest_(upper.size()) {
    for (const std::string& layer : layers) longest_ = std::max(longest_, layer.size());
  }

  // `covered`: nothing of the layers shows through; what is not here is gone.
  Result<void> compare(const std::string& directory, bool covered, int depth,
                       const std::vector<std::string>& skip = {}) {
    const std::string place = Below::join_below(upper_, directory);
    const Unlocked unlocked(AT_FDCWD, place);
    std::set<std::string> seen;
    for (const std::string& name : TRY(names_at(place))) {
      if (std::ranges::find(skip, name) != skip.end()) continue;
      seen.insert(name);
      TRY(compare_entry(Below::join_names(directory, name), covered, depth));
    }
    if (!covered) return {};
    for (const std::string& name : TRY(below_.names(directory)))
      if (!seen.contains(name) && std::ranges::find(skip, name) == skip.end())
        TRY(add_removed(Below::join_names(directory, name)));
    return {};
  }

  std::vector<Change> finish() {
    std::ranges::sort(changes_, {}, &Change::path);
    return std::move(changes_);
  }

 private:
  // Within bounds: deep names can take more room than all files.
  void tell(Change change) {
    if (told_bytes_ <= kMostListedBytes) {
      told_bytes_ += sizeof change + change.path.size();
      changes_.push_back(std::move(change));
    } else if (!is_cut_off_) {
      is_cut_off_ = true;
      changes_.push_back({.path = ".", .type = "directory", .digest = {}, .unlisted = true});
    }
  }

  Result<void> compare_entry(const std::string& path, bool covered, int depth) {
    const std::string place = Below::join_below(upper_, path);
    const std::optional<struct stat> now = look_at(place);
    if (!now) return system_error(fmt::format("cannot look at '{}'", printable(path)), errno);
    if (is_whiteout(now->st_mode, now->st_rdev)) return add_removed(path);
    const std::optional<std::string> old_place = below_.find(path);
    const std::optional<struct stat> old = old_place ? look_at(*old_place) : std::nullopt;
    const bool is_directory = S_ISDIR(now->st_mode);
    if (old && (old->st_mode & S_IFMT) != (now->st_mode & S_IFMT)) {
      if (S_ISDIR(old->st_mode)) TRY(add_removed_below(path));
    }
    const bool unlisted = is_directory && is_too_deep(longest_ + 1 + path.size(), depth);
    if (!old || !is_directory || unlisted || old->st_mode != now->st_mode) {
      Change change{.kind = old ? Change::Kind::Modified : Change::Kind::Added,
                    .path = path,
                    .type = std::string(type_of(*now)),
                    .mode = now->st_mode & 07777U,
                    .size_bytes = is_directory ? 0 : static_cast<std::uint64_t>(now->st_size),
                    .digest = {},
                    .unlisted = unlisted};
      {
        const Unlocked unlocked(AT_FDCWD, place);
        change.digest = TRY(digest_of(place, *now));
      }
      const bool is_other = change.type == "other";  // a pipe or a socket: there is no more to it
      const bool same = old && old->st_mode == now->st_mode && old->st_size == now->st_size &&
                        (is_other || !change.digest.empty()) && TRY(digest_of(*old_place, *old))
      == change.digest;
      if (!same) tell(std::move(change));
    }
    if (!is_directory || unlisted) return {};
    const bool was_directory = old && S_ISDIR(old->st_mode);
    // Within an opaque directory the kernel marks no other.
    return compare(path, was_directory && (covered || is_opaque(place)), depth + 1);
  }

  Result<void> add_removed(const std::string& path) {
    const std::optional<std::string> old_place = below_.find(path);
    const std::optional<struct stat> old = old_place ? look_at(*old_place) : std::nullopt;
    if (!old) return {};  // made and removed again
    const bool is_directory = S_ISDIR(old->st_mode);
    const bool unlisted = is_directory && is_too_deep(longest_ + 1 + path.size(), 0);
    tell({.kind = Change::Kind::Removed,
          .path = path,
          .type = std::string(type_of(*old)),
          .digest = {},
          .unlisted = unlisted});
    if (is_directory && !unlisted) TRY(add_removed_below(path));
    return {};
  }

  Result<void> add_removed_below(const std::string& path) {
    for (const std::string& name : TRY(below_.names(path)))
      TRY(add_removed(Below::join_names(path, name)));
    return {};
  }

  const std::string& upper_;
  Below below_;
  std::size_t longest_;  // of the paths that lead to the upper and the layers
  std::size_t told_bytes_ = 0;
  bool is_cut_off_ = false;
  std::vector<Change> changes_;
};

}  // namespace

std::string_view to_string(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::Added: return "added";
    case Change::Kind::Modified: return "modified";
    case Change::Kind::Removed: return "removed";
  }
  return "";
}

Result<std::vector<Change>> changes_in(const std::string& upper,
                                       const std::vector<std::string>& layers,
                                       const std::vector<std::string>& skip) {
  Comparison comparison(upper, layers);
  TRY(comparison.compare("", is_copy(upper) || is_opaque(upper), 0, skip));
  return comparison.finish();
}

}  // namespace hermetic
