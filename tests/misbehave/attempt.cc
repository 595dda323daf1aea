// Tries to reach the network in ways that a library seldom does. Says nothing: what counts is what
// hermetic hears.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>

#include "tests/misbehave/act.h"

namespace {

sockaddr_in address_of(const char* host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

void connect_to(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  (void)::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::close(fd);
}

// Two datagrams in one call, to two places.
void send_both() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  std::array<sockaddr_in, 2> addresses = {address_of("127.0.0.1", 1001),
                                          address_of("127.0.0.1", 1002)};
  char byte = 'x';
  iovec data = {.iov_base = &byte, .iov_len = 1};
  std::array<mmsghdr, 2> messages = {};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].msg_hdr.msg_name = &addresses[i];
    messages[i].msg_hdr.msg_namelen = sizeof addresses[i];
    messages[i].msg_hdr.msg_iov = &data;
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  (void)::sendmmsg(fd, messages.data(), 2, 0);
  (void)::sendmsg(fd, &messages[0].msg_hdr, 0);
  (void)::sendto(fd, &byte, 1, 0, reinterpret_cast<const sockaddr*>(&addresses[1]),
                 sizeof addresses[1]);
}

void connect_mapped() {
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(1003);
  for (const char* host : {"::ffff:127.0.0.1", "::1"}) {
    ::inet_pton(AF_INET6, host, &address.sin6_addr);
    const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
    (void)::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
}

void open_families() {
  (void)::socket(AF_VSOCK, SOCK_STREAM, 0);
  (void)::socket(AF_PACKET, SOCK_RAW, 0);
  (void)::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
  (void)::syscall(SYS_io_uring_setup, 1, nullptr);
}

// PROCESSES at once, each so many times.
void storm(int processes, int times) {
  const sockaddr_in address = address_of("127.0.0.1", 1004);
  for (int i = 0; i < processes; ++i) {
    if (::fork() != 0) continue;
    for (int j = 0; j < times; ++j) connect_to(address);
    ::_exit(0);
  }
  while (::wait(nullptr) > 0) {
  }
}

std::atomic<bool> over = false;
sockaddr_in swapped;

void* swap(void* /*unused*/) {
  while (!over) {
    swapped.sin_port = htons(1005);
    swapped.sin_port = htons(1006);
  }
  return nullptr;
}

// A second thread changes the address while the call waits.
void swap_arguments(int times) {
  swapped = address_of("127.0.0.1", 1005);
  pthread_t thread = {};
  ::pthread_create(&thread, nullptr, swap, nullptr);
  for (int i = 0; i < times; ++i) connect_to(swapped);
  over = true;
  ::pthread_join(thread, nullptr);
}

void ignore(int /*signal*/) {}

// Children that are killed, and parents that are interrupted, while the call waits.
void die_in_the_middle(int times) {
  const sockaddr_in address = address_of("127.0.0.1", 1007);
  struct sigaction action = {};
  action.sa_handler = ignore;
  ::sigaction(SIGUSR1, &action, nullptr);
  const pid_t parent = ::getpid();
  for (int i = 0; i < times; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::kill(parent, SIGUSR1);
      for (;;) connect_to(address);
    }
    connect_to(address);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  const int number = count > 2 ? static_cast<int>(misbehave::number(words[2])) : 1;
  if (what == "send") send_both();
  if (what == "mapped") connect_mapped();
  if (what == "families") open_families();
  if (what == "storm" && count > 3) storm(number, static_cast<int>(misbehave::number(words[3])));
  if (what == "swap") swap_arguments(number);
  if (what == "die") die_in_the_middle(number);
  if (what.empty())
    misbehave::usage("attempt send | mapped | families | storm N M | swap N | die N");
  return 0;
}
