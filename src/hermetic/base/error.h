// Error: why something could not be done, in words that name the thing and the way out.
#pragma once

#include <string>

namespace hermetic {

// Where a value was written: a place in a file, or a phrase such as "--input" when there is no
// file.
struct Origin {
  std::string source;  // file name, option or "builder"
  int line = 0;        // 1-based; 0 when the source has no lines
  int column = 0;      // 1-based

  friend bool operator==(const Origin&, const Origin&) = default;
};

// "hermetic.yaml:3:7", "--input" or "" for an origin that is not known.
[[nodiscard]] std::string to_string(const Origin& origin);

// A command that fails is never an Error: that is an Outcome. A bug is a CHECK.
struct Error {
  enum class Kind {
    InvalidSpec,  // what the user wrote cannot be meant; nothing was tried
    Unsupported,  // this host or backend cannot give a clause that the spec needs
    System,       // the operating system refused; os_error says why
  };

  Kind kind = Kind::System;
  std::string message;  // lower-case clause without a full stop
  std::string hint;     // what to do about it; may be empty
  Origin origin = {};   // where the offending value was written, if anywhere
  int os_error = 0;     // errno, or 0
};

[[nodiscard]] Error invalid(std::string message, std::string hint = {}, Origin origin = {});
[[nodiscard]] Error unsupported(std::string message, std::string hint = {});
// The message gets ": " and the system's own text for `os_error` appended.
[[nodiscard]] Error system_error(std::string doing, int os_error, std::string hint = {});

// "hermetic.yaml:3:7: unknown key 'inptus'\n  hint: did you mean 'inputs'?"
[[nodiscard]] std::string to_string(const Error& error);

// A value was taken that is not there: a bug of whoever took it. Says what stood in its way.
[[noreturn]] void not_expected(const Error& error);

}  // namespace hermetic
