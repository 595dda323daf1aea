// Journal: written while outputs are published, so that a later run can finish or take back what a
// run that was killed has begun.
//
// It is a file in a private folder of its own, which is locked like the staging folders. Every step
// is written down before it is done. It is not forced to disk: it outlives the process, and no more
// is promised than that; the outputs are not forced to disk either.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/outputs/journal_record.h"
#include "hermetic/outputs/staging.h"
#include "hermetic/places/private_folder.h"

namespace hermetic {

// What makes a folder one with a journal to be followed, besides the file: it lies in a folder for
// journals, where no command writes (see spec/own_folders.h), and has the set-user-id bit, which
// means nothing on a directory. Outputs with it are not published, and where they are changed in
// place the filter refuses to set it. A command that leaves such a folder in a tree of its own must
// not be able to make us move other files.
inline constexpr unsigned kJournalMode = 04700;
inline constexpr const char* kJournalFile = "journal";
// In a staging folder: its content is not to be removed before the journal that is named here has
// been followed. It may hold what was there before.
inline constexpr const char* kClaimFile = "claimed";

// Where journals are kept, so that they are found and believed: the first of kTemporaryFolders that
// can be written to; "" if there is none.
[[nodiscard]] std::string journal_base();

class Journal {
 public:
  // An open directory, and its number in the records.
  struct Place {
    int descriptor = -1;
    std::uint32_t number = JournalRecord::kNowhere;
  };

  // Claims all the staging folders.
  static Result<Journal> begin(const Staging& staging);

  // Nothing is undone or removed by itself.
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal(Journal&&) noexcept = default;
  Journal& operator=(Journal&&) noexcept = default;
  ~Journal() = default;

  // Descriptors that undoing needs are kept. They are made before what they undo is done, or there
  // would be no way back when there are no more to be had.
  Result<Place> place(int descriptor);  // the caller keeps it open as long as the journal
  Result<Place> place(UniqueFd descriptor);
  Result<Place> place_in(const Place& parent, const std::string& name, UniqueFd descriptor);

  // To be called before the step is done; if it fails, the step must not be done.
  Result<void> announce(JournalRecord record);
  Result<void> announce_all(std::vector<JournalRecord> records);

  // From here on the publication is finished if it is interrupted, and no longer taken back.
  Result<void> commit();
  // Takes everything back. If that fails, all that is needed to try again stays.
  Result<void> take_back();
  // After either: removes what is left over, the staging folders and the journal.
  void close();

  [[nodiscard]] const std::string& folder() const { return folder_.path; }

 private:
  Journal() = default;

  static Result<PrivateFolder> make_folder(const Staging& staging, Journal& journal);
  Result<void> claim(const Staging& staging);
  [[nodiscard]] Result<int> open(std::uint32_t number) const;

  PrivateFolder folder_;
  UniqueFd file_;
  std::size_t size_ = 0;
  std::vector<JournalRecord> records_;
  std::vector<int> places_;
  std::vector<UniqueFd> kept_;
  std::vector<std::string> claimed_;  // staging folders
};

}  // namespace hermetic
