// Ways out through trees that stand elsewhere inside than on the host, and through roots of their
// own.
#include "hermetic/spec/placed_path.h"
#include "tests/escape/escape.h"

namespace hermetic {
namespace {

class PlaceWayOut : public ::testing::Test {
 protected:
  // What the host has at `path`, or what stands at `inside` in the sandbox.
  static std::string name(const std::string& path, const std::string& inside) {
    return sandbox_is_open() ? path : inside;
  }

  [[nodiscard]] Declaration at(const std::string& path, const std::string& place,
                               std::vector<std::string> exceptions = {}) const {
    return {.path = dir / path, .exceptions = std::move(exceptions), .at = place};
  }

  // As /usr/bin is, so that a root needs nothing of its own.
  [[nodiscard]] SpecBuilder in_root(TreeKind kind, Words command) const {
    for (const char* link : {"bin", "lib", "lib64"})
      if (!exists(dir / (std::string("image/") + link)))
        dir.link(std::string("image/") + link, std::string("usr/") + link);
    SpecBuilder builder(std::move(command));
    builder.input("/usr").directory("/").caller_environment({});
    if (!sandbox_is_open()) builder.declare(as_root({.kind = kind, .path = dir / "image"}));
    return builder;
  }

  const TempDir dir;
};

TEST_F(PlaceWayOut, ExceptionByEitherOfItsNames) {
  dir.file("w/secret/key", "canary");
  const std::string script = "cat " + dir / "w/secret/key" +
                             " /w/secret/key; cd /w; cat ./secret/key; cat secret/../secret/key";
  EXPECT_EQ(attempt(shell(script).declare(at("w", "/w", {"/w/secret"}))).output, "");
}

TEST_F(PlaceWayOut, ExceptionOfWhatStandsInAnotherTree) {
  dir.file("outer/inner/secret", "");
  dir.file("w/secret", "canary");
  const SpecBuilder builder = sandboxed({"cat", name(dir / "w/secret", "/o/inner/secret")})
                                  .declare(at("outer", "/o"))
                                  .declare(at("w", "/o/inner", {"/o/inner/secret"}));
  EXPECT_EQ(attempt(builder).output, "");
}

TEST_F(PlaceWayOut, ProcessesOfTheHostUnderAnotherName) {
  const std::string h = name("", "/h");
  SpecBuilder builder = shell("cat " + h + "/proc/1/comm " + h + "/proc/version; ls " + h +
                              "/dev/mem " + h + "/dev/kmsg " + h + "/sys/kernel");
  if (!sandbox_is_open()) builder.declare({.path = "/", .at = "/h"});
  EXPECT_EQ(attempt(builder).output, "");
}

TEST_F(PlaceWayOut, HardLinkFromAPlacedOutputToAPlacedInput) {
  dir.file("in/file", "canary");
  dir.directory("out");
  dir.hard_link("out/file", "in/file");
  SpecBuilder builder = shell("echo changed >" + name(dir / "out/file", "/o/file"));
  builder.declare(at("in", "/i"));
  if (!sandbox_is_open())
    builder.declare(
        {.kind = TreeKind::Output, .path = dir / "out", .publish = Publish::InPlace, .at = "/o"});
  (void)attempt(builder);
  EXPECT_EQ(content_of(dir / "in/file"), "canary");
}

TEST_F(PlaceWayOut, OneTreeToReadAndToWriteAtTwoPlaces) {
  dir.file("in/file", "canary");
  SpecBuilder builder = shell("echo changed >" + name(dir / "in/file", "/o/file"));
  builder.declare(at("in", "/i"));
  if (!sandbox_is_open())
    builder.declare(
        {.kind = TreeKind::Output, .path = dir / "in", .publish = Publish::InPlace, .at = "/o"});
  (void)attempt(builder);
  EXPECT_EQ(content_of(dir / "in/file"), "canary");
}

// The kernel would mount where the link leads.
TEST_F(PlaceWayOut, PlaceBehindALinkInATree) {
  dir.file("precious/file", "canary");
  dir.directory("w");
  dir.directory("out/x");
  dir.link("w/link", dir / "precious");
  SpecBuilder builder = shell("echo changed >" + name(dir / "w/link/file", "/w/link/file"));
  builder.declare(at("w", "/w", sandbox_is_open() ? Words() : Words{"/w/link"}));
  if (!sandbox_is_open())
    builder.declare({.kind = TreeKind::Output, .path = dir / "out", .at = "/w/link"});
  (void)attempt(builder);
  EXPECT_EQ(content_of(dir / "precious/file"), "canary");
}

TEST_F(PlaceWayOut, AbsoluteLinkInARoot) {
  dir.file("precious", "canary");
  dir.directory("image/etc");
  dir.link("image/link", dir / "precious");
  dir.link("image/up", "../../../../../../../.." + dir / "precious");
  for (const char* link : {"link", "up"}) {
    const SpecBuilder builder = in_root(
        TreeKind::Input, {"/usr/bin/cat", name(dir / "image/link", std::string("/") + link)});
    EXPECT_EQ(attempt(builder).output, "") << link;
  }
}

TEST_F(PlaceWayOut, ChangeOfACopiedRoot) {
  dir.file("image/etc/issue", "canary");
  const std::string file = name(dir / "image/etc/issue", "/etc/issue");
  const std::string made = name(dir / "image/made", "/made");
  const Attempt inside = attempt(in_root(
      TreeKind::Temp, {"/usr/bin/sh", "-c", "echo changed >" + file + "; echo x >" + made}));
  EXPECT_EQ(inside.ending, Ending(Exited{0})) << inside.refusal << inside.errors;
  EXPECT_EQ(content_of(dir / "image/etc/issue"), "canary");
  EXPECT_FALSE(exists(dir / "image/made"));
}

// Devices, /proc and the rest stand on mounts of their own, which a root that is written cannot
// take away.
TEST_F(PlaceWayOut, BuiltInPlacesOfACopiedRoot) {
  dir.directory("image/etc");
  dir.directory("input");
  const std::string place = name(dir / "input", "/input");
  SpecBuilder builder =
      in_root(TreeKind::Temp, {"/usr/bin/sh", "-c",
                               "mv " + place + " " + place + "2 && echo moved; echo x >" + place +
                                   "/x && echo made; "
                                   "rmdir " +
                                   place + "2 && echo removed"});
  if (!sandbox_is_open()) builder.declare(at("input", "/input"));
  EXPECT_EQ(attempt(builder).output, "");
  EXPECT_FALSE(exists(dir / "input/x"));
}

}  // namespace
}  // namespace hermetic
