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

// The program that the call wants to execute; nothing if it is no such call.
[[nodiscard]] std::optional<std::string> program_asked_for(const seccomp_notif& question,
                                                           ProcessReader* processes);

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

  // Notes the names that it is about, if there are any. True if one of them is new. Descriptors are
  // looked at through `processes`; null where nobody means harm.
  bool hear(const seccomp_notif& question, ProcessReader* processes);
  // Who asked for those that were new in the last question.
  void credit(const std::string& program);

  // Sorted, each once.
  [[nodiscard]] std::vector<AskedPath> asked() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  bool note(std::string_view path, std::uint8_t acts);

  Look look_;
  std::unordered_map<std::string, std::uint8_t, Hash, std::equal_to<>> asked_;  // sets of acts
  std::string path_;                                     // the one at hand; kept for its memory
  std::vector<std::string> fresh_;                       // of the last question
  std::unordered_map<std::string, std::string> askers_;  // by path
};

}  // namespace hermetic::linux_backend
