#include "hermetic/backends/linux/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <utility>

#include "hermetic/backends/linux/launch.h"
#include "hermetic/backends/linux/stream_kind.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::array<const char*, 3> kStreamNames = {"input", "output", "error"};

// Where the caller has closed a standard stream, its number goes to whatever is opened next: an
// input that was looked up, or our own socket. Those are closed by execve(), as a stream is that
// the caller does not mean to pass on.
bool is_for_programs(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

int access_of(const StreamKind& stream) {
  if (stream.readable && stream.writable) return O_RDWR;
  return stream.writable ? O_WRONLY : O_RDONLY;
}

}  // namespace

Result<StandardStreams> StandardStreams::make(std::array<int, 3> wanted, bool interactive,
                                              std::uint64_t largest_file, bool captured) {
  StandardStreams streams;
  streams.largest_file_ = largest_file;
  for (int place = 0; place < 3; ++place)
    if (wanted[static_cast<std::size_t>(place)] == place && !is_for_programs(place))
      wanted[static_cast<std::size_t>(place)] = -1;
  if (interactive) {
    Terminal own{.relay = std::make_unique<TerminalRelay>(
                     TerminalRelay::Caller{.input = wanted[0], .output = wanted[1]}),
                 .first = {}};
    own.first = own.relay->first(7);
    streams.terminals_.push_back(std::move(own));
    return streams;
  }
  for (std::size_t place = 0; place < wanted.size(); ++place) {
    if (captured && place != 0)
      TRY(streams.give(place, wanted[place]));
    else
      TRY(streams.add(place, wanted[place], wanted));
  }
  streams.add_terminals(wanted);
  return streams;
}

Result<void> StandardStreams::add(std::size_t place, int descriptor,
                                  const std::array<int, 3>& wanted) {
  const StreamKind stream = TRY(stream_kind(descriptor, kStreamNames[place]));
  switch (stream.kind) {
    case StreamKind::Kind::Nothing: give_device(place, "/dev/null", access_of(stream)); break;
    case StreamKind::Kind::Device: give_device(place, stream.device, access_of(stream)); break;
    case StreamKind::Kind::Terminal: terminal_objects_[place] = stream.object; break;
    case StreamKind::Kind::Bytes:
      // In the other direction it fails with EBADF, as it does without a relay.
      if (place == 0 ? stream.readable : stream.writable)
        TRY(add_bytes(place, descriptor, wanted));
      else
        give_device(place, "/dev/null", place == 0 ? O_WRONLY : O_RDONLY);
      break;
  }
  return {};
}

Result<void> StandardStreams::add_bytes(std::size_t place, int descriptor,
                                        const std::array<int, 3>& wanted) {
  if (place == 0) {
    input_ = TRY(InputRelay::make(descriptor));
    return give(0, input_->reader());
  }
  const off_t offset = ::lseek(descriptor, 0, SEEK_CUR);
  if (input_ && offset >= 0 && is_same_open_file(wanted[0], descriptor))
    return unsupported(fmt::format("standard input and {} are the same open file, with one offset",
                                   kStreamNames[place]),
                       "open the file twice, once to read and once to write");
  if (place == 2 && outputs_[0] && is_same_stream(wanted[1], descriptor))
    return give(2, outputs_[0]->writer());
  outputs_[place - 1] =
      TRY(OutputRelay::make(descriptor, {.keep = 0, .largest_file = largest_file_}));
  return give(place, outputs_[place - 1]->writer());
}

Result<void> StandardStreams::give(std::size_t place, int descriptor) {
  owned_[place] = TRY(raise(descriptor));
  numbers_[place] = owned_[place].get();
  return {};
}

void StandardStreams::give_device(std::size_t place, const char* path, int flags) {
  devices_[place] = {.path = path, .flags = flags};
}

// One for all streams that are the same terminal.
void StandardStreams::add_terminals(const std::array<int, 3>& wanted) {
  for (std::size_t place = 0; place < terminal_objects_.size(); ++place) {
    if (!terminal_objects_[place]) continue;
    const std::uint64_t object = *terminal_objects_[place];
    TerminalRelay::Caller caller{.mirrored = true};
    unsigned places = 0;
    for (std::size_t other = place; other < terminal_objects_.size(); ++other) {
      if (terminal_objects_[other] != object) continue;
      terminal_objects_[other].reset();
      places |= 1U << other;
      const int access = ::fcntl(wanted[other], F_GETFL) & O_ACCMODE;
      if (other == 0 && access != O_WRONLY) caller.input = wanted[other];
      if ((caller.output < 0 || other == 1) && access != O_RDONLY) caller.output = wanted[other];
    }
    caller.shared = (places & 2U) == 0;
    Terminal own{.relay = std::make_unique<TerminalRelay>(caller), .first = {}};
    own.first = own.relay->first(places);
    terminals_.push_back(std::move(own));
  }
}

void StandardStreams::describe(Facts& facts) const {
  facts.standard = numbers_;
  facts.standard_devices = devices_;
  facts.terminals.clear();
  for (const Terminal& terminal : terminals_) facts.terminals.push_back(terminal.first);
}

void StandardStreams::passed_on() {
  for (UniqueFd& one : owned_) one.reset();
  for (const auto& output : outputs_)
    if (output) output->close_writer();
}

bool StandardStreams::take_terminal(UniqueFd controller) {
  for (const Terminal& terminal : terminals_) {
    if (terminal.relay->has_taken()) continue;
    terminal.relay->take(std::move(controller));
    return true;
  }
  return false;
}

bool StandardStreams::has_terminals() const {
  for (const Terminal& terminal : terminals_)
    if (!terminal.relay->has_taken()) return false;
  return true;
}

Result<void> StandardStreams::start() {
  if (input_) TRY(input_->start());
  for (const auto& output : outputs_)
    if (output) TRY(output->start());
  for (const Terminal& terminal : terminals_) TRY(terminal.relay->start());
  return {};
}

void StandardStreams::hurry() {
  for (const auto& output : outputs_)
    if (output) output->hurry();
  for (const Terminal& terminal : terminals_) terminal.relay->hurry();
}

void StandardStreams::note_signal() {
  for (const Terminal& terminal : terminals_) terminal.relay->note_signal();
}

std::uint64_t StandardStreams::written_to_files() const {
  std::uint64_t bytes = 0;
  for (const auto& output : outputs_)
    if (output) bytes += output->written_to_file();
  return bytes;
}

Result<StandardStreams::Delivery> StandardStreams::finish(std::optional<Clock::time_point> until) {
  for (const auto& output : outputs_)
    if (output) output->end();
  for (const Terminal& terminal : terminals_) terminal.relay->end();
  const int unread = input_ ? input_->finish() : 0;
  Delivery delivery = Delivery::Whole;
  Result<void> failed;
  if (unread != 0) failed = system_error("cannot read standard input", unread);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i]) continue;
    const OutputRelay::Carried carried = outputs_[i]->finish(until);
    if (carried.os_error == EFBIG && largest_file_ != UINT64_MAX)
      delivery = Delivery::TooLarge;
    else if (carried.os_error != 0)
      failed = system_error(fmt::format("cannot write standard {}", kStreamNames[i + 1]),
                            carried.os_error, "what the command wrote is not whole");
    if (!carried.whole && delivery == Delivery::Whole) delivery = Delivery::Unread;
  }
  for (const Terminal& terminal : terminals_)
    if (!terminal.relay->finish(until) && delivery == Delivery::Whole) delivery = Delivery::Unread;
  TRY(failed);
  return delivery;
}

}  // namespace hermetic::linux_backend
