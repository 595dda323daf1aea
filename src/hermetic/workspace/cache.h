// Cache: trees that are made once and that many runs start from.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/workspace/contents.h"
#include "hermetic/workspace/patient_lock.h"

namespace hermetic {

// One tree, which stays as long as this lives: nobody removes what is in use.
struct CachedTree {
  std::string path;   // never to be changed: others use it, too
  std::string facts;  // what its maker had to say about it
  bool made = false;  // by this very call
  UniqueFd use;       // a shared lock

  void touch() const;  // it was used now: who was not used for long may go
};

class Cache {
 public:
  // Made, with mode 0700, if it is not there. Empty: at usual_cache_path().
  static Result<Cache> open(std::string path = {});

  // Fills `place`/upper, an empty directory of its own, and returns what is to be remembered.
  using Make = std::function<Result<std::string>(const std::string& place)>;

  // The tree of this kind that was made of what `key` is the digest of; makes it if there is none,
  // or if somebody has changed it since. Of several who want it at once one makes it and the others
  // wait. A tree that was found to be as it was made is not looked through again by this object.
  [[nodiscard]] Result<CachedTree> get(const std::string& kind, const std::string& key,
                                       const Make& make) {
    return get(kind, key, make, {});
  }
  // The same for what is nowhere else: if it cannot be kept, `take_back` is given the place, before
  // that is removed.
  using TakeBack = std::function<void(const std::string& place)>;
  [[nodiscard]] Result<CachedTree> get(const std::string& kind, const std::string& key,
                                       const Make& make, const TakeBack& take_back);

  // From now on get() fails once this is true while it waits for another process. Not to be called
  // while another thread is in get(); nothing: only time ends the waiting.
  void give_up_when(std::function<bool()> stopped) { stopped_ = std::move(stopped); }

  // How long get() waits for another process. A tree may take long to make, or be in use; but a
  // command that sees the cache can hold its locks.
  void give_up_after(std::chrono::milliseconds patience) { patience_ = patience; }
  // From now on this is called with the kind of a tree before one is made, and when that is over.
  enum class Making { Begins, Ends };
  using OnMaking = std::function<void(const std::string& kind, Making making)>;
  void tell_when_making(OnMaking on_making) { on_making_ = std::move(on_making); }

  [[nodiscard]] const std::string& path() const { return path_; }

  // Of files that trees and tasks are made of, or that they name: a model may be large.
  [[nodiscard]] Contents& contents() const { return seen_->contents; }

  // Removes trees that nobody has used for so many days and nobody uses now. Returns their names.
  [[nodiscard]] Result<std::vector<std::string>> remove_unused(unsigned days) const;

  // Removes what makers who were killed have left, of trees that nobody may ever ask for again.
  [[nodiscard]] Result<std::vector<std::string>> remove_abandoned(Deadline deadline = {}) const;

 private:
  Cache(std::string path, UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)), seen_(std::make_unique<Seen>()) {}

  // What this object has looked through.
  struct Seen {
    std::mutex mutex;
    std::map<std::string, std::string> entries;  // and their facts
    Contents contents;
  };
  // Its facts, if it is as it was made.
  [[nodiscard]] std::optional<std::string> intact(int entry, const std::string& name) const;
  // Waits for it for a moment: false if it was not to be had, and may be.
  [[nodiscard]] Result<bool> try_lock(int file, int how, const std::string& name,
                                      Deadline until) const;
  [[nodiscard]] Result<void> share(int file, const std::string& name, Deadline until) const;

  std::string path_;
  UniqueFd directory_;
  std::unique_ptr<Seen> seen_;
  std::function<bool()> stopped_;
  std::chrono::milliseconds patience_ = std::chrono::minutes(30);
  OnMaking on_making_;
};

}  // namespace hermetic
