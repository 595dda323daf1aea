#include "hermetic/backends/observed/own_memory.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <memory>
#include <vector>

namespace hermetic::observed {

void hide_own_memory() {
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // For those whom that does not stop. What root starts gets what is in this set.
  (void)::prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0);
  std::vector<char*> old;
  for (char** variable = environ; *variable != nullptr; ++variable) old.push_back(*variable);
  // They stay until the process ends: whoever has asked for a variable holds on to its text.
  auto copies = std::make_unique<char*[]>(old.size() + 1);
  for (std::size_t i = 0; i < old.size(); ++i) copies[i] = ::strdup(old[i]);
  environ = copies.release();
  // /proc/N/environ shows the place, whatever is in it.
  for (char* text : old) ::explicit_bzero(text, ::strlen(text));
}

}  // namespace hermetic::observed
