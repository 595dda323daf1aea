#include "hermetic/record/events_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/unit/record/redaction_sample.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Event event(std::string subject, Verdict verdict = Verdict::Allow) {
  return {
      .kind = Event::Kind::File, .act = "read", .subject = std::move(subject), .verdict = verdict};
}

// Every line is whole, or this fails.
std::vector<json> lines_of(const std::string& path) {
  std::vector<json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    EXPECT_FALSE(file.eof()) << "half a line: " << line;
    lines.push_back(json::parse(line));
  }
  return lines;
}

// No file of this process grows beyond that meanwhile, as if the disk were full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    old_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_);
  }

 private:
  rlimit before_ = {};
  void (*old_)(int) = nullptr;
};

OwnPlace place(const std::string& path) { return OwnPlace::find(path).value(); }

TEST(EventsFile, NumbersTheLinesAndRedactsThem) {
  const TempDir folder;
  Result<EventsFile> file = EventsFile::make(place(folder / "events"), sample_redaction());
  ASSERT_TRUE(file);
  file->record({.kind = Event::Kind::Started});
  file->record(event("correct-horse"));
  ASSERT_TRUE(file->close());
  const std::vector<json> lines = lines_of(folder / "events");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["version"], 1);
  EXPECT_EQ(lines[0]["seq"], 1);
  EXPECT_EQ(lines[1]["seq"], 2);
  EXPECT_EQ(lines[1]["subject"], "[redacted:A_TOKEN]");
}

TEST(EventsFile, IsForItsOwnerAndStartsEmpty) {
  const TempDir folder;
  folder.file("old", "something");
  for (const char* name : {"new", "old"})
    ASSERT_TRUE(EventsFile::make(place(folder / name), sample_redaction())->close());
  struct stat status = {};
  ASSERT_EQ(::stat((folder / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat((folder / "old").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 0);
}

TEST(EventsFile, ShowsADenialAtOnce) {
  const TempDir folder;
  Result<EventsFile> file = EventsFile::make(place(folder / "events"), sample_redaction());
  file->record(event("/a"));
  EXPECT_EQ(lines_of(folder / "events").size(), 0U);
  file->record(event("/b", Verdict::Deny));
  EXPECT_EQ(lines_of(folder / "events").size(), 2U);
  Event later = event("/c");
  later.since_start = std::chrono::seconds(1);
  file->record(later);
  EXPECT_EQ(lines_of(folder / "events").size(), 3U);
  ASSERT_TRUE(file->close());
}

TEST(EventsFile, OnAFullDiskKeepsWholeLinesAndCountsTheRest) {
  const TempDir folder;
  Result<EventsFile> file = EventsFile::make(place(folder / "events"), sample_redaction(), 2000);
  const FullDisk full(1000);
  for (int i = 0; i < 50; ++i) file->record(event("/" + std::to_string(i)));
  const Result<void> closed = file->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().os_error, EFBIG);
  const std::size_t written = lines_of(folder / "events").size();
  EXPECT_GT(written, 0U);
  EXPECT_THAT(closed.error().message,
              HasSubstr("events': " + std::to_string(50 - written) + " of 50 are lost"));
}

TEST(EventsFile, TellsWhatWasLostWhenTheDiskHasRoomAgain) {
  const TempDir folder;
  Result<EventsFile> file = EventsFile::make(place(folder / "events"), sample_redaction(), 2000);
  {
    const FullDisk full(1000);
    for (int i = 0; i < 50; ++i) file->record(event("/" + std::to_string(i)));
  }
  for (int i = 50; i < 60; ++i) file->record(event("/" + std::to_string(i)));
  const Result<void> closed = file->close();
  ASSERT_FALSE(closed);
  std::uint64_t next = 1;
  std::uint64_t lost = 0;
  for (const json& line : lines_of(folder / "events")) {
    EXPECT_EQ(line["seq"], next);
    if (line["kind"] == "lost") {
      lost += line["amount"].get<std::uint64_t>();
      next += line["amount"].get<std::uint64_t>();
    } else {
      EXPECT_EQ(line["subject"], "/" + std::to_string(next - 1));
      ++next;
    }
  }
  EXPECT_EQ(next, 61U);
  EXPECT_GT(lost, 0U);
  EXPECT_THAT(closed.error().message, HasSubstr(": " + std::to_string(lost) + " of 60 are lost"));
}

TEST(EventsFile, IsNotHeldUpByAPipeThatNobodyReads) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(EventsFile::make(place(folder / "fifo"), sample_redaction()));  // no reader
  UniqueFd reader(::open((folder / "fifo").c_str(), O_RDONLY | O_NONBLOCK));
  Result<EventsFile> file = EventsFile::make(place(folder / "fifo"), sample_redaction());
  ASSERT_TRUE(file);
  for (int i = 0; i < 2000; ++i) file->record(event("/a", Verdict::Deny));
  EXPECT_FALSE(file->close());
}

TEST(EventsFile, OutlivesItsReader) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  UniqueFd reader(::open((folder / "fifo").c_str(), O_RDONLY | O_NONBLOCK));
  Result<EventsFile> file = EventsFile::make(place(folder / "fifo"), sample_redaction());
  reader.reset();
  file->record(event("/a", Verdict::Deny));
  const Result<void> closed = file->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().os_error, EPIPE);
}

}  // namespace
}  // namespace hermetic
