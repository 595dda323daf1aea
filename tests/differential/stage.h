// The stage on which cases are played. Memory file systems on /var/tmp and /tmp, the root read
// only: whatever a case, a link or a broken sandbox leads to, no file of the host can be changed.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "hermetic/backends/linux/kernel.h"

namespace hermetic::differential {

inline constexpr const char* kProber = "/var/tmp/prober";

// Each the parent of a tree. /tmp is special, and most trees are not there.
inline const std::vector<std::string>& bases() {
  static const std::vector<std::string> paths = {"/var/tmp/base", "/var/tmp/base", "/var/tmp/base",
                                                 "/tmp/base"};
  return paths;
}

// To be called in a mount namespace that may be spoiled. Says what went wrong; "" is well. The
// prober is copied, because the folder that it was built in may be below /tmp.
inline std::string set_up_stage(const std::string& prober) {
  const auto problem = [](const char* what) {
    return fmt::format("cannot {}: {}", what, std::strerror(errno));
  };
  std::ifstream original(prober, std::ios::binary);
  for (const char* path : {"/var/tmp", "/tmp"})
    if (::mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m") != 0)
      return problem("mount a memory file system");
  std::ofstream(kProber, std::ios::binary) << original.rdbuf();
  if (::chmod(kProber, 0755) != 0) return problem("copy the prober");
  for (const std::string& base : bases()) ::mkdir(base.c_str(), 0755);
  // Not what is mounted below: a sandbox needs the host's /proc as it is.
  const linux_backend::MountAttributes read_only{.set = linux_backend::kMountReadOnly};
  if (::syscall(linux_backend::kSysMountSetattr, AT_FDCWD, "/", 0, &read_only, sizeof read_only) !=
      0)
    return problem("make the root read only");
  return "";
}

}  // namespace hermetic::differential
