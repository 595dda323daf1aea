// The records of a journal, and how they are written: what publication is about to do, with enough
// to find out later whether it was done, and to take it back.
//
// A record is its length (twice), a checksum and its fields; texts carry their lengths, so that a
// name may hold any byte. A file that ends within a record ends before it: what it announces was
// not done.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/entries.h"
#include "hermetic/base/result.h"

namespace hermetic {

struct JournalRecord {
  enum class Kind : std::uint8_t {
    Header,     // `identity` is that of the journal's own folder; always the first
    Folder,     // `name` is the path of a staging folder of the run, which goes at the end
    Directory,  // a place for other records, numbered from 0: `name` is its path, or its name in
                // `directory`
    Temporary,  // `name` in `directory` goes at the end
    MakeDirectory,  // `name` is about to be made in `directory`
    Made,           // it was, and has this identity
    SetAside,       // `name` in `directory` is about to become `other_name` there
    MoveIn,         // `other_name` of `other`, of this identity, is about to become `name`
    Exchange,       // the same, and what was there before takes its place
    Committed,      // all is published: what is left over may go
    TakenBack,      // nothing is published: what is left over may go
    Note,           // `name` says something to people
  };
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  Kind kind = Kind::Note;
  std::uint32_t directory = kNowhere;
  std::string name = {};
  std::uint32_t other = kNowhere;
  std::string other_name = {};
  ObjectIdentity identity = {};

  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
};

[[nodiscard]] std::string encode(const JournalRecord& record);

struct ParsedJournal {
  std::vector<JournalRecord> records;
  std::size_t size = 0;  // in bytes; what comes after it is a record that was not finished
};

// Believes nothing: fails unless each record refers to directories before it, names are names, and
// nothing but what has a name of ours is to be removed.
[[nodiscard]] Result<ParsedJournal> parse_journal(std::string_view text);

// No journal is larger.
inline constexpr std::size_t kLargestJournal = std::size_t{1} << 30U;

}  // namespace hermetic
