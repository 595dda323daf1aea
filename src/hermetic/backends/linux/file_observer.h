// FileObserver: hears which file names the command asks for. It observes and never decides: every
// call goes on unchanged, and what it may do is up to the mounts.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hermetic/backends/linux/process_reader.h"
#include "hermetic/run/outcome.h"

namespace hermetic::linux_backend {

inline constexpr const char* kHiddenPath = "a hidden path";

// The program that the call wants to execute; nothing if it is no such call. kHiddenPath if we may
// not look into the caller's memory: that of a program which it may only execute, not read.
[[nodiscard]] std::optional<std::string> program_asked_for(const seccomp_notif& question,
                                                           ProcessReader& processes);
// The words that it is to get; kCut after those that fit into a few thousand bytes.
[[nodiscard]] std::vector<std::string> arguments_given(const seccomp_notif& question);

// Asks about the system calls that take a file name, and about those in `others`. Two kinds are
// left out, because they are most of all calls and tell next to nothing: readlink, with which
// programs make names canonical, and stat of an open descriptor, which a register shows.
[[nodiscard]] std::vector<sock_filter> file_observer_filter(std::span<const int> others = {});

class FileObserver {
 public:
  // Whether something has the name when it is first asked for can be seen only from where the
  // command sees it, too: outside a sandbox.
  enum class Look { Never, OnHost };

  explicit FileObserver(Look look = Look::Never) : look_(look) {}

  // Notes the names that it is about, if there are any, and returns what was not asked for before,
  // or so long ago that it is forgotten. Good until the next question. Descriptors are looked at
  // through `processes`; null where nobody means harm.
  const std::vector<AskedPath>& hear(const seccomp_notif& question, ProcessReader* processes);
  // The last question was about a name that we may not see.
  [[nodiscard]] bool is_hidden() const { return is_hidden_; }

  // Sorted, each once.
  [[nodiscard]] std::vector<AskedPath> asked() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  using Paths = std::unordered_map<std::string, std::uint8_t, Hash, std::equal_to<>>;

  [[nodiscard]] bool is_full() const;
  void note(std::string_view path, std::uint8_t acts);

  Look look_;
  Paths asked_;  // sets of acts
  std::size_t asked_bytes_ = 0;
  Paths latest_;  // of those that are not kept; forgotten from time to time
  std::size_t latest_bytes_ = 0;
  std::string path_;  // the one at hand; kept for its memory
  std::vector<AskedPath> fresh_;
  bool is_hidden_ = false;
};

}  // namespace hermetic::linux_backend
