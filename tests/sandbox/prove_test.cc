// Negative controls: a sandbox that does not hold runs nothing. They aim at addresses that nobody
// has, so all of it happens inside an outer network namespace that is empty, or a world of the
// test's own that has them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/init_image.h"
#include "hermetic/backends/linux/linux_run.h"
#include "hermetic/backends/linux/lower.h"
#include "hermetic/backends/linux/proof.h"
#include "tests/sandbox/world.h"

namespace hermetic {
namespace {

using linux_backend::Facts;
using linux_backend::LoweredScript;
using linux_backend::Step;
using ::testing::HasSubstr;

// What is said about a run of `echo ran`, whose script `lower` makes. "ran" if it did.
std::string proved(const SpecBuilder& builder, const linux_backend::Lowering& lower,
                   bool watched = true) {
  LinuxBackend backend = LinuxBackend::make().value();
  Capabilities capabilities = backend.probe();
  if (!watched) capabilities.clauses.erase(Clause::NetworkWatched);
  const Plan plan = make_plan(builder.build().value(), capabilities).value();
  RunOptions options = captured();
  options.prove = true;
  Audience events;
  Facts facts = linux_backend::gather_facts(linux_backend::landlock_abi_of_this_kernel(),
                                            !linux_backend::has_new_mount_calls())
                    .value();
  const UniqueFd init = linux_backend::make_init_image().value();
  const auto run = linux_backend::start_run(plan, std::move(facts), {.init = init.get()}, options,
                                            events, lower);
  if (!run) return run.error().message;
  const Outcome outcome = (*run)->wait().value();
  std::string tried;
  for (const NegativeControl& control : outcome.probes)
    if (control.tried) tried += " " + control.name;
  if (!outcome.violations.empty()) tried += ", and violations";
  return outcome.standard_output.text + tried;
}

SpecBuilder echo() { return sandboxed({"echo", "ran"}); }

std::size_t secrets_left() {
  std::size_t left = 0;
  for (const char* directory : {"/var/tmp", "/tmp"})
    for (const std::string& name : names_of(directory))
      left += name.starts_with(".hermetic-secret-" + std::to_string(::geteuid())) ? 1 : 0;
  return left;
}

class Prove : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_ANSWERED(ask_with_own_mounts([] { return std::string("yes"); }));
  }
};

TEST_F(Prove, TriesAllThatTheSpecForbidsAndThenRuns) {
  const std::size_t before = secrets_left();
  EXPECT_EQ(in_empty_network([] { return proved(echo(), linux_backend::lower); }),
            "ran\n tcp udp dns io_uring vsock listen secret input");
  EXPECT_EQ(in_empty_network([] {
              return proved(echo().network({.mode = NetworkPolicy::Mode::Loopback}),
                            linux_backend::lower);
            }),
            "ran\n tcp udp dns io_uring vsock secret input");
  EXPECT_EQ(in_empty_network([] { return proved(echo(), linux_backend::lower, false); }),
            "the sandbox does not hold: what must fail inside succeeds there: listen")
      << "without a listener the kernel lets everybody listen";
  EXPECT_EQ(secrets_left(), before);
}

TEST_F(Prove, RunsNothingWhereInputsCanBeWritten) {
  const TempDir dir;
  const std::string input = dir.directory("in");
  const auto unsealed = [](const Plan& plan, const Facts& facts) {
    LoweredScript script = linux_backend::lower(plan, facts);
    std::erase_if(script.steps, [](const Step& step) {
      return step.kind == Step::Kind::Attributes || step.kind == Step::Kind::Remount ||
             step.kind == Step::Kind::Landlock || step.kind == Step::Kind::LandlockRule ||
             step.kind == Step::Kind::LandlockEnforce;
    });
    return script;
  };
  // One is tried, perhaps of root's: that a plain user may not write there proves nothing.
  SpecBuilder builder(Words{"echo", "ran"});
  builder.input(input).directory("/").caller_environment({});
  for (const std::string& directory : toolchain_directories()) builder.input(directory);
  const std::string said = in_empty_network([&] { return proved(builder, unsealed); });
  EXPECT_THAT(said, HasSubstr("succeeds there: input"));
  EXPECT_THAT(names_of(input), ::testing::IsEmpty());
}

TEST_F(Prove, RunsNothingWhereSecretsShow) {
  const auto shows_all = [](const Plan& /*plan*/, const Facts& facts) {
    LinuxBackend backend = LinuxBackend::make().value();
    const SpecBuilder builder = echo().input("/var/tmp");
    return linux_backend::lower(make_plan(builder.build().value(), backend.probe()).value(), facts);
  };
  EXPECT_EQ(in_empty_network([&] { return proved(echo(), shows_all); }),
            "the sandbox does not hold: what must fail inside succeeds there: secret");
}

TEST_F(Prove, RunsNothingWhereCallsAreNotFiltered) {
  const auto unfiltered = [](const Plan& plan, const Facts& facts) {
    LoweredScript script = linux_backend::lower(plan, facts);
    linux_backend::InitConfig config;
    std::memcpy(&config, script.init_message.data(), sizeof config);
    script.init_message.erase(sizeof config, std::size_t{8} * config.filter_count);
    config.filter_count = 0;
    std::memcpy(script.init_message.data(), &config, sizeof config);
    return script;
  };
  // Not every kernel has it.
  const UniqueFd vsock(::socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(in_empty_network([&] { return proved(echo(), unfiltered, false); }),
            "the sandbox does not hold: what must fail inside succeeds there: io_uring, " +
                std::string(vsock.is_open() ? "vsock, " : "") + "listen");
  EXPECT_THAT(in_empty_network([&] { return proved(echo(), unfiltered, true); }), HasSubstr("ran"))
      << "who listens refuses them, too";
}

// The sandbox has no network namespace, and tries whom it reaches all the same.
std::string proved_without_namespace() {
  const auto tries_more = [](const Plan& plan, const Facts& facts) {
    using linux_backend::Probe;
    Facts more = facts;
    for (const Probe probe : {Probe::Tcp, Probe::Udp, Probe::Dns})
      more.probes |= 1U << static_cast<std::uint32_t>(probe);
    return linux_backend::lower(plan, more);
  };
  return proved(echo().network({.mode = NetworkPolicy::Mode::Host}), tries_more);
}

UniqueFd datagrams_at(const char* host, std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &address.sin_addr);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    socket.reset();
  return socket;
}

// Says of one name that it has an address, whatever the question.
void answer_a_name(int socket) {
  std::array<std::uint8_t, 512> message = {};
  sockaddr_storage asker = {};
  socklen_t size = sizeof asker;
  auto* const place = reinterpret_cast<sockaddr*>(&asker);
  const ssize_t got = ::recvfrom(socket, message.data(), message.size(), 0, place, &size);
  if (got < 12) return;
  message[2] |= 0x80;  // an answer
  message[7] = 1;      // that counts one record
  (void)::sendto(socket, message.data(), static_cast<std::size_t>(got), 0, place, size);
}

TEST_F(Prove, RunsNothingWhereSomebodyIsReached) {
  const std::string found = "the sandbox does not hold: what must fail inside succeeds there: ";
  EXPECT_EQ(in_world(proved_without_namespace), found + "tcp") << "a server of the world";
  const auto with_datagrams = [](const char* host, std::uint16_t port) {
    return in_world([&]() -> std::string {
      const UniqueFd socket = datagrams_at(host, port);
      if (!socket.is_open()) return "nobody listens";
      std::thread server([&] { answer_a_name(socket.get()); });
      std::string said = proved_without_namespace();
      ::shutdown(socket.get(), SHUT_RDWR);  // or it waits for ever
      server.join();
      return said;
    });
  };
  EXPECT_EQ(with_datagrams("192.0.2.1", 9), found + "tcp, udp");
  EXPECT_EQ(with_datagrams("127.0.0.1", 53), found + "tcp, dns");
  EXPECT_THAT(in_empty_network(proved_without_namespace), HasSubstr("init ended without a word"))
      << "nobody is reached, and an init that has tried more than it should is not believed";
}

TEST_F(Prove, SecretsOfKilledRunsAreRemovedAndNoOthers) {
  const std::string prefix = "/var/tmp/.hermetic-secret-" + std::to_string(::geteuid()) + "-";
  std::string left = prefix + "XXXXXX";
  std::string held = prefix + "XXXXXX";
  const UniqueFd abandoned(::mkostemp(left.data(), O_CLOEXEC));
  const UniqueFd locked(::mkostemp(held.data(), O_CLOEXEC));
  ASSERT_EQ(::flock(locked.get(), LOCK_EX), 0);
  const std::vector<std::string> removed = linux_backend::remove_abandoned_secrets();
  EXPECT_THAT(removed, ::testing::Contains(left));
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists(held));
  ::unlink(held.c_str());
}

}  // namespace
}  // namespace hermetic
