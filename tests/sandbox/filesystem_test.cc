// What a command sees of the file system, with the new mount calls and with the classic ones.
#include <sys/stat.h>

#include "hermetic/base/path.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Filesystem : public ::testing::TestWithParam<Mounts> {
 protected:
  Outcome run_here(const SpecBuilder& builder) { return run(builder, captured(), GetParam()); }
  std::string output_here(const SpecBuilder& builder) { return output_of(builder, GetParam()); }
  void denied(const SpecBuilder& builder, const Words& act, const std::vector<int>& errors,
              Control control = Control::Succeeds) {
    expect_denied(builder, act, errors, control, GetParam());
  }

  static Words act(std::string verb, std::string path, std::string other = "") {
    return {misbehave("path_act"), std::move(verb), std::move(path), std::move(other)};
  }

  const TempDir dir;
};
INSTANTIATE_TEST_SUITE_P(With, Filesystem, ::testing::Values(Mounts::New, Mounts::Classic),
                         name_of_mounts);

// The checkout may lie anywhere, and what leads to the tests' own programs is there inside.
bool leads_to_tests(std::string_view path) { return is_within(HERMETIC_MISBEHAVE, path); }

TEST_P(Filesystem, HidesWhatIsNotDeclared) {
  const std::string secret = dir.file("secret", "canary");
  for (const char* verb : {"look", "read", "open_to_write"})
    denied(sandboxed({}), act(verb, secret), {ENOENT});
  for (const char* path :
       {"/root", "/home", "/var", "/etc/shadow", "/etc/hostname", "/sys", "/run"})
    if (exists(path) && !leads_to_tests(path)) denied(sandboxed({}), act("look", path), {ENOENT});
  for (const std::string name : {"root", "home", "var", "sys"}) {
    if (leads_to_tests("/" + name)) continue;
    EXPECT_THAT(output_here(sandboxed({"ls", "/"})), ::testing::Not(HasSubstr(name + "\n")));
  }
}

TEST_P(Filesystem, HidesTheNeighboursOfADeclaredFile) {
  const std::string shown = dir.file("shown", "shown");
  const std::string secret = dir.file("secret", "canary");
  denied(sandboxed({}).input(shown), act("look", secret), {ENOENT});
  EXPECT_EQ(output_here(sandboxed({"ls", dir.path()}).input(shown)), "shown\n");
  EXPECT_EQ(output_here(sandboxed({"cat", shown}).input(shown)), "shown");
}

// As /etc/ssl/private for a plain user, who may not even list it.
TEST_P(Filesystem, HidesAnExceptedDirectoryThatTheCallerCannotList) {
  dir.file("in/shown", "shown");
  dir.file("in/closed/secret", "canary");
  std::filesystem::permissions(dir / "in/closed", std::filesystem::perms::owner_exec);
  const SpecBuilder with = sandboxed({}).input(dir / "in", {dir / "in/closed"});
  SpecBuilder showing = with;
  EXPECT_EQ(output_here(showing.command({"cat", dir / "in/shown"})), "shown");
  denied(with, act("look", dir / "in/closed/secret"), {ENOENT, EACCES});
  std::filesystem::permissions(dir / "in/closed", std::filesystem::perms::owner_all);
}

TEST_P(Filesystem, AnInputCannotBeChangedInAnyWay) {
  dir.file("in/file", "canary");
  dir.directory("in/empty");
  const SpecBuilder with = sandboxed({}).input(dir / "in");
  for (const char* verb :
       {"open_to_write", "truncate", "change_mode", "touch", "set_attribute", "remove"})
    denied(with, act(verb, dir / "in/file"), {EROFS, EACCES}, Control::None);
  for (const char* verb : {"create", "make_directory", "make_fifo", "make_socket"})
    denied(with, act(verb, dir / "in/new"), {EROFS, EACCES}, Control::None);
  denied(with, act("remove", dir / "in/empty"), {EROFS, EACCES}, Control::None);
  denied(with, act("rename", dir / "in/file", dir / "in/other"), {EROFS, EACCES}, Control::None);
  denied(with, act("link", dir / "in/file", dir / "in/other"), {EROFS, EACCES}, Control::None);
  EXPECT_EQ(content_of(dir / "in/file"), "canary");
  EXPECT_EQ(names_of(dir / "in"), (Words{"empty", "file"}));
  // The control: every one of these works without a sandbox.
  for (const char* verb : {"open_to_write", "truncate", "change_mode", "touch", "set_attribute"})
    EXPECT_EQ(run_plainly(act(verb, dir / "in/file")).code, 0) << verb;
  EXPECT_EQ(run_plainly(act("link", dir / "in/file", dir / "in/other")).code, 0);
  EXPECT_EQ(run_plainly(act("rename", dir / "in/other", dir / "in/another")).code, 0);
  EXPECT_EQ(run_plainly(act("remove", dir / "in/file")).code, 0);
  EXPECT_EQ(run_plainly(act("remove", dir / "in/empty")).code, 0);
  for (const char* verb : {"create", "make_directory", "make_fifo", "make_socket"})
    EXPECT_EQ(run_plainly(act(verb, dir / (std::string("in/") + verb))).code, 0) << verb;
}

TEST_P(Filesystem, RootInsideCannotChangeAnInputEither) {
  dir.file("in/file", "canary");
  const SpecBuilder with = sandboxed({}).input(dir / "in").identity(Identity::Root);
  denied(with, act("open_to_write", dir / "in/file"), {EROFS, EACCES});
  denied(with, act("change_mode", dir / "in/file"), {EROFS, EACCES});
  denied(with, act("remove", dir / "in/file"), {EROFS, EACCES}, Control::None);
}

TEST_P(Filesystem, TheSystemIsReadOnly) {
  for (const char* path : {"/canary", "/usr/canary", "/etc/canary", "/dev/canary"})
    denied(sandboxed({}), act("create", path), {EROFS, EACCES}, Control::None);  // not on this host
  for (const char* path : {"/etc/passwd", "/etc/hosts"})
    denied(sandboxed({}), act("open_to_write", path), {EROFS, EACCES}, Control::SucceedsAsRoot);
}

// A read-only remount does not reach what is mounted below: only a recursive one does.
TEST_P(Filesystem, AnInputIsReadOnlyBelowItsMountPoints) {
  dir.directory("in/below");
  dir.file("elsewhere/file", "canary");
  const Answer answer = ask_with_own_mounts([&]() -> std::string {
    if (!bind_mount(dir / "elsewhere", dir / "in/below")) return "cannot mount";
    const Outcome outcome =
        run_here(sandboxed(act("open_to_write", dir / "in/below/file")).input(dir / "in"));
    return outcome.standard_output.text + outcome.standard_error.text +
           run_plainly(act("open_to_write", dir / "in/below/file")).text;
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_THAT(answer.text,
              ::testing::AnyOf("denied 30 EROFS\nsucceeded\n", "denied 13 EACCES\nsucceeded\n"));
}

// Flags that a mount of the host has (noexec, nosuid, nodev) are kept.
TEST_P(Filesystem, AnInputKeepsTheFlagsOfItsMount) {
  dir.directory("in");
  const Answer answer = ask_with_own_mounts([&]() -> std::string {
    if (::mount("tmpfs", (dir / "in").c_str(), "tmpfs", MS_NOEXEC | MS_NOSUID | MS_NODEV, "") != 0)
      return "cannot mount";
    std::filesystem::copy_file("/bin/true", dir / "in/true");
    const Outcome outcome = run_here(sandboxed({dir / "in/true"}).input(dir / "in"));
    return outcome.ending == Ending(NotStarted{EACCES}) ? "not executed" : "executed";
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_EQ(answer.text, "not executed");
}

TEST_P(Filesystem, AnExceptionCannotBeReadListedOrWritten) {
  dir.file("in/secret/file", "canary");
  dir.file("in/key", "canary");
  dir.file("in/open", "open");
  for (const Identity identity : {Identity::Builder, Identity::Root}) {
    const SpecBuilder with =
        sandboxed({}).identity(identity).input(dir / "in", {dir / "in/secret", dir / "in/key"});
    denied(with, act("read", dir / "in/key"), {EACCES, ENOENT});
    denied(with, act("open_to_write", dir / "in/key"), {EACCES, ENOENT, EROFS});
    denied(with, act("list", dir / "in/secret"), {EACCES, ENOENT});
    denied(with, act("look", dir / "in/secret/file"), {EACCES, ENOENT});
    denied(with, act("change_mode", dir / "in/key"), {EACCES, ENOENT, EROFS, EPERM}, Control::None);
    denied(with, act("change_mode", dir / "in/secret"), {EACCES, ENOENT, EROFS, EPERM},
           Control::None);
    denied(with, act("create", dir / "in/secret/new"), {EACCES, ENOENT, EROFS}, Control::None);
  }
  EXPECT_EQ(output_here(sandboxed({"cat", dir / "in/open"}).input(dir / "in", {dir / "in/secret"})),
            "open");
}

TEST_P(Filesystem, AnExceptionThatDoesNotExistHidesNothing) {
  dir.file("in/open", "open");
  const SpecBuilder with = sandboxed({"ls", dir / "in"}).input(dir / "in", {dir / "in/no/such"});
  EXPECT_EQ(output_here(with), "open\n");
  EXPECT_EQ(names_of(dir / "in"), Words{"open"});
}

TEST_P(Filesystem, AnExceptionInsideAnOutputInPlaceIsHidden) {
  dir.file("out/key", "canary");
  dir.file("out/secret/file", "canary");
  dir.file("out/open", "open");
  const SpecBuilder with =
      sandboxed({}).declare({.kind = TreeKind::Output,
                             .path = dir / "out",
                             .exceptions = {dir / "out/key", dir / "out/secret"},
                             .publish = Publish::InPlace});
  denied(with, act("read", dir / "out/key"), {EACCES, ENOENT});
  denied(with, act("look", dir / "out/secret/file"), {EACCES, ENOENT});
  denied(with, act("create", dir / "out/secret/new"), {EACCES, ENOENT, EROFS}, Control::None);
  denied(with, act("rename", dir / "out/key", dir / "out/other"), {EBUSY, EACCES}, Control::None);
  EXPECT_EQ(content_of(dir / "out/key"), "canary");
}

TEST_P(Filesystem, DirectoriesAroundWhatMustNotChangeCannotBeMoved) {
  dir.file("out/a/b/key", "canary");
  SpecBuilder in_place = sandboxed({});
  in_place.declare({.kind = TreeKind::Output,
                    .path = dir / "out",
                    .exceptions = {dir / "out/a/b/key"},
                    .publish = Publish::InPlace});
  const SpecBuilder inside_temp =
      sandboxed({})
          .input(dir / "out/a/b/key")
          .declare(
              {.kind = TreeKind::Temp, .path = dir / "out", .exceptions = {dir / "out/a/b/key"}});
  for (const SpecBuilder& with : {in_place, inside_temp})
    for (const char* directory : {"out/a", "out/a/b"}) {
      expect_allowed(with, act("create", dir / directory + "/new"), GetParam());
      denied(with, act("rename", dir / directory, dir / "out/other"), {EBUSY, EXDEV},
             Control::None);
      denied(with, act("remove", dir / directory), {EBUSY}, Control::None);
    }
  EXPECT_EQ(content_of(dir / "out/a/b/key"), "canary");
  EXPECT_EQ(run_plainly(act("rename", dir / "out/a", dir / "out/other")).code, 0) << "the control";
}

TEST_P(Filesystem, WhatIsDeclaredInsideAnExceptionOfAnOutputInPlaceIsThere) {
  dir.file("out/hole/key", "canary");
  dir.file("out/hole/in/file", "in");
  SpecBuilder with = sandboxed({}).input(dir / "out/hole/in").temp(dir / "out/hole/new/temp");
  with.declare({.kind = TreeKind::Output,
                .path = dir / "out",
                .exceptions = {dir / "out/hole"},
                .publish = Publish::InPlace});
  with.command(
      {"sh", "-c", "cd " + dir / "out/hole" + " && ls && cat in/file && echo x >new/temp/x"});
  EXPECT_EQ(output_here(with), "in\nnew\nin");
  denied(with, act("read", dir / "out/hole/key"), {ENOENT});
  for (const char* place : {"out/hole/x", "out/hole/in/x", "out/hole/new/x"})
    denied(with, act("create", dir / place), {EROFS, EACCES}, Control::None);
  EXPECT_EQ(names_of(dir / "out/hole"), (Words{"in", "key"}));
}

TEST_P(Filesystem, LinksAndRenamesDoNotCrossFromAnInputToAnOutput) {
  dir.file("in/file", "canary");
  dir.directory("out");
  const SpecBuilder with = sandboxed({}).input(dir / "in").output(dir / "out");
  denied(with, act("link", dir / "in/file", dir / "out/file"), {EXDEV}, Control::None);
  denied(with, act("rename", dir / "in/file", dir / "out/file"), {EXDEV}, Control::None);
  const SpecBuilder in_place =
      sandboxed({}).input(dir / "in").output(dir / "out", Publish::InPlace);
  denied(in_place, act("link", dir / "in/file", dir / "out/file"), {EXDEV}, Control::None);
  denied(in_place, act("rename", dir / "in/file", dir / "out/file"), {EXDEV}, Control::None);
  EXPECT_EQ(content_of(dir / "in/file"), "canary");
  // The control: one file system, so that both work outside.
  EXPECT_EQ(run_plainly(act("link", dir / "in/file", dir / "out/linked")).code, 0);
  EXPECT_EQ(run_plainly(act("rename", dir / "in/file", dir / "out/file")).code, 0);
}

TEST_P(Filesystem, LinksAreFollowedAsOnTheHost) {
  dir.file("real/file", "content");
  dir.link("link", dir / "real");
  dir.link("chain", "link");
  EXPECT_EQ(output_here(sandboxed({"cat", dir / "chain/file"}).input(dir / "chain")), "content");
  EXPECT_EQ(output_here(sandboxed({"readlink", dir / "chain"}).input(dir / "chain")), "link\n");
  // What a link in an input leads to is not declared by that.
  dir.file("outside", "canary");
  dir.link("real/escape", dir / "outside");
  denied(sandboxed({}).input(dir / "real"), act("read", dir / "real/escape"), {ENOENT});
  denied(sandboxed({}).input(dir / "real"), act("read", dir / "real/../outside"), {ENOENT});
}

TEST_P(Filesystem, TempsArePrivateAndGoneAfterwards) {
  dir.file("temp/old", "canary");
  denied(sandboxed({}).temp(dir / "temp"), act("look", dir / "temp/old"), {ENOENT});
  const std::string script =
      "echo x >" + dir / "temp/new" + "; echo x >/tmp/new; cat " + dir / "temp/new";
  EXPECT_EQ(output_here(shell(script).temp(dir / "temp")), "x\n");
  EXPECT_EQ(names_of(dir / "temp"), Words{"old"});
  EXPECT_FALSE(exists("/tmp/new"));
  EXPECT_EQ(output_here(shell("ls -A " + dir.path()).temp(dir / "temp/new")), "temp\n");
}

TEST_P(Filesystem, ATempCanBeASingleFile) {
  const Declaration temp{.kind = TreeKind::Temp, .path = dir / "file", .type = FileType::File};
  EXPECT_EQ(output_here(shell("echo x >" + dir / "file" + " && cat " + dir / "file").declare(temp)),
            "x\n");
  EXPECT_FALSE(exists(dir / "file"));
}

TEST_P(Filesystem, AWorkspaceMayLieAnywhere) {
  for (const char* parent : {"/tmp", "/var/tmp", "/dev/shm"}) {
    std::string place = std::string(parent) + "/hermetic-test-XXXXXX";
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    std::ofstream(place + "/file") << "content";
    const bool reserved = std::string_view(parent) == "/dev/shm";
    const auto finished =
        try_run(sandboxed({"cat", place + "/file"}).input(place), captured(), GetParam());
    if (reserved)  // below /dev nothing is the host's
      EXPECT_FALSE(finished);
    else
      EXPECT_TRUE(finished && finished->outcome.standard_output.text == "content") << parent;
    std::filesystem::remove_all(place);
  }
}

TEST_P(Filesystem, TheWholeHostCanBeAnInput) {
  SpecBuilder all(Words{"sh", "-c", "cat /etc/hosts >/dev/null && ls /dev && ls -A /tmp"});
  all.directory("/").input("/").caller_environment({});
  EXPECT_THAT(output_here(all), HasSubstr("full\nnull\nptmx\n"));
  all.input(HERMETIC_MISBEHAVE);
  for (const char* path : {"/canary", "/dev/canary", "/etc/canary", "/var/tmp/canary"})
    denied(all, act("create", path), {EROFS, EACCES}, Control::None);
  denied(all, act("open_to_write", "/etc/hosts"), {EROFS, EACCES}, Control::SucceedsAsRoot);
  denied(all, act("open_to_write", "/proc/sys/kernel/core_pattern"), {EROFS, EACCES},
         Control::SucceedsAsRoot);
}

TEST_P(Filesystem, TheWholeHostCanHaveExceptions) {
  SpecBuilder all(Words{"true"});
  all.directory("/").caller_environment({}).input(HERMETIC_MISBEHAVE);
  const std::string folder = leads_to_tests("/var") ? "/srv" : "/var";
  all.input("/", {"/etc/hosts", "/etc/hostname", folder});
  denied(all, act("read", "/etc/hostname"), {EACCES, ENOENT});
  denied(all, act("list", folder), {EACCES, ENOENT});
  all.command({"cat", "/etc/hosts"});  // its place is taken by the one that hermetic writes
  EXPECT_THAT(output_here(all), HasSubstr("127.0.0.1 hermetic"));
  EXPECT_FALSE(exists("/.hermetic"));
}

TEST_P(Filesystem, TheWholeHostCanHaveExceptionsInWhatIsHiddenAnyway) {
  SpecBuilder all(Words{"true"});
  all.directory("/").caller_environment({}).input(HERMETIC_MISBEHAVE).input("/", {"/sys/class"});
  denied(all, act("look", "/sys/class"), {EACCES});
}

TEST_P(Filesystem, TheWholeHostCanHaveATempThatIsAFile) {
  SpecBuilder all(Words{"sh", "-c", "echo x >" + dir / "file" + "; cat " + dir / "file"});
  all.directory("/").caller_environment({}).input("/", {dir / "file"});
  all.declare({.kind = TreeKind::Temp, .path = dir / "file", .type = FileType::File});
  EXPECT_EQ(output_here(all), "x\n");
  EXPECT_FALSE(exists(dir / "file"));
}

TEST_P(Filesystem, AnOutputInsideAnInputNeedsNoPlaceOnTheHost) {
  dir.file("src/main.c", "int main;");
  dir.link("src/link", "main.c");
  ASSERT_EQ(::mkfifo((dir / "src/fifo").c_str(), 0600), 0);
  const std::string script =
      "ls -A " + dir / "src" + "; cat " + dir / "src/link" + "; echo made >" + dir / "src/build/x";
  const SpecBuilder failing =
      shell(script + "; exit 1").input(dir / "src", {dir / "src/build"}).output(dir / "src/build");
  EXPECT_EQ(run_here(failing).standard_output.text, "build\nfifo\nlink\nmain.c\nint main;");
  EXPECT_EQ(names_of(dir / "src"), (Words{"fifo", "link", "main.c"}));
  const SpecBuilder good =
      shell(script).input(dir / "src", {dir / "src/build"}).output(dir / "src/build");
  EXPECT_EQ(output_here(good), "build\nfifo\nlink\nmain.c\nint main;");
  EXPECT_EQ(content_of(dir / "src/build/x"), "made\n");
  denied(good, act("create", dir / "src/other"), {EROFS, EACCES}, Control::None);
}

TEST_P(Filesystem, InputsAndTempsNestInAnOutput) {
  dir.file("out/keep/file", "kept");
  const SpecBuilder nested = shell("cat " + dir / "out/keep/file" + "; echo x >" +
                                   dir / "out/temp/x" + "; echo y >" + dir / "out/y")
                                 .declare({.kind = TreeKind::Output,
                                           .path = dir / "out",
                                           .exceptions = {dir / "out/keep", dir / "out/temp"}})
                                 .input(dir / "out/keep")
                                 .temp(dir / "out/temp");
  EXPECT_EQ(output_here(nested), "kept");
  EXPECT_EQ(content_of(dir / "out/keep/file"), "kept");
  EXPECT_EQ(content_of(dir / "out/y"), "y\n");
  EXPECT_FALSE(exists(dir / "out/temp/x"));
  denied(nested, act("open_to_write", dir / "out/keep/file"), {EROFS, EACCES});
}

TEST_P(Filesystem, ManyInputsAreBoundOneByOne) {
  SpecBuilder builder = shell("cat " + dir / "*/file" + " | wc -c");
  for (int i = 0; i < 200; ++i)
    builder.input(dir.directory("in" + std::to_string(i))),
        dir.file("in" + std::to_string(i) + "/file", "x");
  EXPECT_EQ(output_here(builder), "200\n");
}

TEST_P(Filesystem, TheDirectoryOfTheCommand) {
  dir.file("in/file", "content");
  EXPECT_EQ(output_here(sandboxed({"cat", "file"}).input(dir / "in").directory(dir / "in")),
            "content");
  EXPECT_EQ(output_here(shell("echo x >here; pwd").output(dir / "out").directory(dir / "out")),
            dir / "out" + "\n");
  EXPECT_EQ(content_of(dir / "out/here"), "x\n");
}

}  // namespace
}  // namespace hermetic
