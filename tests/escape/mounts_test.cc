// Ways out through mounts and namespaces.
#include <linux/sched.h>

#include "tests/escape/escape.h"

namespace hermetic {
namespace {

class MountWayOut : public ::testing::Test {
 protected:
  static Words act(std::string verb, std::string path = "") {
    return {misbehave("mount_act"), std::move(verb), std::move(path)};
  }
  // The input is a mount inside; outside, in a namespace of its own, the control makes it one.
  void refused(const std::string& verb, const std::string& path, Outside outside) {
    expect_refused(sandboxed({}).input(dir / "in"), act(verb, path), {EPERM}, outside);
  }
  // The same act in a user namespace, on a mount that was made there.
  void expect_works_on_own_mount(const std::string& verb) {
    if (sandbox_is_open()) return;
    const std::string place = dir.directory("own");
    const Plain plain = run_plainly(in_namespace(
        {"sh", "-c", "mount -t tmpfs none \"$2\" && cd \"$2\" && exec \"$0\" \"$1\" \"$2\"",
         misbehave("mount_act"), verb, place}));
    EXPECT_EQ(plain.code, 0) << plain.text;
  }

  const TempDir dir;
  const std::string canary = dir.file("in/canary", "canary");
};

TEST_F(MountWayOut, CVE_2022_0185_fsopen) {
  refused("new_file_system", "", Outside::SucceedsInNamespace);
}
TEST_F(MountWayOut, CVE_2022_0492_cgroup_mount_for_release_agent) {
  refused("mount_cgroup", dir / "in", Outside::SucceedsInNamespace);
  EXPECT_EQ(attempt(shell("ls -d /sys/fs/cgroup 2>/dev/null || echo none")).output, "none\n");
}
TEST_F(MountWayOut, CVE_2023_0386_overlay_mount) {
  refused("mount_overlay", dir / "in", Outside::SucceedsInNamespace);
}
TEST_F(MountWayOut, MountOfTmpfs) { refused("mount_tmpfs", "/tmp", Outside::SucceedsInNamespace); }
TEST_F(MountWayOut, BindOfTheRoot) { refused("bind", "/tmp", Outside::SucceedsInNamespace); }
TEST_F(MountWayOut, OpenTree) { refused("open_tree", "/tmp", Outside::SucceedsInNamespace); }
TEST_F(MountWayOut, MoveMount) { refused("move_mount", "/tmp", Outside::SucceedsInNamespace); }

TEST_F(MountWayOut, RemountReadWrite) {
  refused("remount", dir / "in", Outside::Unknown);
  expect_works_on_own_mount("remount");
}
TEST_F(MountWayOut, MountSetattrReadWrite) {
  refused("make_writable", dir / "in", Outside::Unknown);
  expect_works_on_own_mount("make_writable");
}
TEST_F(MountWayOut, UnmountOfAReadOnlyBind) {
  refused("unmount", dir / "in", Outside::Unknown);
  expect_works_on_own_mount("unmount");
}
TEST_F(MountWayOut, PivotRoot) { refused("pivot_root", "/tmp", Outside::DiffersInNamespace); }
TEST_F(MountWayOut, Chroot) { refused("chroot", "/tmp", Outside::SucceedsInNamespace); }

TEST_F(MountWayOut, SetnsToItsOwnNamespace) {
  refused("setns", "/proc/self/ns/net", Outside::SucceedsInNamespace);
}

// As it was left open in a program that runs hermetic.
TEST_F(MountWayOut, SetnsToALeakedNamespaceDescriptor) {
  const UniqueFd leaked(::open("/proc/self/ns/net", O_RDONLY));
  const UniqueFd ninth(::dup2(leaked.get(), 9));
  expect_refused(sandboxed({}), act("setns_to_descriptor", "9"), {EPERM, EBADF},
                 Outside::SucceedsAsRoot);
  // Nor is it there for calls that need no power.
  EXPECT_EQ(attempt(shell("readlink /proc/self/fd/9 || echo closed")).output, "closed\n");
  if (!sandbox_is_open()) {
    EXPECT_NE(run_plainly({"readlink", "/proc/self/fd/9"}).text, "");
  }
}

TEST_F(MountWayOut, NamespaceAboveByIoctl) {
  // Our own user namespace was made by another, which nobody inside may get hold of.
  expect_refused(sandboxed({}), act("parent_namespace", "/proc/self/ns/user"), {EPERM},
                 Outside::Unknown);
  expect_refused(sandboxed({}), act("owner_namespace", "/proc/self/ns/mnt"), {EPERM},
                 Outside::SucceedsInNamespace);
}

TEST_F(MountWayOut, NestedUserNamespace) {
  for (const char* how : {"clone", "unshare"})
    for (const int flags : {CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET})
      expect_refused(sandboxed({}), {misbehave("make_namespace"), how, std::to_string(flags)},
                     {EPERM}, Outside::Succeeds);
}

TEST_F(MountWayOut, UnshareWithoutAUserNamespace) {
  for (const std::uint64_t flag : {std::uint64_t{CLONE_NEWNS}, std::uint64_t{CLONE_NEWNET},
                                   std::uint64_t{CLONE_NEWCGROUP}, std::uint64_t{CLONE_NEWTIME}})
    expect_refused(sandboxed({}), {misbehave("make_namespace"), "unshare", std::to_string(flag)},
                   {EPERM}, Outside::SucceedsInNamespace);
}

// The number that keeps user namespaces away is a file; the file cannot be written.
TEST_F(MountWayOut, RaiseOfMaxUserNamespaces) {
  expect_refused(sandboxed({}),
                 {misbehave("path_act"), "open_to_write", "/proc/sys/user/max_user_namespaces"},
                 {EROFS, EACCES}, Outside::SucceedsInNamespace);
}

// With nested namespaces a command gets every capability, over nothing that it was given.
TEST_F(MountWayOut, NestedNamespaceRemountsTheInput) {
  if (is_root()) GTEST_SKIP() << "for root /proc stays read only, so that no map can be written";
  const auto nested = [&](const std::string& script) {
    return attempt(sandboxed({"unshare", "-Urm", "sh", "-c", script + " && echo done"})
                       .input(dir / "in")
                       .allow_nested_namespaces())
        .output;
  };
  const std::string in = dir / "in";
  EXPECT_EQ(nested("mount -t tmpfs none /tmp"), "done\n");
  EXPECT_EQ(nested("mount -o remount,rw,bind " + in + " 2>/dev/null; echo x >" + canary), "");
  EXPECT_EQ(nested("umount -l " + in + "; echo x >" + canary), "");
  EXPECT_EQ(nested("mount --bind " + in + " /tmp && echo x >/tmp/canary"), "");
  EXPECT_EQ(content_of(canary), "canary");
}

}  // namespace
}  // namespace hermetic
