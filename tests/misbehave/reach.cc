// Connects to a socket that somebody listens on.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <string_view>

#include "tests/misbehave/act.h"

namespace {

bool connect_to_port(const char* host, const char* port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(misbehave::number(port)));
  ::inet_pton(AF_INET, host, &address.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  return fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool connect_to_name(const char* name, bool is_abstract) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::size_t first = is_abstract ? 1 : 0;
  std::strncpy(address.sun_path + first, name, sizeof address.sun_path - 2);
  const std::size_t size = offsetof(sockaddr_un, sun_path) + first + std::strlen(name);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  return fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                              static_cast<socklen_t>(size)) == 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view kind = count > 2 ? words[1] : "";
  if (kind == "port" && count == 4) misbehave::tell(connect_to_port(words[2], words[3]));
  if (kind == "abstract") misbehave::tell(connect_to_name(words[2], true));
  if (kind == "path") misbehave::tell(connect_to_name(words[2], false));
  misbehave::usage("reach port ADDRESS PORT | abstract NAME | path PATH");
}
