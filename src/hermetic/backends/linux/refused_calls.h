// RefusedCalls: system calls that the filter refuses, told with the program that made them.
//
// The filter would refuse them without a word. Those that programs do not try for every process are
// asked about instead: what they are told is what the filter says, by the registers alone. A call
// by another table than the machine's own is one of them: an old program of 32 bits ends without
// saying why.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/backends/linux/process_reader.h"
#include "hermetic/run/event.h"
#include "hermetic/run/outcome.h"

namespace hermetic::linux_backend {

// The numbers of those that `filter` refuses whatever their arguments are, and that are told.
[[nodiscard]] std::vector<unsigned> told_calls(const std::vector<sock_filter>& filter);

// Asks about them, and about every other table. Goes before other parts of a filter.
[[nodiscard]] std::vector<sock_filter> refused_calls_filter(const std::vector<unsigned>& calls);

// Leaves them, and every other table, to the filter that asks.
[[nodiscard]] std::vector<sock_filter> exempt_refused_calls(const std::vector<unsigned>& calls);

// "keyctl"; "i386" or "x32" for a call by that table.
[[nodiscard]] std::string name_of_call(const seccomp_data& data);

class RefusedCalls {
 public:
  explicit RefusedCalls(std::vector<sock_filter> filter)
      : filter_(std::move(filter)), told_(told_calls(filter_)) {}

  // Is it one of them?
  [[nodiscard]] bool is_asked(const seccomp_data& data) const;
  // What the filter would have answered: an errno below 0, or 0 if it goes on.
  [[nodiscard]] int answer(const seccomp_data& data) const;
  // The event, the first time that this program makes this call.
  [[nodiscard]] std::optional<Event> hear(const seccomp_data& data,
                                          const std::vector<ProcessFacts>& processes);
  [[nodiscard]] std::vector<RefusedCall> take() { return std::move(refused_); }

 private:
  std::vector<sock_filter> filter_;
  std::vector<unsigned> told_;
  std::vector<RefusedCall> refused_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
};

}  // namespace hermetic::linux_backend
