#include "cli/own_places.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/spec_options.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/lookup.h"

namespace hermetic::cli {
namespace {

enum class Kind {
  File,     // replaced, if it is there
  Printed,  // the same, but "-" is for print()
  Folder,   // may be there, and more comes to what is in it
  Fresh,    // a folder that must not be there, below one that must
  Anew,     // a folder that must not be there; those above it are made
};

struct Row {
  std::string_view option;
  Kind kind;
  bool per_task;
};
constexpr std::array<Row, 8> kRows = {{
    {"--json", Kind::Printed, false},
    {"--events", Kind::File, true},
    {"--samples", Kind::File, false},
    {"--evidence", Kind::Anew, true},
    {"--keep-failed", Kind::Folder, false},
    {"--manifest", Kind::File, false},
    {"--metrics", Kind::File, false},
    {"--keep-changes", Kind::Fresh, true},
}};

bool is_printed(std::string_view option, const OwnPlace& place) {
  return option == "--json" && place.path() == "-";
}

// Of the deepest object on the way that exists; and what is missing below it.
struct Spot {
  std::uint64_t device;
  std::uint64_t inode;
  std::string rest;
};

Spot spot_of(const Found& found) {
  return {.device = found.device,
          .inode = found.inode,
          .rest = std::string(relative_to(found.real_path, found.existing_path))};
}

bool is_same(const Spot& one, const Spot& other) {
  return one.device == other.device && one.inode == other.inode && one.rest == other.rest;
}

// It will be: in a folder that is not there yet.
bool is_inside(const Spot& inner, const Spot& outer) {
  return !outer.rest.empty() && inner.device == outer.device && inner.inode == outer.inode &&
         is_strictly_within("/" + inner.rest, "/" + outer.rest);
}

// Several may go to one pipe, or to /dev/null. A file that the caller has opened is none.
bool is_stream(const OwnPlace& place) {
  struct stat status = {};
  return place.holds() == OwnPlace::Holds::Stream &&
         (::fstat(place.handed_in(), &status) != 0 || !S_ISREG(status.st_mode));
}

// One would destroy the other, or keep it from being made.
Result<void> check_distinct(const std::map<std::string_view, OwnPlace>& places) {
  for (const auto& [option, place] : places)
    for (const auto& [other_option, other] : places) {
      if (option == other_option || is_stream(place) || is_stream(other)) continue;
      const Spot spot = spot_of(place.found());
      const Spot other_spot = spot_of(other.found());
      const bool same = is_same(spot, other_spot);
      if (!same && !is_inside(spot, other_spot)) continue;
      return invalid(
          fmt::format("{} '{}' and {} '{}' {}", option, printable(place.path()), other_option,
                      printable(other.path()), same ? "are one place" : "lie in each other"),
          "give each a place of its own");
    }
  return {};
}

// Nothing if there is no such file.
std::optional<Spot> spot_of(int result, const struct stat& status) {
  if (result != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const std::uint64_t device =
      (std::uint64_t{major(status.st_dev)} << 32U) | std::uint64_t{minor(status.st_dev)};
  return Spot{.device = device, .inode = status.st_ino, .rest = ""};
}

// Nor is any of them what the same command line reads, or what the command prints to, unless it is
// said so, as with "-".
Result<void> check_not_used(std::string_view option, const OwnPlace& place,
                            const Arguments& arguments) {
  if (is_stream(place)) return {};
  const auto is_file = [&](int result, const struct stat& status) {
    const std::optional<Spot> file = spot_of(result, status);
    return file && is_same(spot_of(place.found()), *file);
  };
  const auto refused = [&](std::string_view what) {
    return invalid(fmt::format("{} '{}' is {}", option, printable(place.path()), what),
                   "name another place");
  };
  struct stat status = {};
  const std::string key = arguments.last("--key");
  if (is_file(::stat(key.c_str(), &status), status))
    return refused("what --key names: it would be overwritten");
  const std::string spec = arguments.has("--spec") ? arguments.last("--spec") : kDefaultFile;
  const bool has_spec = arguments.has("--spec") || !arguments.words.empty();
  if (has_spec && is_file(::stat(spec.c_str(), &status), status))
    return refused("the spec: it would be overwritten");
  if (place.holds() != OwnPlace::Holds::File) return {};
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
    if (is_file(::fstat(descriptor, &status), status))
      return refused(fmt::format("the file behind standard {}, to which the command writes",
                                 descriptor == STDOUT_FILENO ? "output" : "error"));
  return {};
}

Result<void> check(const OwnPlace& place, Kind kind) {
  if (kind == Kind::File || kind == Kind::Printed) return place.check_for_file();
  if (kind == Kind::Folder) return place.check_for_folder();
  if (place.holds() != OwnPlace::Holds::Nothing)
    return invalid(fmt::format("'{}' is there already", printable(place.path())),
                   "choose another name");
  return kind == Kind::Fresh ? place.check_for_folder() : Result<void>();
}

}  // namespace

bool is_per_task(std::string_view option) {
  for (const Row& row : kRows)
    if (row.option == option) return row.per_task;
  return false;
}

Result<OwnPlaces> OwnPlaces::find(const Arguments& arguments) {
  OwnPlaces found;
  for (const Row& row : kRows) {
    if (!arguments.has(row.option)) continue;
    const std::string path = arguments.last(row.option);
    if (path.empty())
      return invalid(fmt::format("{} has an empty name", row.option),
                     "name a place; nothing would be written");
    const bool to_output = path == "-" && (row.kind == Kind::File || row.kind == Kind::Printed);
    OwnPlace place =
        TRY(to_output ? OwnPlace::of_descriptor(STDOUT_FILENO, "-") : OwnPlace::find(path));
    found.places_.emplace(row.option, std::move(place));
  }
  TRY(check_distinct(found.places_));
  for (const auto& [option, place] : found.places_) TRY(check_not_used(option, place, arguments));
  return found;
}

Result<OwnPlaces> OwnPlaces::find_in(const OwnFolder& folder, const Arguments& arguments) {
  OwnPlaces found;
  for (const Row& row : kRows) {
    const std::string name = arguments.last(row.option);
    if (!row.per_task || name.empty()) continue;
    OwnPlace place = TRY(OwnPlace::in_folder(folder, name));
    TRY(check(place, row.kind));
    found.places_.emplace(row.option, std::move(place));
  }
  return found;
}

Result<void> OwnPlaces::check_writable() const {
  for (const Row& row : kRows)
    if (const OwnPlace* place = at(row.option)) TRY(check(*place, row.kind));
  return {};
}

Result<void> OwnPlaces::check_out_of_reach(const Spec& spec) const {
  if (places_.empty()) return {};
  const Reach reach = TRY(Reach::of(spec));
  // An output inside would be removed, or keep what belongs there from being made.
  for (const auto& [option, place] : places_)
    TRY(place.check_out_of_reach(reach, option, Reach::Extent::WithWhatLiesInIt));
  return {};
}

const OwnPlace* OwnPlaces::at(std::string_view option) const {
  const auto found = places_.find(option);
  // What is printed stands here to be judged.
  return found == places_.end() || is_printed(found->first, found->second) ? nullptr
                                                                           : &found->second;
}

}  // namespace hermetic::cli
