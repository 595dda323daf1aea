#include "hermetic/backends/linux/refused_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "hermetic/backends/linux/filter_program.h"
#include "hermetic/backends/linux/network_observer.h"
#include "hermetic/backends/linux/seccomp_filter.h"
#include "hermetic/backends/linux/watch.h"

namespace hermetic::linux_backend {
namespace {

#if defined(__x86_64__)
constexpr unsigned kThis = AUDIT_ARCH_X86_64;
#else
constexpr unsigned kThis = AUDIT_ARCH_AARCH64;
#endif
constexpr unsigned kOther = AUDIT_ARCH_I386;

seccomp_data call(int number, unsigned architecture = kThis) {
  seccomp_data data = {};
  data.nr = number;
  data.arch = architecture;
  return data;
}

std::vector<sock_filter> filter() { return seccomp_filter(Plan(), 0); }

TEST(RefusedCalls, AreAskedAboutInsteadOfRefused) {
  const std::vector<unsigned> told = told_calls(filter());
  const std::vector<sock_filter> exempt = exempt_from(filter(), told);
  const std::vector<sock_filter> asking =
      watch_filter({.network = true, .processes = true, .files = true}, 1, told);
  for (const int number : {SYS_keyctl, SYS_mount, SYS_bpf, SYS_setns}) {
    EXPECT_EQ(answer_of(filter(), call(number)) & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
    EXPECT_EQ(answer_of(exempt, call(number)), SECCOMP_RET_ALLOW) << number;
    EXPECT_EQ(answer_of(asking, call(number)), SECCOMP_RET_USER_NOTIF) << number;
  }
  for (const int number : {SYS_read, SYS_keyctl, SYS_connect, 20}) {
    EXPECT_EQ(answer_of(exempt, call(number, kOther)), SECCOMP_RET_ALLOW);
    EXPECT_EQ(answer_of(asking, call(number, kOther)), SECCOMP_RET_USER_NOTIF);
  }
#if defined(__x86_64__)
  EXPECT_EQ(answer_of(asking, call(0x40000000 + SYS_read)), SECCOMP_RET_USER_NOTIF);
#endif
}

// What every process makes is refused at once, and what is allowed is not asked about.
TEST(RefusedCalls, LeaveTheOthersAlone) {
  const std::vector<unsigned> told = told_calls(filter());
  const std::vector<sock_filter> exempt = exempt_from(filter(), told);
  const std::vector<sock_filter> asking = watch_filter({.network = true}, 1, told);
  for (const int number : {SYS_clone3, SYS_read, SYS_openat, SYS_clone}) {
    EXPECT_EQ(answer_of(exempt, call(number)), answer_of(filter(), call(number))) << number;
    EXPECT_EQ(answer_of(asking, call(number)), SECCOMP_RET_ALLOW) << number;
  }
}

// Whoever does not watch exempts nothing.
TEST(RefusedCalls, AreRefusedByTheFilterWhereNothingIsWatched) {
  EXPECT_THAT(watch_filter({}, 1, told_calls(filter())), ::testing::IsEmpty());
  EXPECT_EQ(answer_of(filter(), call(20, kOther)), SECCOMP_RET_ERRNO | unsigned{ENOSYS});
}

TEST(RefusedCalls, AreToldOncePerProgramAndCounted) {
  RefusedCalls refused(filter());
  const std::vector<ProcessFacts> one = {{.pid = 2, .executable = "/bin/one"}};
  EXPECT_FALSE(refused.is_asked(call(SYS_read)));
  EXPECT_TRUE(refused.is_asked(call(SYS_read, kOther)));
  EXPECT_EQ(refused.answer(call(SYS_keyctl)), -ENOSYS);
  EXPECT_EQ(refused.answer(call(SYS_read, kOther)), -ENOSYS);
  const auto event = refused.hear(call(20, kOther), one);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Event::Kind::Call);
  EXPECT_EQ(event->verdict, Verdict::Deny);
  EXPECT_FALSE(refused.hear(call(21, kOther), one));
  EXPECT_TRUE(refused.hear(call(SYS_keyctl), one));
  const std::vector<RefusedCall> all = refused.take();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].by, "/bin/one");
  EXPECT_EQ(all[0].count, 2U);
  EXPECT_EQ(all[1].call, "keyctl");
}

}  // namespace
}  // namespace hermetic::linux_backend
