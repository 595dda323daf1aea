// World: the tree of a case, on disk for as long as the case is asked about.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "hermetic/base/unique_fd.h"
#include "tests/differential/case.h"

namespace hermetic::differential {

class World {
 public:
  explicit World(const Case& asked) : root_(asked.root()) {
    ::mkdir(root_.c_str(), 0755);
    for (const Node& node : asked.nodes) make(node);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (; !mounted_.empty(); mounted_.pop_back()) ::umount2(mounted_.back().c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

 private:
  // An alias gives a directory a second name, by which a link may stand where another entry goes:
  // nothing is ever made through a link.
  static bool can_make(const Node& node) {
    const std::filesystem::path parent = parent_of(node.path);
    std::error_code error;
    return std::filesystem::canonical(parent, error) == parent &&
           !std::filesystem::exists(std::filesystem::symlink_status(node.path, error));
  }

  // Files are no programs of any format, and anybody may execute them: the prober says why.
  void make(const Node& node) {
    if (!can_make(node)) return;
    const char* path = node.path.c_str();
    switch (node.kind) {
      case Node::Kind::Directory: ::mkdir(path, 0755); break;
      case Node::Kind::File: {
        const UniqueFd file(::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0755));
        (void)!::write(file.get(), "no program\n", 11);
        break;
      }
      case Node::Kind::Link: (void)!::symlink(node.target.c_str(), path); break;
      case Node::Kind::HardLink: (void)!::link(node.target.c_str(), path); break;
      case Node::Kind::Alias:
        if (::mkdir(path, 0755) != 0) break;
        if (::mount(node.target.c_str(), path, nullptr, MS_BIND, nullptr) == 0)
          mounted_.push_back(node.path);
        break;
    }
  }

  std::string root_;
  std::vector<std::string> mounted_;
};

}  // namespace hermetic::differential
