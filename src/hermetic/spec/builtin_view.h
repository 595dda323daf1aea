// The few paths that every sandbox has without being asked: devices, /proc, a private /tmp, and the
// files that tell programs who they are.
#pragma once

#include <array>
#include <string_view>

namespace hermetic {

// Private to every run. /dev and /proc cannot be declared; of /sys there is nothing unless it is
// declared as an input; /tmp is what the spec says, if it says something.
inline constexpr std::string_view kDevices = "/dev";
inline constexpr std::string_view kProcesses = "/proc";
inline constexpr std::string_view kSystem = "/sys";
inline constexpr std::string_view kTemporary = "/tmp";

// Links in /dev, and where they lead.
struct BuiltInLink {
  std::string_view path;
  std::string_view target;
};
inline constexpr std::array<BuiltInLink, 5> kDeviceLinks = {{{"/dev/fd", "/proc/self/fd"},
                                                             {"/dev/ptmx", "pts/ptmx"},
                                                             {"/dev/stderr", "/proc/self/fd/2"},
                                                             {"/dev/stdin", "/proc/self/fd/0"},
                                                             {"/dev/stdout", "/proc/self/fd/1"}}};

// Readable and writable devices.
inline constexpr std::array<std::string_view, 6> kDeviceFiles = {
    "/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"};
inline constexpr std::string_view kPseudoTerminals = "/dev/pts";
inline constexpr std::string_view kSharedMemory = "/dev/shm";

// Written by hermetic for each run, unless the spec declares the host's own.
inline constexpr std::array<std::string_view, 5> kSyntheticFiles = {
    "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd", "/etc/resolv.conf"};

}  // namespace hermetic
