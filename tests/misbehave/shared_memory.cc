// Leaves shared memory, semaphores and queues behind, or looks for what somebody left.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/misbehave/act.h"

int main(int count, char** words) {
  if (count < 4) misbehave::usage("shared_memory make|find|remove sysv|posix|queue NUMBER");
  const std::string_view verb = words[1];
  const std::string_view kind = words[2];
  const auto key = static_cast<key_t>(misbehave::number(words[3]));
  const std::string name = "/hermetic-test-" + std::string(words[3]);
  const int flags = verb == "make" ? O_RDWR | O_CREAT | O_EXCL : O_RDWR;
  if (kind == "sysv") {
    const int id = ::shmget(key, 4096, verb == "make" ? IPC_CREAT | IPC_EXCL | 0600 : 0600);
    if (verb == "remove") misbehave::tell(id >= 0 && ::shmctl(id, IPC_RMID, nullptr) == 0);
    misbehave::tell(id >= 0);
  }
  if (kind == "posix") {
    if (verb == "remove") misbehave::tell(::shm_unlink(name.c_str()) == 0);
    misbehave::tell(::shm_open(name.c_str(), flags, 0600) >= 0);
  }
  if (verb == "remove") misbehave::tell(::mq_unlink(name.c_str()) == 0);
  misbehave::tell(::mq_open(name.c_str(), flags, 0600, nullptr) >= 0);
}
