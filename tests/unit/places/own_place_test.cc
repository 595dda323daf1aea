#include "hermetic/places/own_place.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "hermetic/base/file_text.h"
#include "hermetic/places/own_file.h"
#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/mount_namespace.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

class OwnPlaces : public ::testing::Test {
 protected:
  OwnPlaces() {
    dir.directory("w");
    dir.directory("low");
    dir.directory("outside");
  }

  // The command of this spec writes to w, in place.
  [[nodiscard]] SpecBuilder writing() const {
    return SpecBuilder(Words{"true"}).output(dir / "w", Publish::InPlace);
  }

  // Why the place is refused; "" if it is not.
  static std::string refusal(const SpecBuilder& builder, const std::string& path,
                             Reach::Extent extent = Reach::Extent::Itself) {
    const Result<Spec> spec = builder.build();
    if (!spec) return "no spec: " + to_string(spec.error());
    const Result<Reach> reach = Reach::of(*spec);
    const Result<OwnPlace> place = OwnPlace::find(path);
    if (!place || !reach) return "no place: " + to_string(place.error());
    const Result<void> checked = place->check_out_of_reach(*reach, "--json", extent);
    return checked ? "" : to_string(checked.error());
  }

  const TempDir dir;
};

TEST_F(OwnPlaces, AreOutOfReachBesideWhatIsDeclared) {
  EXPECT_EQ(refusal(writing(), dir / "outside/file"), "");
  EXPECT_EQ(refusal(writing(), dir / "not/there/yet"), "");
  EXPECT_EQ(refusal(writing().input(dir / "outside"), dir / "outside/file"), "");
  EXPECT_EQ(refusal(SpecBuilder(Words{"true"}).temp(dir / "w"), dir / "w/file"), "")
      << "a temp has the name only";
}

TEST_F(OwnPlaces, InsideOutputsAreRefusedByAnyName) {
  dir.link("alias", dir / "w");
  dir.link("w/out", dir / "outside");
  dir.link("file", dir / "w/file");
  for (const SpecBuilder& builder : {writing(), SpecBuilder(Words{"true"}).output(dir / "w")}) {
    EXPECT_THAT(refusal(builder, dir / "w/file"), HasSubstr("lies inside the output"));
    EXPECT_THAT(refusal(builder, dir / "w"), HasSubstr("lies inside the output"));
    EXPECT_THAT(refusal(builder, dir / "w/not/there"), HasSubstr("lies inside the output"));
    EXPECT_THAT(refusal(builder, dir / "alias/file"),
                HasSubstr("which is '" + dir / "w/file" + "', lies inside the output"));
    EXPECT_THAT(refusal(builder, dir / "file"), HasSubstr("lies inside the output"));
    EXPECT_THAT(refusal(builder, dir / "w/out/file"), HasSubstr("goes through the link"))
        << "it leads out, and the command may have made it";
  }
}

TEST_F(OwnPlaces, BehindBindMountsAreRefused) {
  dir.directory("alias");
  dir.file("other");
  dir.file("w/file");
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(dir / "w", dir / "alias") || !bind_mount(dir / "w/file", dir / "other"))
      return "cannot mount";
    for (const std::string& path : {dir / "alias/new", dir / "alias/not/there", dir / "other"})
      if (refusal(writing(), path).find("lies inside the output") == std::string::npos)
        return path + ": " + refusal(writing(), path);
    return "";
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_EQ(answer.text, "");
}

TEST_F(OwnPlaces, WhereBindMountsOfOutputsShowThemAreRefused) {
  dir.directory("w/shown");
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(dir / "outside", dir / "w/shown")) return "cannot mount";
    return refusal(writing(), dir / "outside/file");
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_THAT(answer.text, HasSubstr("as '" + dir / "w/shown/file" + "'"));
}

TEST_F(OwnPlaces, InLayersAndWhatChangesAreRefused) {
  dir.directory("changes");
  SpecBuilder builder(Words{"true"});
  builder.temp_over("/layered", {dir / "low"}, dir / "changes");
  EXPECT_THAT(refusal(builder, dir / "low/file"), HasSubstr("lies inside"));
  EXPECT_THAT(refusal(builder, dir / "changes/upper/file"), HasSubstr("lies inside"));
  EXPECT_EQ(refusal(builder, dir / "outside/file"), "");
}

TEST_F(OwnPlaces, AroundOutputsAreRefusedOnlyIfWhatLiesInThemIsReplaced) {
  EXPECT_EQ(refusal(writing(), dir.path()), "");
  EXPECT_THAT(refusal(writing(), dir.path(), Reach::Extent::WithWhatLiesInIt),
              HasSubstr("is around the output"));
}

TEST_F(OwnPlaces, InExceptionsAreOutOfReach) {
  dir.directory("w/own");
  SpecBuilder builder(Words{"true"});
  builder.declare({.kind = TreeKind::Output,
                   .path = dir / "w",
                   .exceptions = {dir / "w/own"},
                   .publish = Publish::InPlace});
  EXPECT_EQ(refusal(builder, dir / "w/own/file"), "");
}

TEST_F(OwnPlaces, FollowLinksAndReplaceNone) {
  dir.file("outside/precious", "old");
  dir.link("link", "outside/precious");
  const OwnPlace place = OwnPlace::find(dir / "link").value();
  ASSERT_TRUE(place.check_for_file());
  ASSERT_TRUE(write_own_file(place, "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(read_whole_file(dir / "outside/precious").value(), "new");
}

TEST_F(OwnPlaces, StayWhereTheyWereFound) {
  const OwnPlace place = OwnPlace::find(dir / "outside/file").value();
  std::filesystem::rename(dir / "outside", dir / "moved");
  dir.link("outside", dir / "w");
  ASSERT_TRUE(write_own_file(place, "text"));
  EXPECT_TRUE(std::filesystem::exists(dir / "moved/file"));
  EXPECT_FALSE(std::filesystem::exists(dir / "w/file"));
}

TEST_F(OwnPlaces, GoThroughNoLinkThatComesLater) {
  const OwnPlace place = OwnPlace::find(dir / "outside/file").value();
  dir.file("precious", "old");
  dir.link("outside/file", dir / "precious");
  ASSERT_TRUE(write_own_file(place, "new"));
  EXPECT_EQ(read_whole_file(dir / "precious").value(), "old");
  EXPECT_EQ(read_whole_file(dir / "outside/file").value(), "new");
}

TEST_F(OwnPlaces, KeepTheModeOfAFileAndBreakItsHardLinks) {
  dir.file("outside/file", "old");
  dir.hard_link("other", "outside/file");
  ASSERT_EQ(::chmod((dir / "other").c_str(), 0640), 0);
  ASSERT_TRUE(write_own_file(OwnPlace::find(dir / "outside/file").value(), "new"));
  EXPECT_EQ(read_whole_file(dir / "other").value(), "old");
  struct stat status = {};
  ASSERT_EQ(::stat((dir / "outside/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(OwnPlaces, AreStreamsWhereThereIsAPipeOrADevice) {
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  const UniqueFd reader(::open((dir / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const OwnPlace place = OwnPlace::find(dir / "fifo").value();
  EXPECT_EQ(place.holds(), OwnPlace::Holds::Stream);
  ASSERT_TRUE(place.check_for_file());
  ASSERT_TRUE(write_own_file(place, "text"));
  std::array<char, 16> block = {};
  EXPECT_EQ(::read(reader.get(), block.data(), block.size()), 4);
  struct stat status = {};
  ASSERT_EQ(::lstat((dir / "fifo").c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  EXPECT_TRUE(write_own_file(OwnPlace::find("/dev/null").value(), "text"));
  ASSERT_EQ(::lstat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(OwnPlaces, ThatWereStreamsAreNotWrittenAsFiles) {
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  const OwnPlace place = OwnPlace::find(dir / "fifo").value();
  std::filesystem::remove(dir / "fifo");
  dir.file("fifo", "precious");
  EXPECT_FALSE(write_own_file(place, "text"));
  EXPECT_EQ(read_whole_file(dir / "fifo").value(), "precious");
}

// As the caller hands them in: open on execution.
class HandedIn {
 public:
  explicit HandedIn(int descriptor) : descriptor_(::dup(descriptor)) {}
  [[nodiscard]] int get() const { return descriptor_.get(); }

 private:
  UniqueFd descriptor_;
};

TEST_F(OwnPlaces, AreTheCallersDescriptorsByTheirNames) {
  const UniqueFd own(::open(dir.file("outside/file").c_str(), O_WRONLY | O_CLOEXEC));
  const HandedIn file(own.get());
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const Result<OwnPlace> place = OwnPlace::find(folder + std::to_string(file.get()));
    ASSERT_TRUE(place) << to_string(place.error());
    EXPECT_EQ(place->holds(), OwnPlace::Holds::Stream);
    EXPECT_TRUE(place->check_for_file());
    EXPECT_TRUE(write_own_file(*place, "text"));
    EXPECT_FALSE(OwnPlace::find(folder + std::to_string(own.get())))
        << "what hermetic has opened for itself is not the caller's";
    EXPECT_FALSE(OwnPlace::find(std::string(folder) + "987").value().check_for_file());
  }
  EXPECT_EQ(read_whole_file(dir / "outside/file").value(), "texttext");
  const UniqueFd readable(::open((dir / "outside/file").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(OwnPlace::of_descriptor(HandedIn(readable.get()).get(), "-"));
}

TEST_F(OwnPlaces, HandedInAreJudgedAsObjects) {
  dir.file("w/file");
  dir.hard_link("outside/link", "w/file");
  const UniqueFd own(::open((dir / "outside/link").c_str(), O_WRONLY | O_CLOEXEC));
  const HandedIn file(own.get());
  EXPECT_THAT(refusal(writing(), "/dev/fd/" + std::to_string(file.get())),
              HasSubstr("lies inside the output"));
}

TEST_F(OwnPlaces, OfTheKernelAreNoPlacesForFiles) {
  for (const char* path : {"/dev/hermetic-test", "/proc/hermetic-test", "/sys/hermetic-test"}) {
    const Result<OwnPlace> place = OwnPlace::find(path);
    ASSERT_TRUE(place);
    EXPECT_FALSE(place->check_for_file()) << path;
    EXPECT_FALSE(place->check_for_folder()) << path;
  }
}

TEST_F(OwnPlaces, AreCheckedBeforeAnythingRuns) {
  dir.file("file");
  const auto error_for = [&](const std::string& path) {
    return OwnPlace::find(path).value().check_for_file();
  };
  EXPECT_EQ(error_for(dir / "not/there").error().os_error, ENOENT);
  EXPECT_EQ(error_for(dir.path()).error().os_error, EISDIR);
  EXPECT_TRUE(error_for(dir / "file"));
  EXPECT_TRUE(error_for(dir / "new"));
  EXPECT_FALSE(OwnPlace::find(dir / "file/below").has_value() &&
               error_for(dir / "file/below").has_value());
  EXPECT_EQ(OwnPlace::find(dir / "file").value().check_for_folder().error().os_error, ENOTDIR);
  dir.link("turn", "turn");
  EXPECT_FALSE(OwnPlace::find(dir / "turn"));
}

// protected_symlinks(5) of the kernel may be off, and is not asked for links that are read.
TEST_F(OwnPlaces, DoNotFollowLinksOfOthersInPublicDirectories) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  const std::string open_to_all = dir.directory("public");
  ASSERT_EQ(::chmod(open_to_all.c_str(), 01777), 0);
  dir.link("public/theirs", dir / "outside/file");
  ASSERT_EQ(::lchown((dir / "public/theirs").c_str(), 65534, 65534), 0);
  const Result<OwnPlace> place = OwnPlace::find(dir / "public/theirs");
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("another user has made the link"));
  dir.link("public/ours", dir / "outside/file");
  EXPECT_TRUE(OwnPlace::find(dir / "public/ours"));
}

TEST_F(OwnPlaces, MakeTheirParentsWithoutFollowingLinks) {
  OwnPlace place = OwnPlace::find(dir / "a/b/c").value();
  dir.link("a", dir / "outside");
  EXPECT_FALSE(place.make_parents());
  EXPECT_TRUE(std::filesystem::is_empty(dir / "outside"));
  std::filesystem::remove(dir / "a");
  place = OwnPlace::find(dir / "a/b/c").value();
  ASSERT_TRUE(place.make_parents());
  ASSERT_TRUE(write_own_file(place, "text"));
  EXPECT_TRUE(std::filesystem::exists(dir / "a/b/c"));
}

TEST_F(OwnPlaces, InAFolderDoNotFollowALink) {
  const OwnFolder folder{
      .path = dir / "outside",
      .descriptor = UniqueFd(::open((dir / "outside").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))};
  dir.link("outside/link", dir / "w/file");
  EXPECT_FALSE(OwnPlace::in_folder(folder, "link"));
  const Result<OwnPlace> place = OwnPlace::in_folder(folder, "file");
  ASSERT_TRUE(place);
  std::filesystem::rename(dir / "outside", dir / "moved");
  ASSERT_TRUE(write_own_file(*place, "text"));
  EXPECT_TRUE(std::filesystem::exists(dir / "moved/file"));
}

// A file is a mount of its own, or its directory cannot be written to.
TEST_F(OwnPlaces, ThatCannotBeReplacedAreWrittenInPlace) {
  dir.file("outside/file", "a longer text");
  dir.file("source", "a longer text");
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(dir / "source", dir / "outside/file")) return "cannot mount";
    const OwnPlace place = OwnPlace::find(dir / "outside/file").value();
    const Result<void> written = write_own_file(place, "text");
    return written ? read_whole_file(dir / "source").value() : to_string(written.error());
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_EQ(answer.text, "text");
}

}  // namespace
}  // namespace hermetic
