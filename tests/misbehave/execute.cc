// Executes another program by an unusual way: execute DESCRIPTOR FLAGS LAST, the arguments of
// execveat() of /bin/true.
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/misbehave/act.h"

int main(int count, char** words) {
  if (count != 4) misbehave::usage("execute DESCRIPTOR FLAGS LAST");
  char name[] = "true";
  char* const argv[] = {name, nullptr};
  char* const envp[] = {nullptr};
  ::syscall(SYS_execveat, misbehave::number(words[1]), "/bin/true", argv, envp,
            misbehave::number(words[2]), misbehave::number(words[3]));
  misbehave::tell(false);
}
