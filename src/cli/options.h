// Options: one table per subcommand says what it takes; parsing, --help, the man pages and the
// shell completions all follow from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic::cli {

struct Option {
  std::string_view name;   // "--input"
  std::string_view value;  // "PATH"; empty for a switch
  std::string_view help;
};

struct Subcommand {
  std::string_view name;      // "plan"
  std::string_view synopsis;  // "[TARGET] [OPTION]... [-- COMMAND...]"
  std::string_view summary;   // one line
  std::vector<Option> options;
};

struct Given {
  std::string_view name;  // as in the table
  std::string value;
};

struct Arguments {
  std::vector<Given> options;      // in the order given: --except belongs to the --input before it
  std::vector<std::string> words;  // before "--"
  std::vector<std::string> command;  // after "--"

  [[nodiscard]] bool has(std::string_view name) const;
  // The last value given, or "".
  [[nodiscard]] std::string last(std::string_view name) const;
};

// "--name value" and "--name=value". Unknown options are refused with the nearest known one.
[[nodiscard]] Result<Arguments> parse_arguments(const Subcommand& subcommand,
                                                std::span<char* const> words);

[[nodiscard]] std::string help_for(const Subcommand& subcommand);

}  // namespace hermetic::cli
