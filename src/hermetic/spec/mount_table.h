// MountTable: which part of which file system stands where on this host, to find one object under
// two names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

struct Mount {
  std::uint64_t id = 0;
  std::string device;           // "8:1": the file system
  std::string root;             // the part of the file system that is mounted
  std::string point;            // where it is mounted
  unsigned long flags = 0;      // MS_NOSUID, MS_NODEV and the like, as mount(2) takes them
  std::string filesystem = {};  // its kind: "ext4"
};

// A path within a file system: the same for every mount that shows it.
struct FilesystemPath {
  std::string device;
  std::string path;
};

class MountTable {
 public:
  // Reads the text of /proc/self/mountinfo, proc(5).
  static Result<MountTable> parse(std::string_view mountinfo);
  static Result<MountTable> of_this_process();

  // The place of `real_path`, which the mount numbered `mount_id` shows. Mounts can hide each
  // other; a number of 0 takes the last one whose point is nearest above.
  [[nodiscard]] FilesystemPath locate(std::string_view real_path, std::uint64_t mount_id) const;
  // The flags of the mount that shows `real_path`.
  [[nodiscard]] unsigned long flags_of(std::string_view real_path) const;
  // The mount that shows `real_path`; nullptr if there is none.
  [[nodiscard]] const Mount* showing(std::string_view real_path) const {
    return mount_of(real_path, 0);
  }
  // The mounts whose points lie strictly below `real_path`.
  [[nodiscard]] std::vector<const Mount*> below(std::string_view real_path) const;

 private:
  [[nodiscard]] const Mount* mount_of(std::string_view real_path, std::uint64_t mount_id) const;

  std::vector<Mount> mounts_;
};

}  // namespace hermetic
