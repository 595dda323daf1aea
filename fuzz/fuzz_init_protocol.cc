// Feeds arbitrary messages to both ends of init's socket: what is accepted can be acted upon.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <variant>

#include "hermetic/backends/linux/init_protocol.h"
#include "hermetic/backends/linux/init_report.h"
#include "hermetic/base/check.h"
#include "hermetic/base/text.h"

namespace {

using hermetic::linux_backend::InitConfig;
using hermetic::linux_backend::InitReport;
using hermetic::linux_backend::InitSignal;
using Bytes = std::span<const std::uint8_t>;

// As recvfrom() leaves a message in a variable that is smaller, or larger.
template <class Message>
Message received(Bytes bytes) {
  Message message;
  std::memcpy(&message, bytes.data(), std::min(bytes.size(), sizeof message));
  return message;
}

// What init reads of an accepted config lies inside, and the directory ends there.
void check_config(Bytes bytes) {
  // Exactly as large as the message: the sanitizer sees a read behind it.
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  if (!hermetic::linux_backend::is_whole_config(copy.get(), bytes.size())) return;
  const auto config = received<InitConfig>(bytes);
  CHECK(config.filter_count <= UINT16_MAX && config.observer_count <= UINT16_MAX);
  const std::uint64_t observer = observer_begin(config);
  const std::uint64_t directory = directory_begin(config);
  CHECK(observer == sizeof config + std::uint64_t{8} * config.filter_count);
  CHECK(directory == observer + std::uint64_t{8} * config.observer_count);
  CHECK(directory < bytes.size());
  CHECK(std::strlen(copy.get() + directory) < config.directory_size);
}

void check_signal(Bytes bytes) {
  const auto signal = received<InitSignal>(bytes);
  if (!is_whole_signal(signal, bytes.size())) return;
  CHECK(bytes.size() == sizeof signal);
  CHECK(signal.number >= 1 && signal.number <= 64);  // 0 or less means something else to kill(2)
}

void check_report(Bytes bytes, bool has_descriptor) {
  const auto report = received<InitReport>(bytes);
  if (!is_whole_report(report, bytes.size(), has_descriptor)) return;
  using Kind = InitReport::Kind;
  const hermetic::Usage usage = usage_of(report);
  CHECK(usage.user_time.count() >= 0 && usage.system_time.count() >= 0);
  CHECK(usage.peak_memory_bytes / 1024 == report.peak_kilobytes);
  if (report.kind == Kind::StepFailed) {
    const hermetic::Error error = step_failed({}, report);
    CHECK(!error.message.empty() && hermetic::printable(error.message) == error.message);
  }
  if (report.kind == Kind::NotStarted)
    CHECK(std::get<hermetic::NotStarted>(ending_of(report)).os_error > 0);
  if (report.kind != Kind::Ended) return;
  const hermetic::Ending ending = ending_of(report);
  if (const auto* exited = std::get_if<hermetic::Exited>(&ending))
    CHECK(exited->code >= 0 && exited->code <= 255);
  else
    CHECK(std::get<hermetic::Signaled>(ending).signal >= 1);
}

}  // namespace

// The first byte says to whom: 'c'onfig and 's'ignal to init, 'r'eport to hermetic, and 'd' a
// report with a descriptor.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes rest(data + 1, size - 1);
  switch (data[0]) {
    case 'c': check_config(rest); break;
    case 's': check_signal(rest); break;
    case 'r': check_report(rest, false); break;
    case 'd': check_report(rest, true); break;
    default: break;
  }
  return 0;
}
