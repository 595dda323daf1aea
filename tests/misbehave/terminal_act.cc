// Asks a terminal for something that its user would not like: terminal_act VERB, on a terminal that
// it makes for itself and that is its own.
#include <asm/ioctls.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "tests/misbehave/act.h"

namespace {

int act(std::string_view verb) {
  ::setsid();
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  ::grantpt(master);
  ::unlockpt(master);
  const int terminal = ::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::ioctl(terminal, TIOCSCTTY, 0) != 0) return EBADF;
  char key = 'x';
  if (verb == "type") return ::ioctl(terminal, TIOCSTI, &key) == 0 ? 0 : errno;
  if (verb == "type_with_high_bits")  // the kernel looks at 32 of them
    return ::syscall(SYS_ioctl, terminal, TIOCSTI | (1UL << 32U), &key) == 0 ? 0 : errno;
  char paste = 3;  // TIOCL_PASTESEL
  if (verb == "paste") return ::ioctl(terminal, TIOCLINUX, &paste) == 0 ? 0 : errno;
  misbehave::usage("terminal_act type|type_with_high_bits|paste");
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) misbehave::usage("terminal_act type|type_with_high_bits|paste");
  const pid_t child = ::fork();  // whoever leads a group of processes cannot lead a session
  if (child == 0) ::_exit(act(words[1]));
  int status = 0;
  ::waitpid(child, &status, 0);
  misbehave::tell(status == 0, WEXITSTATUS(status));
}
