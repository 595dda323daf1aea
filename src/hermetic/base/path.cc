#include "hermetic/base/path.h"

#include <fmt/format.h>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr std::size_t kLongestPath = 4095;  // PATH_MAX counts the closing NUL

// What a message shows of a path that is refused, and that may be of any length.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 200;
  return text.size() <= kMost ? printable(text) : printable(text.substr(0, kMost)) + "...";
}

}  // namespace

Result<std::string> normal_path(std::string_view text) {
  if (text.empty()) return invalid("empty path", "name an absolute path such as /usr");
  if (text.find('\0') != std::string_view::npos)
    return invalid(fmt::format("path '{}' contains a NUL byte", shown(text)));
  if (!is_utf8(text))
    return invalid(fmt::format("path '{}' is not valid UTF-8", shown(text)),
                   "declare a parent directory whose name is");
  if (text.front() != '/')
    return invalid(fmt::format("relative path '{}'", shown(text)),
                   fmt::format("write an absolute path, or $here/{} for one beside the spec file",
                               shown(text)));
  std::string normal;
  normal.reserve(text.size());
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view component = text.substr(begin, end - begin);
    begin = end + 1;
    if (component.empty() || component == ".") continue;
    if (component == "..")
      return invalid(fmt::format("path '{}' contains '..'", shown(text)),
                     "name the place itself: what '..' means depends on symbolic links");
    if (component.size() > 255)
      return invalid(fmt::format("path '{}' has a component of more than 255 bytes", shown(text)));
    normal += '/';
    normal += component;
  }
  if (normal.empty()) normal.push_back('/');  // g++ 12 warns of an assignment at -O2
  if (normal.size() > kLongestPath)
    return invalid(fmt::format("path of {} bytes is longer than the system's limit of {}",
                               normal.size(), kLongestPath));
  return normal;
}

std::string join(std::string_view directory, std::string_view relative) {
  if (relative.empty()) return std::string(directory);
  std::string path(directory);
  if (path.back() != '/') path += '/';
  path += relative;
  return path;
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_within(std::string_view path, std::string_view tree) {
  if (tree == "/") return true;
  return path.starts_with(tree) && (path.size() == tree.size() || path[tree.size()] == '/');
}

bool is_strictly_within(std::string_view path, std::string_view tree) {
  return path.size() != tree.size() && is_within(path, tree);
}

std::string_view relative_to(std::string_view path, std::string_view tree) {
  CHECK(is_within(path, tree));
  if (path.size() == tree.size()) return {};
  return path.substr(tree == "/" ? 1 : tree.size() + 1);
}

std::strong_ordering compare_paths(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shorter; ++i) {
    if (a[i] == b[i]) continue;
    // '/' ends a component and so sorts before every other byte.
    if (a[i] == '/') return std::strong_ordering::less;
    if (b[i] == '/') return std::strong_ordering::greater;
    return static_cast<unsigned char>(a[i]) <=> static_cast<unsigned char>(b[i]);
  }
  return a.size() <=> b.size();
}

bool Components::next() {
  if (end_ == 0 && path_ == "/") return false;
  if (end_ >= path_.size()) return false;
  const std::size_t begin = end_ + 1;
  end_ = std::min(path_.find('/', begin), path_.size());
  name_ = path_.substr(begin, end_ - begin);
  return true;
}

}  // namespace hermetic
