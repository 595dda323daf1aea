#include "hermetic/backends/linux/socket_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <filesystem>

#include "hermetic/base/path.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic::linux_backend {
namespace {

constexpr int kMostLinks = 8;

const ViewEntry* nearest_entry(const Plan& plan, std::string_view path) {
  const ViewEntry* nearest = nullptr;
  for (const ViewEntry& entry : plan.view)  // what covers comes after what is covered
    if (is_within(path, entry.path)) nearest = &entry;
  return nearest;
}

std::string without_dots(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

bool is_shown(ViewEntry::Kind kind) {
  switch (kind) {
    case ViewEntry::Kind::Input:
    case ViewEntry::Kind::Output:
    case ViewEntry::Kind::OutputInPlace:
    case ViewEntry::Kind::Temp:
    case ViewEntry::Kind::File:
    case ViewEntry::Kind::Processes: return true;
    default: return false;  // nothing is there but what has an entry of its own
  }
}

// On a file system that was made for the sandbox. A directory that only leads on belongs to what
// it lies in, and the root to nobody.
bool is_private(const Plan& plan, std::string_view path) {
  const ViewEntry* nearest = nullptr;
  for (const ViewEntry& entry : plan.view)
    if (entry.kind != ViewEntry::Kind::Directory && is_within(path, entry.path)) nearest = &entry;
  return nearest == nullptr || nearest->kind == ViewEntry::Kind::Temp ||
         nearest->kind == ViewEntry::Kind::Devices;
}

}  // namespace

std::string without_links(const Plan& plan, std::string_view path) {
  std::string wanted(path);
  const ViewEntry* entry = nearest_entry(plan, wanted);
  for (int i = 0; i < kMostLinks && entry != nullptr && entry->kind == ViewEntry::Kind::Link; ++i) {
    const std::string_view rest = relative_to(wanted, entry->path);
    std::string target = entry->text;
    if (!target.starts_with('/')) target = std::string(parent_of(entry->path)) + "/" + target;
    wanted = without_dots(rest.empty() ? target : target + "/" + std::string(rest));
    entry = nearest_entry(plan, wanted);
  }
  return wanted;
}

SocketPath find_in_view(const Plan& plan, std::string_view path) {
  const std::string wanted = without_links(plan, path);
  const ViewEntry* entry = nearest_entry(plan, wanted);
  if (is_within(wanted, kSharedMemory))
    return {.in_view = true, .rule = fmt::format("its own {}", kSharedMemory), .is_private = true};
  if (entry == nullptr || !is_shown(entry->kind))
    return {.in_view = false,
            .rule = std::string(to_string(Clause::UndeclaredHidden)),
            .is_private = is_private(plan, wanted)};
  return {.in_view = true,
          .rule = fmt::format("{} {}", to_string(entry->kind), entry->path),
          .is_private = is_private(plan, wanted)};
}

std::string whole_path(pid_t process, const std::string& path) {
  if (path.starts_with('/')) return without_dots(path);
  std::array<char, PATH_MAX> text;
  const ssize_t size =
      ::readlink(fmt::format("/proc/{}/cwd", process).c_str(), text.data(), text.size());
  if (size <= 0 || text[0] != '/') return "";
  return without_dots(std::string(text.data(), static_cast<std::size_t>(size)) + "/" + path);
}

}  // namespace hermetic::linux_backend
