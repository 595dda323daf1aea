// What hermetic tells of files that a command asks for and does not get, and of programs that it
// executes in unusual ways.
#include <sys/stat.h>

#include "hermetic/engine/denial.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Collector final : public EventSink {
 public:
  void on_event(const Event& event) override { events.push_back(event); }
  std::vector<Event> events;
};

struct Told {
  Outcome outcome;
  std::vector<Event> all;
  std::vector<Event> files;
};

Told tell(const SpecBuilder& builder) {
  Told told;
  const Spec spec = builder.build().value();
  RunOptions options = captured();
  options.observe_processes = true;
  options.why_denied = denials_of(spec);
  LinuxBackend backend = LinuxBackend::make().value();
  Collector collector;
  Result<Finished> finished = execute(spec, backend, options, collector);
  EXPECT_TRUE(finished) << to_string(finished.error());
  if (finished) told.outcome = std::move(finished->outcome);
  told.all = std::move(collector.events);
  for (const Event& event : told.all)
    // Where the kernel has SELinux, the usual small programs look whether it is in use.
    if (event.kind == Event::Kind::File && event.subject != "/sys/fs/selinux")
      told.files.push_back(event);
  return told;
}

auto is_denied(const char* act, const std::string& subject) {
  return AllOf(Field(&Event::act, act), Field(&Event::subject, subject),
               Field(&Event::verdict, Verdict::Deny));
}

TEST(DeniedFiles, AreToldAtOnceWithWhoAskedAndWhen) {
  const TempDir dir;
  dir.file("secret", "x");
  const Told told = tell(shell("cd /usr; cat '" + dir / "secret" + "'; true"));
  ASSERT_THAT(told.files, ElementsAre(is_denied("read", dir / "secret")));
  const Event& event = told.files.front();
  EXPECT_GT(event.since_start.count(), 0);
  ASSERT_EQ(event.processes.size(), 2U);
  EXPECT_EQ(event.processes[0].executable, "/usr/bin/cat");
  EXPECT_THAT(event.processes[0].arguments, ElementsAre("cat", dir / "secret"));
  EXPECT_EQ(event.processes[0].directory, "/usr");
  EXPECT_GT(event.processes[0].pid, 1);
  EXPECT_EQ(told.all.back().kind, Event::Kind::Ended);
  EXPECT_THAT(told.outcome.denied, ElementsAre(DeniedPath{.path = dir / "secret",
                                                          .operation = Operation::Read,
                                                          .rule = event.rule,
                                                          .by = "/usr/bin/cat"}));
}

// However many names that are nowhere were asked for before.
TEST(DeniedFiles, AreToldAfterTensOfThousandsOfNames) {
  const TempDir dir;
  dir.file("secret", "x");
  const Told told = tell(sandboxed(
      {"perl", "-e", "-e \"/no/such/$_\" for 1..41000; open(F, '" + dir / "secret" + "')"}));
  EXPECT_THAT(told.files, ElementsAre(is_denied("read", dir / "secret")));
}

// A command that asks for ever longer names fills no memory, and is heard all the same.
TEST(DeniedFiles, AreToldAfterManyLongNames) {
  const TempDir dir;
  dir.file("secret", "x");
  const Told told = tell(sandboxed({"perl", "-e",
                                    "$_ = 'x/' x 1900; open(F, \">/etc/$_$i\") while $i++ < 9000;"
                                    "open(F, '" +
                                        dir / "secret" + "')"}));
  EXPECT_EQ(told.files.size(), 9001U);
  EXPECT_EQ(told.files.back().subject, dir / "secret");
  std::size_t bytes = 0;
  for (const DeniedPath& denied : told.outcome.denied) bytes += denied.path.size();
  EXPECT_LT(bytes, std::size_t{17} << 20U);
  EXPECT_EQ(told.outcome.denied.size() + told.outcome.more_denied, 9001U);
  EXPECT_GT(told.outcome.more_denied, 0U);
}

TEST(DeniedFiles, AreToldForEachThingThatIsDoneToThem) {
  const TempDir dir;
  dir.file("input", "x");
  const Told told = tell(shell("cat input; echo y >input; cat input; echo z >input; true")
                             .input(dir / "input")
                             .directory(dir.path()));
  EXPECT_THAT(told.files, ElementsAre(is_denied("write", dir / "input")));
}

// Directories above what is declared are there, also in the private /tmp.
TEST(DeniedFiles, AreNotThoseThatLeadToDeclaredOnes) {
  const TempDir dir;
  dir.directory("a/b");
  const Told told =
      tell(shell("ls -d '" + dir / "a" + "' / /tmp; cat /proc/self/stat /no/such/file")
               .output(dir / "a/b/out"));
  EXPECT_THAT(told.files, IsEmpty());
}

// What the command has made itself, where the host has something of that name, too; and a file that
// is there already for one who would make it and only reads it.
TEST(DeniedFiles, AreNotWhatTheCommandGets) {
  const TempDir dir;  // in /tmp, of which the sandbox has one of its own
  dir.file("same", "x");
  const std::string path = dir / "same";
  const Told told = tell(shell("mkdir -p '" + dir.path() + "'; echo y >'" + path + "'; cat '" +
                               path + "'; flock /usr/bin/true true"));
  EXPECT_EQ(told.outcome.standard_output.text, "y\n");
  EXPECT_THAT(told.files, IsEmpty());
}

// mkdir -p begins at the top.
TEST(DeniedFiles, AreThoseOfAFolderThatTheCommandDidNotMake) {
  const TempDir dir;
  dir.file("secret", "x");
  const Told told =
      tell(shell("mkdir /tmp; mkdir -p /tmp/own/deep; cat '" + (dir / "secret") + "'"));
  EXPECT_THAT(told.files, ElementsAre(is_denied("read", dir / "secret")));
}

TEST(DeniedFiles, AreNotLookedForIfTheCommandMayOutliveHermetic) {
  const TempDir dir;
  dir.file("secret", "x");
  const Told told =
      tell(shell("cat '" + dir / "secret" + "'; true").process({.kill_on_parent_exit = false}));
  EXPECT_THAT(told.files, IsEmpty());
  EXPECT_THAT(told.all, Contains(AllOf(Field(&Event::kind, Event::Kind::Coverage),
                                       Field(&Event::subject, "files"), Field(&Event::act, "off"),
                                       Field(&Event::detail, HasSubstr("outlive")))));
}

TEST(ExecutedPrograms, AreToldWithTheirArguments) {
  const Told told =
      tell(sandboxed({"/usr/bin/env", "NAME=x", "/usr/bin/echo", "one", "two words"}));
  Words seen;
  for (const Event& event : told.all) {
    if (event.act != "execute") continue;
    seen.push_back(event.subject);
    for (const std::string& word : event.arguments) seen.push_back(word);
  }
  EXPECT_THAT(seen, ElementsAre("/usr/bin/env", "/usr/bin/env", "NAME=x", "/usr/bin/echo", "one",
                                "two words", "/usr/bin/echo", "/usr/bin/echo", "one", "two words"));
}

TEST(ExecutedPrograms, HaveAsManyArgumentsAsAnybodyReads) {
  const Told told =
      tell(sandboxed({"/usr/bin/env", "true", "few", std::string(5000, 'x'), "more"}));
  const auto begins = [&](std::size_t words) {
    return Contains(
        AllOf(Field(&Event::act, "execute"), Field(&Event::arguments, ::testing::SizeIs(words))));
  };
  EXPECT_THAT(told.all, begins(4)) << "env true few …";
  for (const Event& event : told.all)
    if (event.act == "execute") {
      EXPECT_EQ(event.arguments.back(), "…");
    }
}

// By a descriptor: of a file, and of one that has no name.
TEST(ExecutedPrograms, AreToldIfTheyAreDescriptors) {
  const char* script = R"(
import os, sys
if sys.argv[1] == "file":
    os.execve(os.open("/usr/bin/true", os.O_RDONLY), ["true"], {})
memory = os.memfd_create("program")
os.write(memory, open("/usr/bin/true", "rb").read())
os.execve(memory, ["true"], {}))";
  for (const auto& [what, subject] :
       {std::pair{"file", "/usr/bin/true"}, {"memory", "/memfd:program (deleted)"}}) {
    const Told told = tell(sandboxed({"python3", "-c", script, what}));
    EXPECT_TRUE(told.outcome.success()) << told.outcome.standard_error.text;
    EXPECT_THAT(told.all,
                Contains(AllOf(Field(&Event::act, "execute"), Field(&Event::subject, subject),
                               Field(&Event::arguments, ElementsAre("true")))));
  }
}

// Nobody but root may look into one that may be executed and not read: that is said.
TEST(ExecutedPrograms, ThatMayNotBeReadAreSaidToBeHidden) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const std::string program = misbehave("unreadable");  // /usr/bin/env, mode 0711
  struct stat status = {};
  ASSERT_EQ(::stat(program.c_str(), &status), 0);
  if (status.st_uid == ::geteuid()) GTEST_SKIP() << "its owner may look into it";
  const Told told = tell(sandboxed({program, "/usr/bin/true"}));
  EXPECT_TRUE(told.outcome.success()) << told.outcome.standard_error.text;
  EXPECT_THAT(told.all, Contains(AllOf(Field(&Event::act, "execute"),
                                       Field(&Event::subject, "a hidden path"))));
  EXPECT_THAT(told.files, ElementsAre(AllOf(Field(&Event::subject, "a hidden path"),
                                            Field(&Event::verdict, Verdict::None))));
}

}  // namespace
}  // namespace hermetic
