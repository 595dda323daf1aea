// OwnPlace: where hermetic writes something for itself: a directory that is held open, and a name
// in it.
//
// All that hermetic writes because the caller has asked for it (--json, --events, --samples,
// --evidence, --keep-failed, --manifest, --out…) goes through here. The way to the place is walked
// once, before anything runs; the place is judged as an object; and whatever is made there later is
// made and renamed relative to the directory, so that nothing that happens to the path in the
// meantime leads it elsewhere.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/spec/lookup.h"
#include "hermetic/spec/reach.h"

namespace hermetic {

// A folder of hermetic's own, held open.
struct OwnFolder {
  std::string path;
  UniqueFd descriptor;
};

class OwnPlace {
 public:
  enum class Holds {
    Nothing,
    File,
    Folder,
    Stream,  // a pipe, a device, or a descriptor that the caller has handed in: written, never
             // replaced
  };

  // Follows symbolic links, like the kernel, to the place that they lead to. What another user may
  // have put there, or on the way, for the caller to find is refused. "/dev/stdout",
  // "/dev/fd/N" and the like are the caller's descriptors.
  [[nodiscard]] static Result<OwnPlace> find(const std::string& path);

  // A descriptor that the caller has opened for writing; `path` is what to call it.
  [[nodiscard]] static Result<OwnPlace> of_descriptor(int descriptor, const std::string& path);

  // `name`, one component, in a folder.
  [[nodiscard]] static Result<OwnPlace> in_folder(const OwnFolder& folder, const std::string& name);

  // Fails with InvalidSpec, naming both, if the command could write there, or if the way there goes
  // through a link that a command under the same spec could have made. `option` says what asked
  // for the place: "--events".
  [[nodiscard]] Result<void> check_out_of_reach(const Reach& reach, std::string_view option,
                                                Reach::Extent extent = Reach::Extent::Itself) const;
  // Only what is said of the way there.
  [[nodiscard]] Result<void> check_way(const Reach& reach, std::string_view option) const;

  // Opens the directory, having made what is missing of it. Once; changes nothing if it exists.
  [[nodiscard]] Result<void> make_parents(mode_t mode = 0777);
  // Fails if the directory does not exist, or if what is there rules a file out.
  [[nodiscard]] Result<void> check_for_file() const;
  // The same for a folder, which may be there.
  [[nodiscard]] Result<void> check_for_folder() const;

  [[nodiscard]] const std::string& path() const { return path_; }  // as it was asked for
  [[nodiscard]] const std::string& real_path() const { return found_.real_path; }
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] Holds holds() const { return holds_; }
  [[nodiscard]] const Found& found() const { return found_; }
  // Of the directory; -1 while some of it is missing, and for a stream.
  [[nodiscard]] int directory() const;
  // A stream that the caller has handed in; -1 if it is none.
  [[nodiscard]] int handed_in() const;

 private:
  [[nodiscard]] Result<void> check_directory() const;

  std::string path_;
  Found found_;
  Holds holds_ = Holds::Nothing;
  std::shared_ptr<const UniqueFd> directory_;  // the deepest that exists
  std::vector<std::string> missing_;           // below it, down to the parent of the place
  std::shared_ptr<const UniqueFd> handed_in_;
};

}  // namespace hermetic
