// TempDir: a real folder for one test, removed afterwards.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hermetic/base/file_tree.h"

namespace hermetic {

class TempDir {
 public:
  TempDir() {
    std::string pattern = std::filesystem::temp_directory_path() / "hermetic-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = std::filesystem::canonical(pattern);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { (void)remove_tree(AT_FDCWD, path_); }  // also what a test has closed to itself

  // The absolute, real path of a name in the folder.
  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ / name; }
  [[nodiscard]] std::string path() const { return path_; }

  std::string directory(std::string_view name) const {
    std::filesystem::create_directories(path_ / name);
    return path_ / name;
  }
  std::string file(std::string_view name, std::string_view content = "") const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << content;
    return path_ / name;
  }
  std::string link(std::string_view name, const std::string& target) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::filesystem::create_symlink(target, path_ / name);
    return path_ / name;
  }
  // Directories of one name in each other, from `top` on, also where no path leads any more.
  void nest(std::string_view top, const std::string& name, int levels, mode_t mode = 0755) const {
    int place = ::open(directory(top).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < levels && place >= 0; ++i) {
      (void)::mkdirat(place, name.c_str(), 0755);
      const int below = ::openat(place, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (i > 0) (void)::fchmod(place, mode);
      ::close(place);
      place = below;
    }
    if (place < 0) throw std::runtime_error("nesting directories failed");
    ::close(place);
  }
  std::string hard_link(std::string_view name, std::string_view existing) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::filesystem::create_hard_link(path_ / existing, path_ / name);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace hermetic
