// Spec: everything a command may read, write, reach and know. What is not named is denied.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/spec/declaration.h"
#include "hermetic/spec/draft.h"
#include "hermetic/spec/limits.h"
#include "hermetic/spec/lookup.h"
#include "hermetic/spec/network.h"
#include "hermetic/spec/path_map.h"
#include "hermetic/spec/path_set.h"

namespace hermetic {

// Of a directory: list it, make and remove entries in it, pass through it.
enum class Operation { Read, Write, Execute };
[[nodiscard]] std::string_view to_string(Operation operation);  // "read", "write", "execute"

// One entry of a directory, as it is shown when a place is made beside it.
struct Child {
  std::string name;
  FileType type = FileType::Unknown;
  std::optional<std::string> link;  // the text of a symbolic link
  std::uint64_t device = 0;         // which object it is; not part of the value
  std::uint64_t inode = 0;

  friend bool operator==(const Child& a, const Child& b) {
    return a.name == b.name && a.type == b.type && a.link == b.link;
  }
};

// A directory of an input, shown entry by entry in a private one, so that places can be made in it.
struct ShownDirectory {
  std::string place;   // inside
  std::string source;  // what it is on the host
  std::shared_ptr<const UniqueFd> object;
  std::vector<Child> children;
};

// A declaration together with what it turned out to be on this host.
struct Tree {
  Declaration declaration;
  bool built_in = false;           // the private /tmp, or where the command makes outputs
  std::string place;               // where it stands inside: declaration.at, or the real path
  Found found;                     // declaration.path
  std::vector<Found> exceptions;   // declaration.exceptions, in the same order
  std::vector<std::string> holes;  // their places inside, and the built-in trees inside an input
  std::vector<std::string> real_exceptions;  // what those are on the host, in the same order
  std::vector<ShownDirectory> listings;      // where a place must be made beside what the host has
  std::vector<Found> over;                   // declaration.over, in the same order
  std::optional<Found> changes;              // declaration.changes, if there is one
  std::optional<Found> maker_directory;      // the parent of an output that the command makes
};

// Why a path may or may not be used.
struct Decision {
  enum class Because {
    Declared,    // `tree` decides
    BuiltIn,     // a device, /proc, or one of the files that hermetic writes
    OnTheWay,    // a directory that only leads to declared paths: it can be passed through and,
                 // unless outputs are strict, listed
    Excepted,    // `tree` would cover it, but for an exception
    Undeclared,  // nothing covers it
  };

  bool allowed = false;
  Because because = Because::Undeclared;
  const Tree* tree = nullptr;  // for Declared and Excepted; valid as long as the Spec
  std::string path;            // the path that was decided upon, after following declared links
};

// A value: copy it, compare it, hash it. A Spec that exists has passed SpecBuilder::build(). Copies
// share the descriptors that build() opened; they are not part of the value.
class Spec {
 public:
  std::vector<std::string> command;
  std::string directory;
  NetworkPolicy network;
  Origin network_origin;                       // where that was written; not part of the value
  std::map<std::string, Origin> host_origins;  // of single rules, by their text; nor are these
  std::set<std::string> unix_sockets;          // paths, as processes inside name them
  EnvironmentDraft environment;
  ResourceLimits limits;
  ProcessPolicy process;
  Identity identity = Identity::Builder;
  std::string hostname;
  OnViolation on_violation = OnViolation::Report;
  bool strict_outputs = false;
  bool allow_nested_namespaces = false;
  bool own_uptime = false;
  bool allow_unsandboxed = false;
  std::set<std::string> give_up;

  // The whole environment of the command: built-in minimum, passed and set variables.
  [[nodiscard]] const std::map<std::string, std::string>& variables() const {
    return index_->variables;
  }

  // In the order in which they were declared; built-in ones last.
  [[nodiscard]] const std::vector<Tree>& trees() const { return index_->trees; }
  // The links that were followed on the way to paths declared without `at`: they exist inside as
  // well.
  [[nodiscard]] const std::vector<Link>& links() const { return index_->links; }

  // As sets of paths inside. Made anew by each call; to ask about one path, ask is_input() or
  // decide().
  [[nodiscard]] PathSet inputs() const { return set_of(TreeKind::Input); }
  [[nodiscard]] PathSet outputs() const { return set_of(TreeKind::Output); }
  [[nodiscard]] PathSet temps() const { return set_of(TreeKind::Temp); }
  // Is this path inside, which leads through no link, part of an input?
  [[nodiscard]] bool is_input(std::string_view path) const {
    return index_->holds(TreeKind::Input, path);
  }

  // The one decision that every backend follows. Costs O(depth of the path). `asked` must be
  // normal.
  [[nodiscard]] Decision decide(std::string_view asked, Operation operation) const;

  [[nodiscard]] bool can_read(std::string_view path) const;
  [[nodiscard]] bool can_write(std::string_view path) const;
  [[nodiscard]] bool can_reach(std::string_view host, std::uint16_t port) const;
  [[nodiscard]] bool has_env(std::string_view name) const;

  // One text per meaning: two specs that say the same in another order have the same. JSON, sorted.
  [[nodiscard]] std::string canonical() const;
  [[nodiscard]] std::string digest() const;  // SHA-256 of canonical()

  friend bool operator==(const Spec& a, const Spec& b) { return a.canonical() == b.canonical(); }

 private:
  friend class SpecBuilder;

  // Everything that build() worked out, made once and shared by all copies.
  struct Index {
    std::vector<Tree> trees;
    std::vector<Link> links;
    std::map<std::string, std::string> variables;
    PathMap<std::string> link_targets;         // where each link leads
    PathMap<std::vector<std::size_t>> places;  // links, and the numbers of the trees rooted there
    // What holds at and below a path: the number of the tree, and whether it is one of its
    // exceptions.
    struct Rule {
      std::size_t tree = 0;
      bool excepted = false;
    };
    PathMap<std::optional<Rule>> rules;

    [[nodiscard]] bool holds(TreeKind kind, std::string_view path) const;
  };
  Spec() = default;
  static Result<void> fill_index(Index& index, std::vector<Tree> trees);
  static void fill_rules(Index& index);
  [[nodiscard]] PathSet set_of(TreeKind kind) const;
  [[nodiscard]] std::string follow_links(std::string_view path) const;
  [[nodiscard]] bool can_list_on_the_way(std::string_view path) const;

  std::shared_ptr<const Index> index_;
};

// Does `a` allow everything that `b` allows? If not, says one thing that `b` allows and `a` does
// not.
struct Subsumption {
  bool holds = false;
  std::string witness;  // "write /w/out", "reach example.org:443", "know CC", "use 8G of memory"
};
[[nodiscard]] Subsumption subsumes(const Spec& a, const Spec& b);

}  // namespace hermetic
