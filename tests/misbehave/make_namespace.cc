// Makes namespaces, given as the sum of their CLONE_NEW… flags.
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "tests/misbehave/act.h"

int main(int count, char** words) {
  if (count < 3) misbehave::usage("make_namespace clone|unshare FLAGS");
  const long flags = misbehave::number(words[2]);
  if (std::string_view(words[1]) == "unshare")
    misbehave::tell(::unshare(static_cast<int>(flags)) == 0);
  const long pid = ::syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) ::_exit(0);
  const int error = errno;
  if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  misbehave::tell(pid > 0, error);
}
