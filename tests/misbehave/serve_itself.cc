// Listens on its own 127.0.0.1 and connects to that.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/misbehave/act.h"

int main() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  misbehave::tell(::bind(server, name, size) == 0 && ::listen(server, 1) == 0 &&
                  ::getsockname(server, name, &size) == 0 && ::connect(client, name, size) == 0);
}
