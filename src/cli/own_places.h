// OwnPlaces: what the options of a command line want hermetic to write, and where.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "hermetic/base/result.h"
#include "hermetic/places/own_place.h"
#include "hermetic/spec/spec.h"

namespace hermetic::cli {

class OwnPlaces {
 public:
  // Finds the place of each of --json, --events, --samples, --evidence, --keep-failed, --manifest,
  // --metrics and --keep-changes that is given. "-" is standard output, but for --json, which is
  // printed.
  static Result<OwnPlaces> find(const Arguments& arguments);
  // The same where their values are names in a folder, for each task of a batch, with what
  // check_writable() checks. Of those options that each task has for itself.
  static Result<OwnPlaces> find_in(const OwnFolder& folder, const Arguments& arguments);

  // Fails if any of them could not be written when there is something to write.
  [[nodiscard]] Result<void> check_writable() const;

  // Fails with InvalidSpec if the command of `spec` could write to any of them.
  [[nodiscard]] Result<void> check_out_of_reach(const Spec& spec) const;

  // Null if it was not given.
  [[nodiscard]] const OwnPlace* at(std::string_view option) const;

 private:
  std::map<std::string_view, OwnPlace> places_;
};

// Whether each task of a batch has its own.
[[nodiscard]] bool is_per_task(std::string_view option);

}  // namespace hermetic::cli
