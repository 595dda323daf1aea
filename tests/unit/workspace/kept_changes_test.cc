#include "hermetic/workspace/kept_changes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "hermetic/base/file_tree.h"
#include "hermetic/workspace/changes.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;

OwnPlace place(const std::string& path) { return OwnPlace::find(path).value(); }

class KeptChanges : public ::testing::Test {
 protected:
  KeptChanges() {
    dir.file("low/gone", "x");
    dir.file("low/sub/gone", "x");
    dir.file("upper/file", "content");
    dir.file("upper/powers", "x");
    dir.file("upper/sub/new", "x");
    dir.file("upper/locked/inner", "x");
    dir.link("upper/link", "file");
    EXPECT_EQ(::mkfifo((dir / "upper/pipe").c_str(), 0600), 0);
    EXPECT_EQ(::mknod((dir / "upper/gone").c_str(), S_IFCHR, 0), 0);
    EXPECT_EQ(::lsetxattr((dir / "upper/sub").c_str(), "user.overlay.opaque", "y", 1, 0), 0);
    EXPECT_EQ(::chmod((dir / "upper/powers").c_str(), 06755), 0);
    EXPECT_EQ(::chmod((dir / "upper/locked").c_str(), 0), 0);
    EXPECT_EQ(::chmod((dir / "upper").c_str(), 0777), 0);
  }
  ~KeptChanges() override { (void)remove_tree(AT_FDCWD, dir.path()); }  // what is locked, too

  void expect_kept(const std::string& place) const {
    struct stat status = {};
    ASSERT_EQ(::stat((place + "/powers").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0755U);
    ASSERT_EQ(::stat(place.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0755U);
    ASSERT_EQ(::stat((place + "/locked").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0U);
  }

  const TempDir dir;
};

TEST_F(KeptChanges, AreTheSameButForThePowersOfPrograms) {
  std::vector<Change> before = changes_in(dir / "upper", {dir / "low"}).value();
  ASSERT_EQ(before.size(), 9U);
  ASSERT_TRUE(move_changes(dir / "upper", place(dir / "kept")));
  EXPECT_FALSE(std::filesystem::exists(dir / "upper"));
  expect_kept(dir / "kept");
  for (Change& change : before) change.mode &= 01777U;
  EXPECT_EQ(changes_in(dir / "kept", {dir / "low"}).value(), before);
}

class KeptElsewhere : public KeptChanges {
 protected:
  void SetUp() override {
    if (::mkdtemp(other.data()) == nullptr) GTEST_SKIP() << "there is no /dev/shm";
    struct stat here = {};
    struct stat there = {};
    ASSERT_EQ(::stat(dir.path().c_str(), &here), 0);
    ASSERT_EQ(::stat(other.c_str(), &there), 0);
    if (here.st_dev == there.st_dev) GTEST_SKIP() << "it is no other file system";
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(AT_FDCWD, other)); }

  std::string other = "/dev/shm/hermetic-test-XXXXXX";
};

TEST_F(KeptElsewhere, AreTheSame) {
  const bool has_marks = ::lsetxattr(other.c_str(), "user.overlay.opaque", "y", 1, 0) == 0;
  std::vector<Change> before = changes_in(dir / "upper", {dir / "low"}).value();
  const Result<void> moved = move_changes(dir / "upper", place(other + "/kept"));
  if (has_marks) {
    EXPECT_TRUE(moved) << to_string(moved.error());
    expect_kept(other + "/kept");
    EXPECT_FALSE(std::filesystem::exists(dir / "upper")) << "it was moved";
    for (Change& change : before) change.mode &= 01777U;
    EXPECT_EQ(changes_in(other + "/kept", {dir / "low"}).value(), before);
  } else {
    EXPECT_FALSE(moved);
    EXPECT_FALSE(std::filesystem::exists(other + "/kept")) << "no part of it";
  }
}

// A signal that nobody expects, in the middle of a file.
TEST_F(KeptElsewhere, AreNoPartOfThemIfWhoCopiesIsKilled) {
  dir.file("upper/large", std::string(100'000, 'x'));
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit small = {.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    (void)move_changes(dir / "upper", place(other + "/kept")).has_value();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
  EXPECT_FALSE(std::filesystem::exists(other + "/kept"));
  EXPECT_TRUE(std::filesystem::exists(dir / "upper/large"));
}

// As NFS does.
void refuse_to_replace_nothing() {
  constexpr std::uint32_t kCall = offsetof(seccomp_data, nr);
  constexpr std::uint32_t kFlags = offsetof(seccomp_data, args[4]);  // their lower half
  std::array<sock_filter, 6> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCall),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) ::_exit(2);
}

TEST_F(KeptChanges, AreKeptWhereTheFileSystemCannotPromiseToReplaceNothing) {
  std::string other = "/dev/shm/hermetic-test-XXXXXX";
  if (::mkdtemp(other.data()) == nullptr) GTEST_SKIP() << "there is no /dev/shm";
  dir.file("plain/file", "kept");
  const pid_t child = ::fork();
  if (child == 0) {
    refuse_to_replace_nothing();
    ::_exit(move_changes(dir / "plain", place(other + "/kept")) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(std::filesystem::exists(other + "/kept/file"));
  EXPECT_THAT(names_in(open_directory(AT_FDCWD, other).value().get()).value(),
              ::testing::ElementsAre("kept"));
  EXPECT_TRUE(remove_tree(AT_FDCWD, other));
}

TEST_F(KeptChanges, ReplaceNothing) {
  dir.directory("kept");
  for (const char* name : {"kept", "low/gone"}) {
    const Result<void> moved = move_changes(dir / "upper", place(dir / name));
    ASSERT_FALSE(moved);
    EXPECT_THAT(moved.error().message, HasSubstr("is there already"));
  }
  EXPECT_FALSE(move_changes(dir / "upper", place(dir / "no/such/place")));
  EXPECT_TRUE(std::filesystem::exists(dir / "upper/file"));
}

TEST_F(KeptChanges, AreNotKeptWhereTheyLieTooDeep) {
  dir.nest("upper/deep", "d", 3000);
  const Result<void> moved = move_changes(dir / "upper", place(dir / "kept"));
  ASSERT_FALSE(moved);
  EXPECT_THAT(moved.error().message, HasSubstr("more than 500 directories deep"));
  EXPECT_FALSE(std::filesystem::exists(dir / "kept"));
}

}  // namespace
}  // namespace hermetic
