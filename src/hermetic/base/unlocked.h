// Unlocked: a file or directory of ours that its maker has locked, readable for a moment.
#pragma once

#include <sys/stat.h>

#include <string>

namespace hermetic {

// A command may take every permission from what it makes. Whoever owns that can read it all the
// same, by giving them back; the destructor puts the mode back as it was. Nothing is done where
// nothing is in the way, or to a link.
class Unlocked {
 public:
  Unlocked(int parent, std::string name);
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked();

 private:
  int parent_;
  std::string name_;
  mode_t mode_ = 0;
  bool changed_ = false;
};

}  // namespace hermetic
