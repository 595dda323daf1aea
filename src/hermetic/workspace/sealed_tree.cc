#include "hermetic/workspace/sealed_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/quiet_thread.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr int kDeepest = 1000;  // or the stack would end

// A seal is a Head, and for each entry its Facts and its path from the top, which a zero ends: what
// the kernel is asked about stands there as it wants it. Inodes are of one machine, and so are the
// sizes of numbers.
struct Head {
  char kind[16] = "hermetic seal 1";
  std::uint64_t bytes = 0;  // of the whole seal: half of one would be true of half a tree
};
struct Facts {
  std::uint64_t mode = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};
static_assert(std::has_unique_object_representations_v<Head>);
static_assert(std::has_unique_object_representations_v<Facts>);

template <typename Value>
std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::optional<Facts> facts_of(int directory, const char* path) {
  struct stat status = {};
  if (::fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0)
    return std::nullopt;
  // The size of a directory is its file system's affair.
  const bool is_directory = S_ISDIR(status.st_mode);
  return Facts{.mode = status.st_mode,
               .inode = status.st_ino,
               .size = is_directory ? 0 : static_cast<std::uint64_t>(status.st_size),
               .seconds = status.st_ctim.tv_sec,
               .nanoseconds = status.st_ctim.tv_nsec};
}

// By paths from the top: no level holds a descriptor.
Result<void> add(std::string& seal, int top, const std::string& path, int depth) {
  const auto failed = [&](const char* doing) {
    return system_error(fmt::format("cannot {} '{}'", doing, path.empty() ? "." : printable(path)),
                        errno, "its owner needs to read and enter it: chmod u+rwx");
  };
  const std::optional<Facts> facts = facts_of(top, path.c_str());
  if (!facts) return failed("look at");
  seal += bytes_of(*facts);
  seal += path;
  seal += '\0';
  if (!S_ISDIR(facts->mode)) return {};
  if (depth > kDeepest) return system_error("a tree is too deep to be sealed", ELOOP);
  std::vector<std::string> names;
  {
    const UniqueFd here(::openat(top, path.empty() ? "." : path.c_str(),
                                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!here.is_open()) return failed("open");
    names = TRY(names_in(here.get()));
  }
  for (const std::string& name : names)
    TRY(add(seal, top, path.empty() ? name : path + "/" + name, depth + 1));
  return {};
}

bool are_unchanged(std::span<const std::string_view> entries, int directory) {
  return std::all_of(entries.begin(), entries.end(), [&](std::string_view entry) {
    const std::optional<Facts> facts = facts_of(directory, entry.data() + sizeof(Facts));
    return facts && entry.starts_with(bytes_of(*facts));
  });
}

}  // namespace

Result<std::string> seal_of(int directory) {
  std::string seal(bytes_of(Head{}));
  TRY(add(seal, directory, "", 0));
  Head head;
  head.bytes = seal.size();
  seal.replace(0, sizeof head, bytes_of(head));
  return seal;
}

bool is_sealed_by(std::string_view seal, int directory) {
  Head head;
  head.bytes = seal.size();
  if (!seal.starts_with(bytes_of(head)) || !seal.ends_with('\0')) return false;
  seal.remove_prefix(sizeof head);
  std::vector<std::string_view> entries;
  while (!seal.empty()) {
    if (seal.size() <= sizeof(Facts)) return false;
    entries.push_back(seal.substr(0, seal.find('\0', sizeof(Facts)) + 1));
    seal.remove_prefix(entries.back().size());
  }
  const std::span<const std::string_view> all = entries;
  constexpr std::size_t kWorthAThread = 500;
  if (all.size() < kWorthAThread) return are_unchanged(all, directory);
  bool others = false;
  const auto look_at_others = [&] {
    others = are_unchanged(all.subspan(all.size() / 2), directory);
  };
  std::thread helper = start_quiet_thread(look_at_others);
  const bool ours = are_unchanged(all.first(all.size() / 2), directory);
  if (helper.joinable())
    helper.join();
  else
    look_at_others();
  return ours && others;
}

}  // namespace hermetic
