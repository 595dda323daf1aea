// One line of what strace writes, taken apart. Whatever a command passes to the kernel stands in it
// in quotes, escaped, so that none of it can be taken for a line, a call or an argument.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hermetic::observed {

struct TraceLine {
  enum class Kind { Call, Unfinished, Resumed, Ended };

  Kind kind = Kind::Call;
  int pid = 0;
  std::string name;  // of the call; "" of a process that ended
  std::string text;  // from the bracket on: all of it, or the part that is in this line

  friend bool operator==(const TraceLine&, const TraceLine&) = default;
};

// Nothing if it is none of these: a line cut short, say.
[[nodiscard]] std::optional<TraceLine> parse_trace_line(std::string_view line);

struct TraceCall {
  std::vector<std::string> arguments;
  std::optional<long> result;  // none if it is not known
};

// Of a text like `(3, "x", 16) = 0`, which may lack its end.
[[nodiscard]] TraceCall parse_trace_call(std::string_view text);

// `"a\nb"...` and `["a", "b"]`, without quotes and escapes. Nothing of what is no text.
[[nodiscard]] std::optional<std::string> text_of_argument(std::string_view argument);
[[nodiscard]] std::vector<std::string> texts_of_argument(std::string_view argument);

struct TraceAddress {
  std::string family;  // "inet", "inet6", "unix"…
  std::string address;
  unsigned port = 0;
  std::string path = {};  // of a Unix socket; "@name" of an abstract one

  friend bool operator==(const TraceAddress&, const TraceAddress&) = default;
};

// Every address in an argument, but for what looks like one in a text of the command's.
[[nodiscard]] std::vector<TraceAddress> addresses_in(std::string_view argument);

// Of a descriptor as `strace -yy` shows it, `3<TCP:[127.0.0.1:80->127.0.0.1:9]>`.
struct TraceSocket {
  int descriptor = -1;
  std::string protocol;  // "tcp", "udp", "raw", "icmp"; "" of another or none
  std::string family;    // "inet", "inet6"; "" if it is not of the internet
  std::string address;   // its own, if it is bound
  unsigned port = 0;

  friend bool operator==(const TraceSocket&, const TraceSocket&) = default;
};
[[nodiscard]] TraceSocket parse_trace_socket(std::string_view argument);

}  // namespace hermetic::observed
