#include "hermetic/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hermetic {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "hermetic: bug: %s does not hold at %s:%d; please report it\n", condition,
               file, line);
  std::abort();
}

}  // namespace hermetic
