// The few paths that every sandbox has without being asked: devices, /proc, a private /tmp, and the
// files that tell programs who they are.
#pragma once

#include <array>
#include <string_view>

namespace hermetic {

// Always private to the run, and never declarable: what is below them is not the host's.
inline constexpr std::string_view kDevices = "/dev";
inline constexpr std::string_view kProcesses = "/proc";
inline constexpr std::string_view kSystem = "/sys";
inline constexpr std::string_view kTemporary = "/tmp";

// Readable and writable devices.
inline constexpr std::array<std::string_view, 6> kDeviceFiles = {
    "/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"};
inline constexpr std::string_view kPseudoTerminals = "/dev/pts";
inline constexpr std::string_view kSharedMemory = "/dev/shm";

// Written by hermetic for each run, unless the spec declares the host's own.
inline constexpr std::array<std::string_view, 5> kSyntheticFiles = {
    "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd", "/etc/resolv.conf"};

}  // namespace hermetic
