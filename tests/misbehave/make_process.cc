// Makes processes or threads: one, or as many as it gets up to a number.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <string_view>

#include "tests/misbehave/act.h"

namespace {

void* do_nothing(void* /*nothing*/) { return nullptr; }

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "thread") {
    pthread_t thread = {};
    const int error = ::pthread_create(&thread, nullptr, do_nothing, nullptr);
    if (error == 0) ::pthread_join(thread, nullptr);
    misbehave::tell(error == 0, error);
  }
  if (what == "fork") {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    misbehave::tell(child > 0);
  }
  if (what == "vfork") {
    const pid_t child = ::vfork();
    if (child == 0) ::_exit(0);
    misbehave::tell(child > 0);
  }
  if (what == "many" && count == 3) {  // all of them alive at once
    ::setpgid(0, 0);
    for (long i = 0; i < misbehave::number(words[2]); ++i) {
      const pid_t child = ::fork();
      if (child < 0) {
        std::printf("%ld ", i);
        misbehave::tell(false);
      }
      if (child == 0)
        for (;;) ::pause();
    }
    std::puts("all");
    ::signal(SIGTERM, SIG_IGN);
    ::kill(0, SIGTERM);
    misbehave::tell(true);
  }
  misbehave::usage("make_process thread|fork|vfork|many COUNT");
}
