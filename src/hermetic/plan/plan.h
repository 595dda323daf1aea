// Plan: exactly what the command will see and which promises hold, the same on every system.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/plan/capabilities.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// A directory of the host that is part of a temp. The object is as in ViewEntry.
struct PlannedLayer {
  std::string source;
  std::shared_ptr<const UniqueFd> object;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const PlannedLayer& a, const PlannedLayer& b) {
    return a.source == b.source;
  }
};

// One thing in the command's file system. Entries stand in the order in which they are put there:
// parents before children, and what covers after what is covered.
struct ViewEntry {
  enum class Kind {
    Directory,      // an empty directory on the way to something; in a temp or output, part of that
    Input,          // a tree of the host, read only
    Output,         // a fresh private tree, published afterwards
    OutputInPlace,  // a tree of the host, changed directly
    Temp,           // a fresh private tree, thrown away afterwards
    Hidden,         // an exception: nothing to read, list or write
    Listing,        // a private directory in which the host's entries are shown one by one
    Link,           // a symbolic link
    File,           // a file that hermetic writes
    Devices,        // /dev
    Processes,      // /proc
  };

  Kind kind = Kind::Directory;
  std::string path;  // inside
  FileType type = FileType::Directory;
  bool make_point = false;  // nothing is there yet, so the place for it must be made
  std::string source;       // path on the host, of Input, OutputInPlace and Listing
  std::string text;         // target of a Link, content of a File

  // The object that was checked, of Input and OutputInPlace. Holding the descriptor keeps its
  // number from being given to another. Not part of the value.
  std::shared_ptr<const UniqueFd> object;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  std::vector<PlannedLayer> over;       // of Temp: what it starts as, the first uppermost
  std::optional<PlannedLayer> changes;  // and what takes the changes; memory, if nothing does

  friend bool operator==(const ViewEntry& a, const ViewEntry& b) {
    return a.kind == b.kind && a.path == b.path && a.type == b.type &&
           a.make_point == b.make_point && a.source == b.source && a.text == b.text &&
           a.over == b.over && a.changes == b.changes;
  }
};
[[nodiscard]] std::string_view to_string(ViewEntry::Kind kind);  // "input", "in_place", "hidden"…

// Where the result of an output goes when the run has succeeded.
struct Publication {
  std::string path;         // inside
  std::string destination;  // on the host: the real path
  Publish publish = Publish::Replace;
  FileType type = FileType::Directory;
  std::vector<std::string> exceptions;  // below `destination`; they stay as they are
  std::string made_in;  // the temp in which the command makes it; "": it is there from the start

  friend bool operator==(const Publication&, const Publication&) = default;
};

struct PlannedClause {
  Clause clause = Clause::InputsReadOnly;
  Strength strength = Strength::Absent;
  std::string mechanism;
  std::string reason;     // why it is not enforced
  bool given_up = false;  // the spec says that less than enforced will do

  friend bool operator==(const PlannedClause&, const PlannedClause&) = default;
};

// A value but for the descriptors in its view.
struct Plan {
  std::string backend;
  std::string spec_digest;
  std::vector<std::string> command;
  std::string directory;
  std::vector<ViewEntry> view;
  std::vector<Publication> publications;
  std::map<std::string, std::string> environment;
  NetworkPolicy network;
  std::string network_rule;  // what it is called in events: "network: none (hermetic.yaml:7:3)"
  // The rules of a list, by their text: "example.org of network: hosts (hermetic.yaml:8:5)".
  std::map<std::string, std::string> host_rules;
  std::set<std::string> unix_sockets;  // that may lead out of the sandbox
  ResourceLimits limits;
  ProcessPolicy process;
  Identity identity = Identity::Builder;
  std::string hostname;
  OnViolation on_violation = OnViolation::Report;
  bool strict_outputs = false;
  bool own_uptime = false;
  bool allow_nested_namespaces = false;
  std::vector<PlannedClause> clauses;

  // Every clause is enforced, also those that the spec was ready to give up, and no host beyond the
  // sandbox can be reached. The second line only strengthens other clauses and is not asked for.
  [[nodiscard]] bool hermetic() const;

  // What the rule that has decided is called; "" if none of the list has.
  [[nodiscard]] std::string rule_called(const std::string& rule) const;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Fails with Unsupported, naming every clause that the spec needs and the backend lacks, with the
// remedy; the spec may give clauses up by name. Pure.
[[nodiscard]] Result<Plan> make_plan(const Spec& spec, const Capabilities& capabilities);

// The parts of make_plan(), for its tests.
[[nodiscard]] std::vector<ViewEntry> view_of(const Spec& spec);
[[nodiscard]] std::vector<Clause> clauses_needed_by(const Spec& spec);

}  // namespace hermetic
