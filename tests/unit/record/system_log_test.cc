#include "hermetic/record/system_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/unit/record/redaction_sample.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Event denied_connect() {
  return {.kind = Event::Kind::Network,
          .act = "connect",
          .subject = "192.0.2.1:443",
          .detail = "line\nbreak correct-horse",
          .verdict = Verdict::Deny,
          .processes = {{.pid = 12, .executable = "/usr/bin/curl", .arguments = {"curl", "x"}}}};
}

// Somebody who listens as the system's log does.
class Listener {
 public:
  explicit Listener(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path, path.c_str(), path.size());
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      throw std::runtime_error("bind failed");
  }
  std::string receive() {
    std::array<char, 65536> buffer = {};
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    return size < 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  UniqueFd socket_;
};

SystemLog::Places places_in(const TempDir& folder) {
  return {.journal = folder / "journal",
          .syslog = folder / "log",
          .patience = std::chrono::milliseconds(1)};
}

TEST(SystemLog, SendsALineToSyslog) {
  const TempDir folder;
  Listener listener(folder / "log");
  Result<SystemLog> log = SystemLog::make(sample_redaction(), places_in(folder));
  ASSERT_TRUE(log);
  log->record({.kind = Event::Kind::Started});
  log->record(denied_connect());
  EXPECT_THAT(
      listener.receive(),
      ContainsRegex("^<14>[A-Z][a-z][a-z] [ 0-9][0-9] [0-9:]{8} hermetic\\[[0-9]+\\]: started$"));
  EXPECT_THAT(listener.receive(),
              ContainsRegex("^<12>.*: network denied connect 192.0.2.1:443: line\\\\nbreak "
                            "\\[redacted:A_TOKEN\\], by /usr/bin/curl$"));
  EXPECT_TRUE(log->close());
}

TEST(SystemLog, SendsFieldsToTheJournalWhereThereIsOne) {
  const TempDir folder;
  Listener syslog(folder / "log");
  Listener journal(folder / "journal");
  Result<SystemLog> log = SystemLog::make(sample_redaction(), places_in(folder));
  log->record(denied_connect());
  const std::string message = journal.receive();
  EXPECT_EQ(syslog.receive(), "");
  for (const char* field :
       {"MESSAGE=network denied connect", "\nPRIORITY=4\n", "\nSYSLOG_IDENTIFIER=hermetic\n",
        "\nHERMETIC_KIND=network\n", "\nHERMETIC_ACT=connect\n", "\nHERMETIC_VERDICT=deny\n",
        "\nHERMETIC_SUBJECT=192.0.2.1:443\n", "\nHERMETIC_EXECUTABLE=/usr/bin/curl\n",
        "\nHERMETIC_ARGUMENTS=curl x\n", "\nHERMETIC_DETAIL=line\\nbreak [redacted:A_TOKEN]\n"})
    EXPECT_THAT(message, HasSubstr(field));
  EXPECT_THAT(message, Not(HasSubstr("correct-horse")));
  EXPECT_TRUE(log->close());
}

TEST(SystemLog, MustBeThere) {
  const TempDir folder;
  const Result<SystemLog> log = SystemLog::make(sample_redaction(), places_in(folder));
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr(folder / "log"));
}

TEST(SystemLog, CountsWhatAFullLogDoesNotTake) {
  const TempDir folder;
  Listener listener(folder / "log");
  Result<SystemLog> log = SystemLog::make(sample_redaction(), places_in(folder));
  constexpr int kEvents = 5000;
  for (int i = 0; i < kEvents; ++i) log->record(denied_connect());
  int received = 0;
  while (!listener.receive().empty()) ++received;
  EXPECT_GT(received, 0);
  const Result<void> closed = log->close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message,
              HasSubstr(": " + std::to_string(kEvents - received) + " of 5000 are lost"));
}

TEST(SystemLog, GoesOnWhenTheServiceIsStartedAnew) {
  const TempDir folder;
  auto listener = std::make_unique<Listener>(folder / "journal");
  Result<SystemLog> log = SystemLog::make(sample_redaction(), places_in(folder));
  listener.reset();
  log->record(denied_connect());  // lost
  // This time another service, which wants another form.
  Listener other(folder / "log");
  log->record(denied_connect());
  EXPECT_THAT(other.receive(), HasSubstr("<12>"));
  EXPECT_EQ(other.receive(), "");
  const Result<void> closed = log->close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message, HasSubstr(": 1 of 2 are lost"));
}

TEST(SystemLog, LosesNothingToAServiceThatWasStartedAnewBetweenTwoEvents) {
  const TempDir folder;
  auto listener = std::make_unique<Listener>(folder / "log");
  Result<SystemLog> log = SystemLog::make(sample_redaction(), places_in(folder));
  log->record(denied_connect());
  listener.reset();
  ASSERT_TRUE(std::filesystem::remove(folder / "log"));
  listener = std::make_unique<Listener>(folder / "log");
  log->record(denied_connect());
  EXPECT_THAT(listener->receive(), HasSubstr("<12>"));
  EXPECT_TRUE(log->close());
}

TEST(SyslogMessage, IsCutAtAWholeCharacter) {
  Event event = denied_connect();
  event.subject.clear();
  for (int i = 0; i < 3000; ++i) event.subject += "\xc3\xa9";
  const std::string message = syslog_message(event, sample_redaction(), {}, 1);
  EXPECT_LT(message.size(), 2100U);
  EXPECT_TRUE(message.ends_with("\xc3\xa9..."));
}

}  // namespace
}  // namespace hermetic
