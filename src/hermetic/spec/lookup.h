// Lookup: what a declared path turns out to be on a host, found component by component.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/spec/declaration.h"

namespace hermetic {

inline constexpr int kMostLinks = 40;  // the kernel's own limit, path_resolution(7)

// A symbolic link that was followed.
struct Link {
  std::string path;    // where it stands; no link in its parents
  std::string target;  // the text it holds

  friend bool operator==(const Link&, const Link&) = default;
};

// The object behind a path. It stays the same object whatever happens to the name afterwards,
// because the descriptor holds it: what is checked here is what is mounted later.
struct Found {
  std::string real_path;      // without symbolic links; parts that do not exist are kept as written
  std::string existing_path;  // the deepest part of real_path that exists; all of it if exists()
  FileType type = FileType::Unknown;  // of the object, if it exists
  std::vector<Link> links;            // in the order in which they were followed
  std::shared_ptr<const UniqueFd>
      descriptor;  // O_PATH, of existing_path; null in look_up_by_name()
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t mount_id = 0;

  [[nodiscard]] bool exists() const { return real_path == existing_path; }
};

using Lookup = std::function<Result<Found>(std::string_view path)>;

// Asks this host's file system. The path is absolute; ".." means what it means to the kernel.
[[nodiscard]] Result<Found> look_up_on_host(std::string_view path);

// Asks nothing: every path is taken for an existing directory without links. For specs that are
// meant for another machine, and for tests.
[[nodiscard]] Result<Found> look_up_by_name(std::string_view path);

}  // namespace hermetic
