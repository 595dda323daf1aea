// Makes hermetic remember as much as it can: nag HOW NUMBER [DEPTH].
//
// connect: so many attempts to reach different places, from below a chain of 30 processes with many
// short arguments. open: so many different names as long as they may be. execute: so many programs
// with long arguments, each in a process of its own.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/misbehave/act.h"

namespace {

constexpr int kChain = 30;
constexpr std::size_t kArguments = 2000;  // of one byte each

void execute(const char* program, std::vector<std::string> words) {
  for (std::size_t i = 0; i < kArguments; ++i) words.emplace_back("x");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program, pointers.data());
  std::_Exit(3);
}

void wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::_Exit(4);
}

void connect_often(int number) {
  for (int i = 0; i < number; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(9);
    place.sin_addr.s_addr = htonl(0x0A000000U + static_cast<unsigned>(i));
    if (::connect(fd, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0) std::_Exit(5);
    ::close(fd);
  }
}

void open_often(int number) {
  for (int i = 0; i < number; ++i) {
    std::string path = "/undeclared-" + std::to_string(i);
    while (path.size() < 3900) path += "/" + std::string(200, 'n');
    if (::open(path.c_str(), O_RDONLY) >= 0) std::_Exit(5);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) misbehave::usage("nag connect|open|execute NUMBER [DEPTH]");
  const std::string_view how = words[1];
  const int number = static_cast<int>(misbehave::number(words[2]));
  const int depth = count > 3 ? static_cast<int>(misbehave::number(words[3])) : 0;
  if (how == "connect" && depth < kChain) {
    const pid_t child = ::fork();
    if (child == 0) execute(words[0], {words[0], words[1], words[2], std::to_string(depth + 1)});
    wait_for(child);
  } else if (how == "connect") {
    connect_often(number);
  } else if (how == "open") {
    open_often(number);
  } else {
    for (int i = 0; i < number; ++i) {
      const pid_t child = ::fork();
      if (child == 0) execute("/bin/true", {"/bin/true", std::to_string(i)});
      wait_for(child);
    }
  }
  return 0;
}
