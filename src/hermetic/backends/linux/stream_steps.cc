#include "hermetic/backends/linux/stream_steps.h"

#include <string>

namespace hermetic::linux_backend {

void add_opening_of_streams(LoweredScript& script, const Facts& facts) {
  for (const OwnTerminal& terminal : facts.terminals) {
    std::string modes;
    if (terminal.modes)
      modes.assign(reinterpret_cast<const char*>(&*terminal.modes), sizeof *terminal.modes);
    const auto size = static_cast<std::uint32_t>(modes.size());
    script.steps.push_back(
        {.kind = Step::Kind::OpenTerminal,
         .text = script.keep(std::move(modes)),
         .text_size = size,
         .number = terminal.places,
         .second = std::uint64_t{terminal.size.rows} << 16U | terminal.size.columns});
  }
  for (std::size_t place = 0; place < facts.standard_devices.size(); ++place) {
    const InsideDevice& device = facts.standard_devices[place];
    if (device.path == nullptr) continue;
    script.steps.push_back({.kind = Step::Kind::OpenDevice,
                            .target = device.path,
                            .number = place,
                            .flags = static_cast<unsigned long>(device.flags)});
  }
}

void add_placing_of_streams(LoweredScript& script, const Facts& facts) {
  for (std::size_t place = 0; place < facts.standard.size(); ++place) {
    const int descriptor = facts.standard[place];
    if (descriptor < 0)
      script.steps.push_back({.kind = Step::Kind::PlaceOpened, .number = place});
    else
      script.steps.push_back({.kind = Step::Kind::MoveDescriptor,
                              .number = static_cast<std::uint64_t>(descriptor),
                              .second = place});
  }
}

}  // namespace hermetic::linux_backend
