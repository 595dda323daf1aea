// Reach: which objects of the host a command can get at, whatever name they have there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/lookup.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// Compares objects and not names: a directory is the same through a symbolic link, a bind mount, or
// the layer of a temp, and a file is the same through a hard link. A file system that is shown a
// second time by another one (a host's own overlay, FUSE, a network) cannot be recognised.
class Reach {
 public:
  [[nodiscard]] static Result<Reach> of(const Spec& spec);
  Reach(Reach&&) noexcept;
  Reach& operator=(Reach&&) noexcept;
  ~Reach();

  // How the command gets at an object.
  struct Way {
    std::string through;    // "output '/w' (a.yaml:3)"
    std::string name;       // what the object is called there
    bool is_inside = true;  // the object is; otherwise it holds what is named, or will
  };

  enum class Extent { Itself, WithWhatLiesInIt };

  // The command could write to `place`, exchange it, or see it change while it is a layer; or
  // publication would replace it. `place` need not exist.
  [[nodiscard]] std::optional<Way> to_write(const Found& place, Extent extent) const;

  // The command could write to `object`, which exists, by whatever name. Walks the trees of the
  // spec if it is a file with several hard links; so does to_read().
  [[nodiscard]] Result<std::optional<Way>> to_write_into(const Found& object) const;
  // The command could read `object`, which exists.
  [[nodiscard]] Result<std::optional<Way>> to_read(const Found& object) const;

 private:
  [[nodiscard]] Result<std::optional<Way>> to_find(const Found& object, bool written) const;
  struct Regions;
  explicit Reach(std::unique_ptr<Regions> regions);

  std::unique_ptr<Regions> regions_;
};

}  // namespace hermetic
