// EvidenceFolder: a folder of files that appears under its name when it is complete, or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hermetic/base/entries.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/places/own_place.h"
#include "hermetic/places/private_folder.h"
#include "hermetic/record/statements.h"

namespace hermetic {

// The names that every folder of evidence has.
inline constexpr std::string_view kVolatileFile = "volatile.json";
inline constexpr std::string_view kAttestationsFile = "attestations.intoto.jsonl";
inline constexpr std::string_view kVolatileAttestationFile = "volatile.intoto.jsonl";
// One of them is the stable part: of a run, of a gate.
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kReportFile = "report.json";

class EvidenceFolder {
 public:
  enum class IfThere {
    Refuse,
    Replace,  // if it is evidence, too; what is anything else is refused
  };

  // Whether a command could see or change what is made in this directory.
  using IsSeen = std::function<Result<bool>(const Found& directory)>;

  // Makes the parents of `place`, and a private folder in the nearest of them, or in a directory
  // for temporary files if `is_seen` says that a command would get at it. Fails early, before
  // anything has run, if the place is taken or cannot be made.
  static Result<EvidenceFolder> make(OwnPlace place, IfThere if_there, const IsSeen& is_seen);
  EvidenceFolder(EvidenceFolder&& other) noexcept;
  EvidenceFolder& operator=(EvidenceFolder&&) = delete;
  ~EvidenceFolder();  // removes it, unless it was published

  // Where a file is until the folder is published. Makes the folders that lead to it.
  [[nodiscard]] Result<OwnPlace> place_of(const std::string& name) const;
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view text) const;
  // Of every file that is there, by name. Fails on what is no file or folder.
  [[nodiscard]] Result<std::map<std::string, Subject>> files() const;

  [[nodiscard]] Result<void> publish();
  [[nodiscard]] const std::string& path() const { return place_.path(); }
  // Where it is made, until it is published.
  [[nodiscard]] Result<Found> workshop() const;
  // Where it is published.
  [[nodiscard]] const OwnPlace& place() const { return place_; }
  // What to hide from commands that work in `workspace`, a real path, so that none gets at evidence
  // that is there already: the directory around it. "" if that is not inside the workspace.
  [[nodiscard]] std::string hide_from(const std::string& workspace) const;

 private:
  EvidenceFolder(OwnPlace place, IfThere if_there, UniqueFd base, PrivateFolder folder,
                 UniqueFd tree)
      : place_(std::move(place)),
        if_there_(if_there),
        base_(std::move(base)),
        folder_(std::move(folder)),
        tree_(std::move(tree)) {}

  [[nodiscard]] Result<UniqueFd> folder_of(const std::string& name) const;
  [[nodiscard]] Result<void> check_still_there() const;

  OwnPlace place_;
  IfThere if_there_;
  UniqueFd base_;  // the directory in which the private folder is; closed once that is gone
  PrivateFolder folder_;
  UniqueFd tree_;
};

// The same for a folder that is finished: name, digest. A link is an error, for it leads elsewhere.
[[nodiscard]] Result<std::map<std::string, Subject>> files_in(const std::string& folder);

}  // namespace hermetic
