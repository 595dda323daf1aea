// What the program says to people: results on standard output, everything else on standard error.
#pragma once

#include <string_view>

#include "hermetic/base/error.h"
#include "hermetic/base/relay_thread.h"
#include "hermetic/plan/print.h"

namespace hermetic::cli {

void print(std::string_view text);  // to standard output; exits with 125 if that fails
// The run has a limit, or was ended by one: from then on, text that is not taken soon is dropped.
void wait_for_readers_until(RelayThread::Clock::time_point time);

// "hermetic: …" to standard error. False: it could not be written.
bool complain(const Error& error);
// The exit code that stands for the error: 2 for bad input, 125 otherwise.
[[nodiscard]] int report(const Error& error);

// "auto" colours a terminal unless NO_COLOR is set or TERM is dumb; "always" and "never" as they
// say.
[[nodiscard]] Color color_for(std::string_view choice, int descriptor);

}  // namespace hermetic::cli
