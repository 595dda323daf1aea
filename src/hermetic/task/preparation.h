// Preparation: commands of ours that make what tasks start from, each in a sandbox of its own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/run/backend.h"
#include "hermetic/spec/network.h"

namespace hermetic::task {

// Where a task finds things, whoever runs it and wherever: what records its path stays valid.
inline constexpr const char* kWorktree = "/task/worktree";
inline constexpr const char* kEnvironment = "/task/venv";
inline constexpr const char* kScratch = "/task/scratch";

struct Preparation {
  std::string what;  // "the checkout of 0123…", for messages
  std::vector<std::string> command;
  std::vector<std::string> inputs = {};  // besides the system's tools
  std::string tree = {};                 // the path inside that is made; empty: nothing is
  std::string place = {};                // on the host: what is made is kept in its 'upper'
  std::vector<std::string> over = {};    // what `tree` starts as; nothing: empty
  std::map<std::string, std::string> scratch = {};  // paths inside that start as directories of the
                                                    // host and are thrown away
  // Files in `place` by name: texts that were read before, so that what becomes of the files they
  // came from changes nothing. Inputs; gone afterwards.
  std::map<std::string, std::string> texts = {};
  NetworkPolicy network = {};
};

// Runs it. Returns what it wrote to standard output; fails with what it wrote to standard error.
[[nodiscard]] Result<std::string> prepare(const Preparation& preparation, Backend& backend);

// The values of its lines "key value" in what a preparation said.
[[nodiscard]] std::vector<std::string> values_of(std::string_view facts, std::string_view key);
// The same, separated by spaces.
[[nodiscard]] std::string fact(std::string_view facts, std::string_view key);

}  // namespace hermetic::task
