// Whether a socket that has a path can be reached there: what the view of the command has.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "hermetic/plan/plan.h"

namespace hermetic::linux_backend {

struct SocketPath {
  bool in_view = false;
  std::string rule;         // "temp /tmp", or the clause that hides it
  bool is_private = false;  // on a file system that nothing outside can reach
};

// By name, as everything that is observed: links of the plan are followed, those inside are not.
[[nodiscard]] SocketPath find_in_view(const Plan& plan, std::string_view path);

// `path` with the links of the plan followed, and without dots.
[[nodiscard]] std::string without_links(const Plan& plan, std::string_view path);

// `path` as the process means it, without dots; "" if that cannot be told.
[[nodiscard]] std::string whole_path(pid_t process, const std::string& path);

}  // namespace hermetic::linux_backend
