// Observation: what a command asked for while it was watched, and what it left.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/run/event.h"
#include "hermetic/run/outcome.h"
#include "hermetic/spec/declaration.h"

namespace hermetic {

// One name, with everything that was asked of it.
struct SeenPath {
  std::string path;
  FileType type = FileType::Unknown;  // what the name leads to in the end; Unknown: nothing
  bool link = false;                  // the name itself is a symbolic link
  bool absent_before = false;         // nothing had the name when it was first asked for
  bool read = false;                  // looked at in any way
  bool opened = false;                // its content; of a directory: its listing
  bool executed = false;
  bool written = false;      // made, changed or removed
  bool replaced = false;     // of no interest as it was before
  bool used_before = false;  // its content, before it was replaced

  [[nodiscard]] bool exists() const { return type != FileType::Unknown || link; }
  // Was it there before the command, so that the command may need it?
  [[nodiscard]] bool is_needed() const {
    const bool passed_through = type == FileType::Directory && !opened;
    return !absent_before && exists() && (read || opened || executed) && !passed_through;
  }

  friend bool operator==(const SeenPath&, const SeenPath&) = default;
};

// The other side of a connection, or the own side of one who listens.
struct Reached {
  std::string host;  // a name if it is known, else an address
  std::uint16_t port = 0;

  friend auto operator<=>(const Reached&, const Reached&) = default;
};

// What earlier runs needed: the spec that was learned from them.
struct Earlier {
  std::vector<std::string> command;
  std::string directory;
  std::vector<Declaration> trees;
  std::map<std::string, std::string> variables;
  bool loopback = false;
  std::set<std::string> hosts;
  std::set<std::string> withheld;  // looked like secrets
  std::set<std::string> notes;

  [[nodiscard]] bool is_known() const { return !command.empty(); }
};

struct Observation {
  std::vector<std::string> command;
  std::string directory;                           // where the command was started
  std::string home;                                // of the caller; "" if there is none
  std::map<std::string, std::string> environment;  // the caller's
  std::vector<SeenPath> paths;                     // in the order of paths, each once
  std::set<std::string> mentioned;  // variables of the caller that the files of the project name
  std::set<std::string>
      asked;  // variables that programs asked the C library for, if that was heard
  std::set<Reached> reached;
  std::set<Reached> listened;   // at port 0: at one that the kernel chose
  std::set<std::string> names;  // that name servers were asked for
  Earlier earlier;
};

// Collects the addresses; everything else goes on to the next sink.
class AddressCollector final : public EventSink {
 public:
  explicit AddressCollector(EventSink& next) : next_(next) {}

  void on_event(const Event& event) override;
  void on_sample(const Usage& usage) override { next_.on_sample(usage); }

  std::set<Reached> reached;
  std::set<Reached> listened;
  std::set<std::string> names;

 private:
  EventSink& next_;
};

// What was seen of the path; null if it was not asked for. Costs the logarithm of all.
[[nodiscard]] const SeenPath* find_seen(const Observation& observation, std::string_view path);

// From names that were asked for to what they mean on this host: the links on the way, the
// interpreters that the kernel loads by itself, what is there afterwards.
[[nodiscard]] std::vector<SeenPath> see(const std::vector<AskedPath>& asked);

// Which of these variables the files that were read below the directory name: $NAME, ${NAME,
// $(NAME, env.NAME, "NAME" and 'NAME'.
[[nodiscard]] std::set<std::string> mentioned_variables(
    const std::vector<SeenPath>& paths, const std::string& directory,
    const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);

}  // namespace hermetic
