// Makes one system call with the given numbers as arguments.
#include <unistd.h>

#include "tests/misbehave/act.h"

int main(int count, char** words) {
  if (count < 2) misbehave::usage("system_call NUMBER [ARGUMENT]...");
  long values[7] = {};
  for (int i = 1; i < count && i <= 7; ++i) values[i - 1] = misbehave::number(words[i]);
  errno = 0;
  const long result =
      ::syscall(values[0], values[1], values[2], values[3], values[4], values[5], values[6]);
  misbehave::tell(result >= 0);
}
