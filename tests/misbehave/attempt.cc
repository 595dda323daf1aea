// Tries to reach the network in ways that a library seldom does. Says nothing: what counts is what
// hermetic hears.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
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

// Every one of them is seen by others: a compiler, or a processor, leaves out those that are
// overwritten at once.
template <typename Value>
void store(Value& place, Value value) {
  std::atomic_ref<Value>(place).store(value);
}

void* swap(void* /*unused*/) {
  while (!over) {
    store(swapped.sin_port, htons(1005));
    store(swapped.sin_port, htons(1006));
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

void* swap_host(void* /*unused*/) {
  const std::uint32_t allowed = address_of("192.0.2.80", 0).sin_addr.s_addr;
  const std::uint32_t denied = address_of("192.0.2.81", 0).sin_addr.s_addr;
  while (!over) {
    store(swapped.sin_addr.s_addr, allowed);
    store(swapped.sin_addr.s_addr, denied);
  }
  return nullptr;
}

// The same with two hosts, one of which is allowed. Goes on until each was there at the time of
// some calls: a thread that gets no turn swaps nothing.
void swap_hosts(int times) {
  constexpr int kEach = 50;
  swapped = address_of("192.0.2.80", 1014);
  const std::uint32_t allowed = swapped.sin_addr.s_addr;
  pthread_t thread = {};
  ::pthread_create(&thread, nullptr, swap_host, nullptr);
  int calls = 0;
  int with_allowed = 0;
  while (calls < times || with_allowed < kEach || calls - with_allowed < kEach) {
    ++calls;
    if (static_cast<volatile in_addr_t&>(swapped.sin_addr.s_addr) == allowed) ++with_allowed;
    connect_to(swapped);
  }
  over = true;
  ::pthread_join(thread, nullptr);
}

void* make_it_of_the_internet(void* /*unused*/) {
  while (!over) {
    for (int i = 0; i < 20000 && !over; ++i) {  // a moment
    }
    store(swapped.sin_family, sa_family_t{AF_INET});
  }
  return nullptr;
}

// The address is of another family when the call is made, and a second thread makes it one of the
// internet while the call waits. Prints how often the kernel saw that: it refuses the other by
// another error.
void swap_families(int times) {
  swapped = address_of("127.0.0.1", 1007);
  pthread_t thread = {};
  ::pthread_create(&thread, nullptr, make_it_of_the_internet, nullptr);
  int reached = 0;
  for (int i = 0; i < times; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    store(swapped.sin_family, sa_family_t{AF_UNIX});
    const int result =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&swapped), sizeof swapped);
    if (result == 0 || errno != EAFNOSUPPORT) ++reached;
    ::close(socket);
  }
  over = true;
  ::pthread_join(thread, nullptr);
  std::printf("%d\n", reached);
}

// Memory that the kernel reads and others do not: it was mapped for writing only, or is secret.
void connect_from_hidden_memory() {
  constexpr std::size_t kPage = 4096;
  constexpr long kSecretMemory = 447;  // memfd_secret(2), since Linux 5.14
  const int secret = static_cast<int>(::syscall(kSecretMemory, 0));
  if (secret >= 0) (void)::ftruncate(secret, kPage);
  const std::array<void*, 2> places = {
      ::mmap(nullptr, kPage, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, secret, 0)};
  const sockaddr_in address = address_of("127.0.0.1", 1008);
  for (void* place : places) {
    if (place == MAP_FAILED) continue;
    std::memcpy(place, &address, sizeof address);
    const auto* hidden = static_cast<const sockaddr*>(place);
    (void)::connect(::socket(AF_INET, SOCK_STREAM, 0), hidden, sizeof address);
    const int datagrams = ::socket(AF_INET, SOCK_DGRAM, 0);
    (void)::sendto(datagrams, "x", 1, 0, hidden, sizeof address);
    iovec data = {.iov_base = place, .iov_len = 1};
    msghdr message = {};
    message.msg_name = place;
    message.msg_namelen = sizeof address;
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    (void)::sendmsg(datagrams, &message, 0);
  }
}

// A datagram socket takes an address without a family for one of its own.
void send_without_family() {
  sockaddr_in address = address_of("127.0.0.1", 1009);
  address.sin_family = AF_UNSPEC;
  (void)::sendto(::socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0,
                 reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

void listen_and_connect() {
  (void)::listen(::socket(AF_INET, SOCK_STREAM, 0), 1);
  const sockaddr_in address = address_of("127.0.0.1", 1010);
  (void)::sendto(::socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0,
                 reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::_exit(0);
}
void* with_own_descriptors(void* /*unused*/) {
  if (::unshare(CLONE_FILES) != 0) ::_exit(1);
  listen_and_connect();
  return nullptr;
}
void* alone(void* leader) {
  ::pthread_join(*static_cast<const pthread_t*>(leader), nullptr);
  listen_and_connect();
  return nullptr;
}

// From a thread whose descriptors are not those of its process.
void reach_from_a_thread(bool is_alone) {
  static pthread_t leader = ::pthread_self();
  pthread_t thread = {};
  ::pthread_create(&thread, nullptr, is_alone ? alone : with_own_descriptors, &leader);
  if (is_alone) ::pthread_exit(nullptr);
  ::pthread_join(thread, nullptr);
}

std::atomic<int> may_close = -1;
void* close_soon(void* delay) {
  while (may_close < 0) {
  }
  for (std::atomic<long> left = *static_cast<const long*>(delay); left > 0; --left) {
  }
  ::close(may_close);
  return nullptr;
}

// Sockets whose last close() waits for an hour, closed while somebody else may hold them: because
// of a connection, or because of a name in what might be a directory.
enum class Way { Connect, Open };
[[noreturn]] void leave_the_last_close_to_others(Way way) {
  constexpr int kTries = 200;  // each leaves a thread that waits, and two descriptors
  std::array<char, 4096> data = {};
  for (unsigned seed = 1;; ++seed) {
    if (const pid_t child = ::fork(); child != 0) {
      ::waitpid(child, nullptr, 0);
      continue;
    }
    ::srand(seed);
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    const int small = 2304;
    ::setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    sockaddr_in address = address_of("127.0.0.1", 0);
    socklen_t size = sizeof address;
    auto* place = reinterpret_cast<sockaddr*>(&address);
    (void)::bind(listener, place, size);
    (void)::listen(listener, 8);
    (void)::getsockname(listener, place, &size);
    for (int i = 0; i < kTries; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
      (void)::connect(fd, place, size);
      (void)::accept(listener, nullptr, nullptr);
      const linger hour = {.l_onoff = 1, .l_linger = 3600};
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof hour);
      for (int round = 0; round < 3; ++round) {
        while (::send(fd, data.data(), data.size(), MSG_DONTWAIT) > 0) {
        }
        ::usleep(100);
      }
      static long delay = 0;
      delay = ::rand() % 5000;
      may_close = -1;
      pthread_t thread = {};
      if (::pthread_create(&thread, nullptr, close_soon, &delay) != 0) break;
      ::usleep(200);
      may_close = fd;
      if (way == Way::Connect)
        (void)::connect(fd, place, size);
      else
        (void)::openat(fd, "name", O_RDONLY);
    }
    ::_exit(0);
  }
}

// Becomes another program whose memory looks the same, as every program does without randomness.
void become(char** words) {
  constexpr unsigned long kAsk = 0xFFFFFFFF;
  if ((::personality(kAsk) & ADDR_NO_RANDOMIZE) == 0) {
    ::personality(ADDR_NO_RANDOMIZE);
    ::execv(words[0], words);
  }
  connect_to(address_of("127.0.0.1", 1011));
  if (std::string_view(words[0]) == words[2]) return;
  words[0] = words[2];
  ::execv(words[0], words);
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

void* connect_again_and_again(void* times) {
  const sockaddr_in address = address_of("127.0.0.1", 1011);
  for (int i = 0; i < *static_cast<int*>(times); ++i) connect_to(address);
  return nullptr;
}

// A thread's call waits while another one forks; each child makes a call of its own.
void fork_in_the_middle(int times) {
  pthread_t thread = {};
  (void)::pthread_create(&thread, nullptr, connect_again_and_again, &times);
  const sockaddr_in address = address_of("127.0.0.1", 1012);
  for (int i = 0; i < times; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      connect_to(address);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  (void)::pthread_join(thread, nullptr);
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
  if (what == "swap-host") swap_hosts(number);
  if (what == "swap-family") swap_families(number);
  if (what == "fork") fork_in_the_middle(number);
  if (what == "die") die_in_the_middle(number);
  if (what == "hidden") connect_from_hidden_memory();
  if (what == "familyless") send_without_family();
  if (what == "thread") reach_from_a_thread(false);
  if (what == "linger") leave_the_last_close_to_others(Way::Connect);
  if (what == "linger-open") leave_the_last_close_to_others(Way::Open);
  if (what == "become" && count == 3) become(words);
  if (what == "orphan") reach_from_a_thread(true);
  if (what.empty())
    misbehave::usage(
        "attempt send | mapped | families | storm N M | swap N | swap-host N | swap-family N | die "
        "N | hidden | "
        "familyless | "
        "thread | orphan | linger | linger-open | become PROGRAM");
  return 0;
}
