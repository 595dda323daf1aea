// Roots of the caller's own: whatever is in them, what every sandbox has is there, and the host's
// tree stays as it is.
#include "hermetic/spec/placed_path.h"
#include "tests/sandbox/sandbox.h"
#include "tests/unit/spec/mount_namespace.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using Way = LinuxBackend::Layers;

struct Making {
  Way way;
  Mounts mounts;
};

class Roots : public ::testing::TestWithParam<Making> {
 protected:
  Roots() {
    dir.directory("image/home");
    dir.file("image/etc/issue", "image\n");
    for (const char* link : {"bin", "lib", "lib64"})
      dir.link(std::string("image/") + link, std::string("usr/") + link);
    // What every sandbox has, in the way.
    dir.link("image/dev", "/nowhere");
    dir.file("image/proc", "no directory");
    dir.link("image/tmp", "home");
    dir.link("image/etc/resolv.conf", "../home/resolv.conf");
  }

  [[nodiscard]] SpecBuilder in_root(TreeKind kind, const std::string& script) const {
    return SpecBuilder({"/usr/bin/bash", "-c", script})
        .declare(as_root({.kind = kind, .path = dir / "image"}))
        .input("/usr")
        .directory("/")
        .caller_environment({});
  }
  static Result<Finished> try_run(const SpecBuilder& builder) {
    const Spec spec = TRY(builder.build());
    LinuxBackend backend =
        TRY(LinuxBackend::make(GetParam().mounts, LinuxBackend::Groups::Detect, GetParam().way));
    Audience events;
    return execute(spec, backend, captured(), events);
  }
  static std::string said_by(const SpecBuilder& builder) {
    const Result<Finished> finished = try_run(builder);
    if (!finished) return to_string(finished.error());
    return finished->outcome.standard_output.text + finished->outcome.standard_error.text;
  }
  [[nodiscard]] std::string image() const {
    return run_plainly({"sh", "-c", "cd \"$1\" && find . -printf '%p %y %m %s %l\\n' | sort", "sh",
                        dir / "image"})
        .text;
  }

  const TempDir dir;
};

constexpr const char* kWhatEverySandboxHas =
    "set -e; test -c /dev/null; test -d /dev/shm; test -d /proc/self/fd; echo x >/tmp/x; "
    "test ! -e /home/x; grep -q builder /etc/passwd; test ! -s /etc/resolv.conf; "
    "grep -q localhost /etc/hosts; cat /etc/issue; ";

TEST_P(Roots, HaveWhatEverySandboxHas) {
  dir.directory("image/etc/hosts");
  const std::string before = image();
  EXPECT_EQ(said_by(in_root(TreeKind::Input, kWhatEverySandboxHas)), "image\n");
  EXPECT_THAT(said_by(in_root(TreeKind::Input, "echo x >/home/x")),
              HasSubstr("Read-only file system"));
  EXPECT_EQ(image(), before);
}

TEST_P(Roots, AreCopiedAndNeverChanged) {
  const std::string before = image();
  EXPECT_EQ(
      said_by(in_root(TreeKind::Temp, std::string(kWhatEverySandboxHas) +
                                          "echo new >/etc/issue; echo h >/etc/hosts; echo r "
                                          ">/root-file; rmdir /home; cat /etc/issue /etc/hosts")),
      "image\nnew\nh\n");
  EXPECT_THAT(said_by(in_root(TreeKind::Temp, "echo x >/usr/x")),
              HasSubstr("Read-only file system"))
      << "what stands on it is not a part of it";
  EXPECT_THAT(said_by(in_root(TreeKind::Temp, "echo x >/dev/x")), HasSubstr("/dev/x: "));
  EXPECT_EQ(image(), before);
}

TEST_P(Roots, PublishFromWhereOutputsStand) {
  const SpecBuilder builder =
      in_root(TreeKind::Temp, "echo made >/home/out/file")
          .declare({.kind = TreeKind::Output, .path = dir / "out", .at = "/home/out"});
  EXPECT_EQ(said_by(builder), "");
  EXPECT_EQ(content_of(dir / "out/file"), "made\n");
}

TEST_P(Roots, WithSomethingMountedInThemAreCopiedWholeOrRefused) {
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(dir / "image/etc", dir / "image/home")) return "cannot mount";
    return said_by(in_root(TreeKind::Temp, "echo ran"));
  });
  SKIP_UNLESS_ANSWERED(answer);
  const std::string refusal =
      "cannot be copied: something is mounted at '" + dir / "image/home" + "'";
  // A plain user may have no sandbox in that namespace: a copy that is made is no refusal.
  if (GetParam().way == Way::Copy)
    EXPECT_THAT(answer.text, ::testing::Not(HasSubstr("cannot be copied")));
  else
    EXPECT_THAT(answer.text, HasSubstr(refusal));
}

INSTANTIATE_TEST_SUITE_P(Makings, Roots,
                         ::testing::Values(Making{Way::Detect, Mounts::Detect},
                                           Making{Way::Detect, Mounts::Classic},
                                           Making{Way::Copy, Mounts::Detect},
                                           Making{Way::Copy, Mounts::Classic}),
                         [](const auto& chosen) {
                           return std::string(chosen.param.way == Way::Copy ? "Copy" : "Overlay") +
                                  (chosen.param.mounts == Mounts::Classic ? "Classic" : "New");
                         });

// Inputs, outputs and temps at other places, by both kinds of mount calls.
class Places : public ::testing::TestWithParam<Mounts> {
 protected:
  const TempDir dir;
};

TEST_P(Places, ShowWhatTheHostHasElsewhere) {
  dir.file("src/a", "a\n");
  dir.file("state/file", "old\n");
  const SpecBuilder builder =
      shell(
          "cat /w/a /opt/new/tool/a /state/file; echo new >/state/file; echo o >/w/out/o; "
          "echo t >/scratch/t; ls /w; echo x >/w/a")
          .declare({.path = dir / "src", .exceptions = {"/w/out"}, .at = "/w"})
          .declare(
              {.path = dir / "src", .exceptions = {"/opt/new/tool/out"}, .at = "/opt/new/tool"})
          .declare({.kind = TreeKind::Output,
                    .path = dir / "state",
                    .publish = Publish::InPlace,
                    .at = "/state"})
          .declare({.kind = TreeKind::Output, .path = dir / "src/out", .at = "/w/out"})
          .declare({.kind = TreeKind::Temp, .path = "", .at = "/scratch"});
  const Outcome outcome = run(builder, captured(), GetParam());
  EXPECT_EQ(outcome.standard_output.text, "a\na\nold\na\nout\n");
  EXPECT_THAT(outcome.standard_error.text, HasSubstr("Read-only file system"));
  EXPECT_EQ(content_of(dir / "state/file"), "new\n");
  EXPECT_FALSE(exists(dir / "src/out")) << "it has failed";
}

// Between the check and the start, by somebody who can write there.
TEST(PlaceOnTheWay, ThatBecomesALinkIsNotFollowed) {
  const TempDir dir;
  dir.directory("w/way/place");
  dir.directory("w/other/place");
  dir.file("tool/file");
  const Result<Spec> spec = shell("ls /w/other/place")
                                .declare({.path = dir / "w", .at = "/w"})
                                .declare({.path = dir / "tool", .at = "/w/way/place"})
                                .build();
  ASSERT_TRUE(spec) << to_string(spec.error());
  std::filesystem::remove_all(dir / "w/way");
  dir.link("w/way", "other");
  LinuxBackend backend = LinuxBackend::make().value();
  Audience events;
  const Result<Finished> finished = execute(*spec, backend, captured(), events);
  ASSERT_FALSE(finished) << finished->outcome.standard_output.text;
  EXPECT_THAT(to_string(finished.error()),
              HasSubstr("to w/way/place: Too many levels of symbolic"));
}

INSTANTIATE_TEST_SUITE_P(Mounts, Places, ::testing::Values(Mounts::Detect, Mounts::Classic),
                         [](const auto& chosen) {
                           return chosen.param == Mounts::Classic ? "Classic" : "New";
                         });

}  // namespace
}  // namespace hermetic
