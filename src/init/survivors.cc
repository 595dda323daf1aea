#include "init/survivors.h"

#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/time_types.h>
#include <linux/wait.h>

#include <cstddef>

#include "init/system_calls.h"

namespace hermetic::init {
namespace {

constexpr long kHere = -100;                     // AT_FDCWD
constexpr long kDirectory = 0200000 | 02000000;  // O_DIRECTORY | O_CLOEXEC
constexpr long kClosed = 02000000;               // O_CLOEXEC
constexpr std::size_t kPrefix = 6;               // "/proc/"
constexpr std::size_t kLongestNumber = 10;

// As getdents64(2) gives it; the name follows.
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t type;
  char name[1];
};

// Nobody left who could be waited for: of those whose parents live, the parents count.
bool all_gone() {
  constexpr int kRounds = 20;
  constexpr __kernel_timespec kMoment = {.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; i < kRounds; ++i) {
    long pid = 0;
    do pid = call(__NR_wait4, -1, 0, WNOHANG | __WALL, 0);
    while (pid > 0);
    if (pid == -ECHILD) return true;
    call(__NR_nanosleep, address(&kMoment), 0);
  }
  return false;
}

// The length of a number, or 0 if the name is none.
std::size_t number_length(const char* name) {
  std::size_t length = 0;
  while (name[length] >= '0' && name[length] <= '9') ++length;
  return name[length] == '\0' && length <= kLongestNumber ? length : 0;
}

void read_name(const char* number, std::size_t length, char (&name)[linux_backend::kLongestName]) {
  char path[kPrefix + kLongestNumber + 6] = "/proc/";
  for (std::size_t i = 0; i < length; ++i) path[kPrefix + i] = number[i];
  constexpr char kFile[] = "/comm";
  for (std::size_t i = 0; i < sizeof kFile; ++i) path[kPrefix + length + i] = kFile[i];
  const long file = call(__NR_openat, kHere, address(path), kClosed);
  if (file < 0) return;
  const long size = call(__NR_read, file, address(name), sizeof name - 1);
  call(__NR_close, file);
  for (long i = size > 0 ? size : 0; i < static_cast<long>(sizeof name); ++i) name[i] = '\0';
  for (char& letter : name)
    if (letter == '\n') letter = '\0';
}

}  // namespace

void count_survivors(linux_backend::InitReport& report) {
  if (all_gone()) return;
  const long directory = call(__NR_openat, kHere, address("/proc"), kDirectory);
  alignas(Entry) char entries[4096];
  while (directory >= 0) {
    const long size = call(__NR_getdents64, directory, address(entries), sizeof entries);
    if (size <= 0) break;
    for (long place = 0; place < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + place);
      place += entry->size;
      const std::size_t length = number_length(entry->name);
      if (length == 0 || (length == 1 && entry->name[0] == '1')) continue;
      if (report.survivors++ == 0) read_name(entry->name, length, report.survivor);
    }
  }
  if (directory >= 0) call(__NR_close, directory);
  if (report.survivors == 0) report.survivors = 1;  // seen by wait, not by the list
}

}  // namespace hermetic::init
