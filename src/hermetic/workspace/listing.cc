#include "hermetic/workspace/listing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unlocked.h"
#include "hermetic/workspace/changes.h"

namespace hermetic {
namespace {

// What a folder and the layers below it show together. By paths: the tasks of a batch share their
// descriptors.
class Listing {
 public:
  explicit Listing(const std::string& upper) : upper_(upper) {}

  // `places`: where the directory `path` is, the first uppermost.
  Result<void> list(const std::vector<std::string>& places, const std::string& path, int depth) {
    // A layer must stay as it is, down to its modes, and was made of what can be read.
    std::optional<Unlocked> unlocked;
    if (is_within(places.front(), upper_)) unlocked.emplace(AT_FDCWD, places.front());
    std::set<std::string> names;
    for (const std::string& place : places) {
      const UniqueFd directory = TRY(open_directory(AT_FDCWD, place));
      for (std::string& name : TRY(names_in(directory.get()))) names.insert(std::move(name));
    }
    for (const std::string& name : names) TRY(add(places, path, name, depth));
    return {};
  }

  std::vector<ListedFile> finish() { return std::move(entries_); }

 private:
  Result<void> add(const std::vector<std::string>& places, const std::string& path,
                   const std::string& name, int depth) {
    const std::string whole = path.empty() ? name : path + "/" + name;
    std::optional<struct stat> shown;
    std::vector<std::string> below;
    for (const std::string& place : places) {
      const std::string here = place + "/" + name;
      struct stat status = {};
      if (::lstat(here.c_str(), &status) != 0) {
        if (errno == ENOENT) continue;
        return system_error(fmt::format("cannot look at '{}'", printable(name)), errno);
      }
      if (!shown) shown = status;
      if (!S_ISDIR(status.st_mode)) break;
      below.push_back(here);
      if (is_opaque(here)) break;
    }
    if (!shown || is_whiteout(shown->st_mode, shown->st_rdev)) return {};
    const bool is_directory = S_ISDIR(shown->st_mode);
    bool unlisted = false;
    for (const std::string& here : below) unlisted = unlisted || is_too_deep(here.size(), depth);
    if (is_directory && !unlisted) return list(below, whole, depth + 1);
    if (bytes_ > kMostListedBytes) {
      if (entries_.back().path != ".") entries_.push_back({.path = ".", .unlisted = true});
      return {};
    }
    bytes_ += sizeof(ListedFile) + whole.size();
    const auto size = is_directory ? 0 : static_cast<std::uint64_t>(shown->st_size);
    entries_.push_back({.path = whole, .size_bytes = size, .unlisted = unlisted});
    return {};
  }

  const std::string& upper_;
  std::size_t bytes_ = 0;
  std::vector<ListedFile> entries_;
};

}  // namespace

Result<std::vector<ListedFile>> list_layers(const std::string& upper,
                                            const std::vector<std::string>& layers) {
  std::vector<std::string> places = {upper};
  if (!is_copy(upper)) {
    places.insert(places.end(), layers.begin(), layers.end());
    places.resize(shown_layers(places));
  }
  Listing listing(upper);
  TRY(listing.list(places, "", 0));
  return listing.finish();
}

}  // namespace hermetic
