// Block devices by number: which whole disk a file system lies on. Rates are kept for whole disks.
#pragma once

#include <string>
#include <string_view>

#include "hermetic/base/result.h"

namespace hermetic {

// Files of this kind are in memory, or nowhere: no disk is read or written for them.
[[nodiscard]] bool is_without_disk(std::string_view filesystem);

// Does the kernel know whose pages it writes to disk later, of this kind of file system?
[[nodiscard]] bool is_written_for_its_writer(std::string_view filesystem);

// "8:0" for the partition "8:1", and a disk for itself. Fails if it is no block device, as for file
// systems that lie on several of them or on another file system. `sys` is /sys.
[[nodiscard]] Result<std::string> whole_disk(const std::string& device,
                                             const std::string& sys = "/sys");

}  // namespace hermetic
