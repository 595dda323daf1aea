// Programs that the caller's PATH finds and a sandbox does not, or finds elsewhere: those of pyenv,
// rustup, nvm and the like, which lie in a home.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/spec/draft.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// Where a caller looks for programs.
struct CallerSearch {
  std::string path;  // the variable PATH
  std::string home;  // the real path of the home directory; may be empty
};

struct OtherProgram {
  std::string name;
  std::string outside;              // what the caller's PATH finds
  std::string inside;               // what the command finds; "" if nothing
  std::vector<std::string> inputs;  // what would have to be shown for the one outside
};

// Which of the names mean another program to the caller than inside. One that is shown, but not all
// of the installation that it belongs to, counts as another: `inside` is then the same file.
[[nodiscard]] std::vector<OtherProgram> other_programs(const Spec& spec, const CallerSearch& caller,
                                                       const std::vector<std::string>& names);

// As one sentence, with what to do about it.
[[nodiscard]] std::string explanation_of(const OtherProgram& program);

// The programs that a command names: its first word, and, of a shell's -c, each word that stands
// where a command does. What it takes for one may be none: it is only looked up.
[[nodiscard]] std::vector<std::string> programs_named_in(const std::vector<std::string>& command);

// The trees that hold a program and what it is installed with: "~/.pyenv" of a shim, the prefix of
// ".../bin/x", or the file alone where nothing around it belongs to it.
[[nodiscard]] std::vector<std::string> installation_of(const std::string& program,
                                                       const std::string& home);

// What `--toolchain auto` declares: the installations of all that the caller's PATH leads to, PATH
// itself, and the variables by which they find their own parts. What the draft has already stays.
// Nothing of what lies in `unless`, which a command may have changed.
void add_caller_toolchain(Draft& draft, const CallerSearch& caller, std::string_view unless = {});

}  // namespace hermetic
