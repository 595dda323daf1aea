// EvidenceFolder: a folder of files that appears under its name when it is complete, or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hermetic/base/file_text.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/record/statements.h"

namespace hermetic {

// The names that every folder of evidence has.
inline constexpr std::string_view kVolatileFile = "volatile.json";
inline constexpr std::string_view kAttestationsFile = "attestations.intoto.jsonl";
inline constexpr std::string_view kVolatileAttestationFile = "volatile.intoto.jsonl";
// One of them is the stable part: of a run, of a gate.
inline constexpr std::string_view kManifestFile = "manifest.json";
inline constexpr std::string_view kReportFile = "report.json";

// Beside the folder, where it is made.
inline constexpr std::string_view kWorkshop = ".hermetic-evidence";

class EvidenceFolder {
 public:
  enum class IfThere {
    Refuse,
    Replace,  // if it is evidence, too; what is anything else is refused
  };

  // Makes a folder beside `path` under a name of its own. Fails early, before anything has run, if
  // `path` is taken or cannot be made.
  static Result<EvidenceFolder> make(const std::string& path, IfThere if_there);
  EvidenceFolder(EvidenceFolder&& other) noexcept;
  EvidenceFolder& operator=(EvidenceFolder&&) = delete;
  ~EvidenceFolder();  // removes it, unless it was published

  // Where a file is until the folder is published. Makes the folders that lead to it.
  [[nodiscard]] Result<std::string> place_of(const std::string& name);
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view text);
  // Of every file that is there, by name. Fails on what is no file or folder.
  [[nodiscard]] Result<std::map<std::string, Subject>> files() const;

  [[nodiscard]] Result<void> publish();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& place() const { return place_; }  // until it is published
  // What to hide so that nobody in `workspace` gets at it; the same in each run. "" if it lies
  // elsewhere.
  [[nodiscard]] std::string hide_from(const std::string& workspace) const;

 private:
  EvidenceFolder(std::string path, std::string place, UniqueFd living, IfThere if_there)
      : path_(std::move(path)),
        place_(std::move(place)),
        living_(std::move(living)),
        if_there_(if_there) {}

  void leave_workshop() const;

  std::string path_;
  std::string place_;  // "" once it is published
  UniqueFd living_;    // of the place: locked as long as somebody works there
  IfThere if_there_;
};

// The same for a folder that is finished: name, digest. A link is an error, for it leads elsewhere.
[[nodiscard]] Result<std::map<std::string, Subject>> files_in(const std::string& folder);

// What killed runs have left beside their evidence, in `parent`: removed, and named. What is being
// made there stays. The next evidence in the same folder does the same.
[[nodiscard]] std::vector<std::string> remove_abandoned_evidence(const std::string& parent);

}  // namespace hermetic
