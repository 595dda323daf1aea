#include "hermetic/backends/linux/landlock_rules.h"

#include "hermetic/backends/linux/kernel.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::uint64_t kReading = kLandlockExecute | kLandlockReadFile | kLandlockReadDirectory;

std::uint64_t handled_by(int abi) {
  std::uint64_t rights = kLandlockAbi1;
  if (abi >= 2) rights |= kLandlockRefer;
  if (abi >= 3) rights |= kLandlockTruncate;
  if (abi >= 5) rights |= kLandlockDeviceControl;
  return rights;
}

// Rights that mean something for a file; the kernel refuses others on one.
constexpr std::uint64_t kForFiles = kLandlockExecute | kLandlockReadFile | kLandlockWriteFile |
                                    kLandlockTruncate | kLandlockDeviceControl;

class Rules {
 public:
  Rules(const Plan& plan, int abi) : plan_(plan), handled_(handled_by(abi)), abi_(abi) {}

  std::vector<LandlockRule> make() {
    const std::uint64_t scope = abi_ >= 6 ? kLandlockScopeAbstractSocket | kLandlockScopeSignal : 0;
    rules_.push_back({.kind = LandlockRule::Kind::Begin, .rights = handled_, .scope = scope});
    const std::uint64_t writing =
        handled_ & ~(kReading | kLandlockMakeCharacterDevice | kLandlockMakeBlockDevice);
    if (plan_.strict_outputs)
      readable_one_by_one();
    else
      allow("/", FileType::Directory, kReading);
    for (const ViewEntry& entry : plan_.view) {
      const bool output =
          entry.kind == ViewEntry::Kind::Output || entry.kind == ViewEntry::Kind::OutputInPlace;
      if (output) allow(entry.path, entry.type, writing);
      if (entry.kind == ViewEntry::Kind::Temp) allow(entry.path, entry.type, writing | kReading);
    }
    // The devices, terminals and shared memory of the sandbox's own, and nothing else, are in
    // there.
    allow(kDevices, FileType::Directory, writing | kReading);
    rules_.push_back({.kind = LandlockRule::Kind::Enforce});
    return std::move(rules_);
  }

 private:
  void allow(std::string_view path, FileType type, std::uint64_t rights) {
    rights &= handled_;
    if (type == FileType::File) rights &= kForFiles;
    rules_.push_back(
        {.kind = LandlockRule::Kind::Path, .path = std::string(path), .rights = rights});
  }

  // With the whole root readable an output would be too, so each tree gets its own rule;
  // directories that only lead to them are still found, because looking a name up needs no right.
  void readable_one_by_one() {
    for (const ViewEntry& entry : plan_.view) {
      using Kind = ViewEntry::Kind;
      const bool output = entry.kind == Kind::Output || entry.kind == Kind::OutputInPlace;
      // A listing that stands for a directory of the host is part of an input.
      const bool input =
          entry.kind == Kind::Input || (entry.kind == Kind::Listing && !entry.source.empty());
      const bool shown = input || entry.kind == Kind::File || entry.kind == Kind::Processes ||
                         entry.kind == Kind::Devices;
      if (shown || (output && !plan_.strict_outputs)) allow(entry.path, entry.type, kReading);
    }
  }

  const Plan& plan_;
  std::uint64_t handled_;
  int abi_;
  std::vector<LandlockRule> rules_;
};

}  // namespace

std::vector<LandlockRule> landlock_rules(const Plan& plan, int abi) {
  if (abi == 0 || plan.allow_nested_namespaces) return {};
  return Rules(plan, abi).make();
}

}  // namespace hermetic::linux_backend
