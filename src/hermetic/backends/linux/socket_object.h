// Which object the path of a Unix socket leads to, found as the process that names it would find
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {

struct SocketObject {
  UniqueFd object;   // without access; closed if there is none
  std::string path;  // what it is called inside, without links; "" if that is not known
  int error = 0;     // why there is none

  [[nodiscard]] bool is_socket() const;
  [[nodiscard]] std::uint64_t device() const;  // of the file system; 0 if that is not known
  // Is a socket bound to it, anywhere on this machine? What cannot be told counts as yes.
  [[nodiscard]] bool is_served() const;
};

// Follows links like connect(2).
[[nodiscard]] SocketObject find_socket(pid_t process, const std::string& path);

// The name that bind(2) would make, in the directory that exists. `object` is that directory.
[[nodiscard]] SocketObject find_place_of_socket(pid_t process, const std::string& path);

}  // namespace hermetic::linux_backend
