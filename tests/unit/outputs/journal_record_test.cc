#include "hermetic/outputs/journal_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/places/private_folder.h"
#include "tests/unit/spec/property.h"

namespace hermetic {
namespace {

using Kind = JournalRecord::Kind;

const JournalRecord kHeader{.kind = Kind::Header, .identity = {1, 2, 3}};
const JournalRecord kRoot{.kind = Kind::Directory, .name = "/w/out", .identity = {4, 5, 0}};

// Every kind of record, with names that need care.
std::vector<JournalRecord> every_kind() {
  const std::string odd = "a\nb \xff\x01";
  const std::string aside = ".hermetic-0123456789abcdef";
  return {
      kHeader,
      {.kind = Kind::Folder, .name = "/var/tmp/" + private_folder_prefix() + "abcdef"},
      kRoot,
      {.kind = Kind::Directory, .directory = 0, .name = odd},
      {.kind = Kind::Temporary, .directory = 1, .name = aside},
      {.kind = Kind::MakeDirectory, .directory = 1, .name = "d"},
      {.kind = Kind::Made, .directory = 1, .name = "d", .identity = {7, 8, 9}},
      {.kind = Kind::SetAside, .directory = 1, .name = odd, .other_name = aside},
      {.kind = Kind::MoveIn, .directory = 1, .name = odd, .other = 0, .other_name = "-rf"},
      {.kind = Kind::Exchange, .directory = 0, .name = "x", .other = 1, .other_name = "y"},
      {.kind = Kind::Note, .name = "text\nof any kind"},
      {.kind = Kind::TakenBack},
      {.kind = Kind::Committed},
  };
}

std::string text_of(const std::vector<JournalRecord>& records) {
  std::string text;
  for (const JournalRecord& record : records) text += encode(record);
  return text;
}

TEST(JournalRecord, IsReadAsItWasWritten) {
  const std::string text = text_of(every_kind());
  const Result<ParsedJournal> parsed = parse_journal(text);
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(parsed->records, every_kind());
  EXPECT_EQ(parsed->size, text.size());
}

TEST(JournalRecord, ThatIsCutOffWasNotWritten) {
  const std::vector<JournalRecord> records = every_kind();
  const std::string text = text_of(records);
  std::size_t whole = 0;  // records
  std::size_t end = 0;    // of the last one that is whole
  for (std::size_t size = 0; size < text.size(); ++size) {
    if (size == end + encode(records[whole]).size()) end += encode(records[whole++]).size();
    const Result<ParsedJournal> parsed = parse_journal(std::string_view(text).substr(0, size));
    ASSERT_EQ(parsed.has_value(), whole > 0) << size;
    if (!parsed) continue;
    EXPECT_EQ(parsed->records.size(), whole) << size;
    EXPECT_EQ(parsed->size, end);
  }
}

TEST(JournalRecord, ThatIsGarbledIsRefused) {
  const std::string text = text_of(every_kind());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string garbled = text;
      garbled[i] = static_cast<char>(garbled[i] ^ (1 << bit));
      EXPECT_FALSE(parse_journal(garbled)) << i;
    }
  }
}

TEST(JournalRecord, ThatMakesNoSenseIsRefused) {
  const std::string aside = ".hermetic-0";
  const auto refused = [](const JournalRecord& record) {
    return !parse_journal(text_of({kHeader, kRoot, record}));
  };
  for (const std::string& name :
       {std::string(""), std::string("."), std::string(".."), std::string("a/b"), std::string("/"),
        std::string("a\0b", 3), std::string(256, 'x')}) {
    EXPECT_TRUE(refused({.kind = Kind::Directory, .directory = 0, .name = name})) << name;
    EXPECT_TRUE(refused({.kind = Kind::MakeDirectory, .directory = 0, .name = name}));
    EXPECT_TRUE(refused({.kind = Kind::Made, .directory = 0, .name = name}));
    EXPECT_TRUE(
        refused({.kind = Kind::SetAside, .directory = 0, .name = name, .other_name = aside}));
    EXPECT_TRUE(refused(
        {.kind = Kind::MoveIn, .directory = 0, .name = name, .other = 0, .other_name = "a"}));
    EXPECT_TRUE(refused(
        {.kind = Kind::Exchange, .directory = 0, .name = "a", .other = 0, .other_name = name}));
  }
  for (const char* path : {"", "w", "/w/", "/w/..", "/w//x", "/w/./x"})
    EXPECT_TRUE(refused({.kind = Kind::Directory, .name = path})) << path;
  // What is not there yet.
  EXPECT_TRUE(refused({.kind = Kind::Directory, .directory = 1, .name = "a"}));
  EXPECT_TRUE(refused({.kind = Kind::MakeDirectory, .directory = 1, .name = "a"}));
  EXPECT_TRUE(
      refused({.kind = Kind::MoveIn, .directory = 0, .name = "a", .other = 1, .other_name = "a"}));
  // What has a name of its own is not removed.
  EXPECT_TRUE(refused({.kind = Kind::Temporary, .directory = 0, .name = "precious"}));
  EXPECT_TRUE(
      refused({.kind = Kind::SetAside, .directory = 0, .name = "a", .other_name = "precious"}));
  EXPECT_TRUE(refused({.kind = Kind::Folder, .name = "/home/user"}));
  EXPECT_TRUE(refused(kHeader));
  EXPECT_FALSE(refused({.kind = Kind::MakeDirectory, .directory = 0, .name = "a"}));
  EXPECT_FALSE(parse_journal(text_of({kRoot})));
  EXPECT_FALSE(parse_journal(""));
}

TEST(JournalRecordProperty, NoBytesMakeTheParserCrash) {
  check_property(2000, [] {
    std::string bytes;
    for (const std::uint32_t number : draw_numbers(200, 256)) bytes += static_cast<char>(number);
    (void)parse_journal(bytes);
    (void)parse_journal(encode(kHeader) + bytes);
    const Result<ParsedJournal> parsed =
        parse_journal(encode(kHeader) + encode({.kind = Kind::Note, .name = bytes}));
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(parsed->records.back().name == bytes);
  });
}

}  // namespace
}  // namespace hermetic
