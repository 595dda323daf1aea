// What the tests in C say when something does not hold.
#pragma once

#include <stdio.h>

#include "hermetic.h"

static int failures = 0;

static inline void expect(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "line %d: does not hold: %s\n", line, what);
  ++failures;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

// Takes the error.
static inline void explain(hermetic_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "error: %s\n  hint: %s\n", hermetic_error_message(error),
          hermetic_error_hint(error));
  hermetic_error_free(error);
}
