// lying_init LIE: stands in for hermetic-init. Says something that init never says, and then all
// that it says of a command that ended with 0.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "src/hermetic/backends/linux/init_protocol.h"
#include "tests/misbehave/act.h"

namespace {

using hermetic::linux_backend::InitReport;
using hermetic::linux_backend::kInitSocket;
using Kind = InitReport::Kind;

void say(const InitReport& report, std::size_t size = sizeof(InitReport)) {
  std::array<char, 2 * sizeof(InitReport)> bytes = {};
  std::memcpy(bytes.data(), &report, sizeof report);
  ::send(kInitSocket, bytes.data(), size, MSG_NOSIGNAL);
}

void say_with_descriptor(InitReport report) {
  int passed = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  iovec data = {.iov_base = &report, .iov_len = sizeof report};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof passed)> control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof passed);
  std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  ::sendmsg(kInitSocket, &message, MSG_NOSIGNAL);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) misbehave::usage("lying_init LIE");
  const std::string_view lie = argv[1];
  // A socket that is closed with something unread in it is reset, and what we said is lost.
  std::array<char, 65536> instructions;
  (void)!::read(kInitSocket, instructions.data(), instructions.size());
  if (lie == "unknown") say({.kind = static_cast<Kind>(77)});
  if (lie == "ended_before_it_started") say({.kind = Kind::Ended});
  if (lie == "terminal") say_with_descriptor({.kind = Kind::Terminal});
  if (lie == "observer") say_with_descriptor({.kind = Kind::Observer});
  if (lie == "observer_without_descriptor") say({.kind = Kind::Observer});
  if (lie == "descriptor") say_with_descriptor({.kind = Kind::Started});
  if (lie == "short") say({.kind = Kind::Started}, sizeof(InitReport) - 1);
  if (lie == "long") say({.kind = Kind::Started}, sizeof(InitReport) + 1);
  say({.kind = Kind::Started});
  if (lie == "started_twice") say({.kind = Kind::Started});
  if (lie == "failed_after_it_started") say({.kind = Kind::StepFailed, .os_error = EPERM});
  if (lie == "stopped") say({.kind = Kind::Ended, .wait_status = 0x137F});
  if (lie == "no_such_usage") say({.kind = Kind::Ended, .peak_kilobytes = ~std::uint64_t{0}});
  say({.kind = Kind::Ended});
}
