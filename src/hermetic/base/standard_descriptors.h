// Standard input, output and error, which a caller may have closed.
#pragma once

namespace hermetic {

// Opens /dev/null for those that are closed: what is opened next would take their numbers, and be
// given to the command as its own. To be called first of all; false if it cannot be done.
[[nodiscard]] bool open_standard_descriptors();

// The caller had closed it: what is written there is lost.
[[nodiscard]] bool was_closed(int descriptor);

}  // namespace hermetic
