// Entries of open directories: which object a name stands for, and renames that overwrite nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

// Which object it is, also after it has been renamed. The number of an inode is given out again
// when its file is gone; the moment of its birth, to a tick of the kernel's clock (some
// milliseconds), is not. 0 where the file system does not tell.
struct ObjectIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t birth_nanoseconds = 0;

  friend bool operator==(const ObjectIdentity&, const ObjectIdentity&) = default;
};

// Nothing if there is no such entry; a link is not followed.
[[nodiscard]] Result<std::optional<ObjectIdentity>> identity_at(int directory,
                                                                const std::string& name);
// Of an open directory, without its birth: a file system in layers (overlayfs) makes it anew when
// something in it changes.
[[nodiscard]] Result<ObjectIdentity> identity_of_directory(int descriptor);

// They fail if it cannot be told: what is taken for absent would be overwritten.
[[nodiscard]] Result<bool> exists_at(int directory, const std::string& name);
[[nodiscard]] Result<bool> is_directory_at(int directory, const std::string& name);

enum class Renaming : unsigned {
  Fresh = 1,     // RENAME_NOREPLACE: nothing must be there
  Exchange = 2,  // RENAME_EXCHANGE: both must be there
};
// Returns an errno, or 0.
[[nodiscard]] int rename_at(int from, const std::string& name, int to, const std::string& new_name,
                            Renaming renaming);

// Opens a directory as a place only: it need not be readable to be written to. No part of the path
// may be a link. A relative path starts from `parent`.
[[nodiscard]] Result<UniqueFd> open_without_links(int parent, const std::string& path);

// Where an open directory lies, without links.
[[nodiscard]] Result<std::string> real_path_of(int descriptor);

// ".hermetic-0123456789abcdef": a name that nobody can have put there before.
[[nodiscard]] Result<std::string> temporary_name();

}  // namespace hermetic
