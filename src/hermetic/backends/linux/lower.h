// lower(): from a plan to the script that builds it on Linux. Pure: everything about the host is in
// Facts.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "hermetic/backends/linux/init_protocol.h"
#include "hermetic/backends/linux/own_terminal.h"
#include "hermetic/backends/linux/script.h"
#include "hermetic/backends/linux/watch.h"
#include "hermetic/outputs/change_places.h"
#include "hermetic/plan/plan.h"
#include "hermetic/spec/mount_table.h"

namespace hermetic::linux_backend {

// An object of the host, by name and identity.
struct HostObject {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

// A device of the sandbox that becomes a standard stream; none without a path.
struct InsideDevice {
  const char* path = nullptr;
  int flags = 0;
};

// For the resolver, and for the first destinations; the guard makes more when these are used up.
inline constexpr std::uint64_t kTcpSockets = 32;
inline constexpr std::uint64_t kUdpSockets = 32;

// What the script depends on besides the plan.
struct Facts {
  uid_t user = 0;
  gid_t group = 0;
  int landlock_abi = 0;             // 0: the kernel has none
  bool classic_mounts = false;      // use mount(2) only
  std::vector<HostObject> devices;  // /dev/null and the others of the view
  std::vector<std::string> masked;  // files of /proc that exist here and are nobody's business
  std::map<std::string, HostObject> staging;        // by the output's path: its fresh private tree
  std::map<std::string, HostObject> copies;         // by the temp's path: a copy of its layers
  std::map<std::string, std::size_t> shown_layers;  // by the temp's path; all, if it is not here
  Layering layering = Layering::Overlay;
  MountTable mounts;              // only read with classic_mounts
  std::uint64_t program_key = 0;  // random; of allow_exec: false
  timespec monotonic = {};        // the clocks of the host, for own_uptime
  timespec boottime = {};
  Watched watched;  // what to be told of
  // What becomes the command's standard streams: a descriptor, or else a device or a terminal that
  // is opened inside.
  std::array<int, 3> standard = {0, 1, 2};
  std::array<InsideDevice, 3> standard_devices;
  std::vector<OwnTerminal> terminals;
  std::vector<int> group_doors;        // descriptors, of the control group to join
  bool group_keeps_processes = false;  // and tells of refusals, which RLIMIT_NPROC does not
  std::string cpus;                    // the mask for `process.cpus`
  std::uint32_t probes = 0;            // what to try, and on what; see Proof
  std::string probed_secret;
  std::string probed_input;
  int guard_socket = -1;  // the descriptor that sockets are passed through
  int socket = -1;        // the descriptor that becomes init's socket
};

// A script that owns its memory. Not copied: the steps point into it.
class LoweredScript {
 public:
  LoweredScript() = default;
  LoweredScript(const LoweredScript&) = delete;
  LoweredScript& operator=(const LoweredScript&) = delete;
  LoweredScript(LoweredScript&&) = default;
  LoweredScript& operator=(LoweredScript&&) = default;

  std::vector<Step> steps;
  std::vector<char*> argv;  // closed by a null pointer, as execve() wants it
  std::vector<char*> envp;
  std::string init_message;  // InitConfig and what follows it

  // Keeps the text as long as the script and returns where it stands.
  const char* keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

 private:
  std::deque<std::string> texts_;
};

[[nodiscard]] LoweredScript lower(const Plan& plan, const Facts& facts);

// One line per step, for tests and --debug.
[[nodiscard]] std::string print_script(const LoweredScript& script);
// "binding /usr to usr", for error messages; also of execve() and of init's own steps.
[[nodiscard]] std::string describe_step(const LoweredScript& script, std::uint32_t index);

}  // namespace hermetic::linux_backend
