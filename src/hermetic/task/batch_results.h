// BatchResults: the folder of a batch on disk: a line for each result, and a folder beside it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/places/own_place.h"
#include "hermetic/task/task_record.h"

namespace hermetic::task {

struct BatchResult {
  std::string line;  // JSON, without the end of the line
  std::size_t number = 0;
  std::string digest = {};  // of the work that it is the result of
  Failure failure = Failure::Infra;
  bool denied = false;                      // something was tried that is not allowed
  std::string folder = {};                  // a name; "" of what could not be set up
  std::optional<Durations> durations = {};  // if it says them all
};

// The lines of a file of results. One that is no result of a batch is refused: the file is somebody
// else's. The last may be torn, if whoever wrote it was killed; it is left out then.
[[nodiscard]] Result<std::vector<BatchResult>> parse_results(std::string_view text,
                                                             const std::string& file);

// Whatever happens, no result that was added is lost: lines are appended as they come, and the file
// is put in order by a rename. Results of what is no longer to be done are kept aside, in
// former.jsonl, and are taken from there again once it is.
class BatchResults {
 public:
  // Which work is done for which line of the file of tasks.
  struct Wanted {
    std::size_t number = 0;
    std::string digest;
  };

  // Makes the folder if it is not there, and holds it open. One batch at a time has it.
  static Result<BatchResults> open(const OwnPlace& place);

  // Finds out which of it is done. Places are those in `wanted` from now on.
  [[nodiscard]] Result<void> resume(const std::vector<Wanted>& wanted);
  // The result of an earlier batch, or one that was added.
  [[nodiscard]] const std::optional<BatchResult>& at(std::size_t place) const {
    return results_[place];
  }
  // How many results were found that belong to nothing that is wanted, and which file they were put
  // into.
  [[nodiscard]] std::size_t set_aside() const { return set_aside_; }
  [[nodiscard]] std::string former_file() const { return folder_ + "/former.jsonl"; }

  // A name for the folder of a result that nobody has.
  [[nodiscard]] std::string new_folder(std::size_t number, const std::string& task_id);
  // Makes the folder. Until the result is added it has another name.
  [[nodiscard]] Result<OwnFolder> make(const std::string& name) const;
  // Removes what was made of it.
  void give_up(const std::string& name) const;

  // On disk when it returns.
  [[nodiscard]] Result<void> add(std::size_t place, BatchResult result);

  // Puts the lines in the order of places.
  [[nodiscard]] Result<void> finish();

 private:
  explicit BatchResults(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] std::string file() const { return folder_ + "/results.jsonl"; }
  std::vector<BatchResult> assign(std::vector<BatchResult> found,
                                  const std::vector<Wanted>& wanted);
  Result<void> append(std::string_view text);
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view text) const;
  [[nodiscard]] Result<std::string> read_if_there(const std::string& name) const;
  [[nodiscard]] bool is_there(const std::string& name) const;
  [[nodiscard]] Result<void> remove_unfinished() const;

  std::string folder_;
  UniqueFd directory_;  // holds the lock
  UniqueFd appending_;
  std::string text_;                 // of the file, as it was found
  std::vector<BatchResult> found_;   // in the file
  std::vector<BatchResult> former_;  // in the other
  std::vector<std::optional<BatchResult>> results_;
  std::set<std::string> folders_;  // whose names are taken
  std::size_t set_aside_ = 0;
  bool in_order_ = true;
};

}  // namespace hermetic::task
