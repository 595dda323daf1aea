#include "cli/own_places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "hermetic/base/text.h"

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
    const std::string path = arguments.last(row.option);
    const bool to_output = path == "-" && row.kind == Kind::File;
    if (path.empty() || (path == "-" && row.kind == Kind::Printed)) continue;
    OwnPlace place =
        TRY(to_output ? OwnPlace::of_descriptor(STDOUT_FILENO, "-") : OwnPlace::find(path));
    found.places_.emplace(row.option, std::move(place));
  }
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
  for (const auto& [option, place] : places_) {
    // What lies in a folder of failed outputs is removed for new ones.
    const auto extent =
        option == "--keep-failed" ? Reach::Extent::WithWhatLiesInIt : Reach::Extent::Itself;
    TRY(place.check_out_of_reach(reach, option, extent));
  }
  return {};
}

const OwnPlace* OwnPlaces::at(std::string_view option) const {
  const auto found = places_.find(option);
  return found == places_.end() ? nullptr : &found->second;
}

}  // namespace hermetic::cli
