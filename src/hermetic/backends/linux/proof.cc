#include "hermetic/backends/linux/proof.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "hermetic/backends/linux/init_protocol.h"
#include "hermetic/base/path.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::array<std::string_view, kProbeCount> kNames = {
    "tcp", "udp", "dns", "io_uring", "vsock", "listen", "secret", "input"};

constexpr std::array<const char*, 2> kParents = {"/var/tmp", "/tmp"};
std::string prefix_of_user() { return fmt::format(".hermetic-secret-{}-", ::geteuid()); }

std::uint32_t bit(Probe probe) { return 1U << static_cast<std::uint32_t>(probe); }

// An input that can be tried: the root of the sandbox, or a directory of the host.
std::string some_input(const Plan& plan) {
  for (const ViewEntry& entry : plan.view)
    if (entry.kind == ViewEntry::Kind::Input && entry.type == FileType::Directory)
      return entry.path;
  return "";
}

bool shows(const Plan& plan, std::string_view path) {
  return std::any_of(plan.view.begin(), plan.view.end(), [&](const ViewEntry& entry) {
    return (entry.kind == ViewEntry::Kind::Input || entry.kind == ViewEntry::Kind::OutputInPlace) &&
           (is_within(path, entry.path) || is_within(path, entry.source));
  });
}

std::uint32_t network_probes(const NetworkPolicy& network) {
  using Mode = NetworkPolicy::Mode;
  const std::uint32_t outbound = bit(Probe::Tcp) | bit(Probe::Udp) | bit(Probe::Dns);
  switch (network.mode) {
    case Mode::None: return outbound | bit(Probe::Listen);
    case Mode::Loopback: return outbound;
    case Mode::Hosts: {
      std::uint32_t probes = outbound;
      if (network.can_reach("192.0.2.1", 80) || network.can_reach("2001:db8::1", 80))
        probes &= ~bit(Probe::Tcp);
      if (network.can_reach("192.0.2.1", 9)) probes &= ~bit(Probe::Udp);
      // Where the name may be looked up, an answer says nothing.
      const std::string name = name_of_probe(0);
      if (std::any_of(network.hosts.begin(), network.hosts.end(), [&](const HostRule& rule) {
            return network.can_reach(name, rule.port.value_or(1));
          }))
        probes &= ~bit(Probe::Dns);
      return probes;
    }
    case Mode::Host: return 0;
  }
  return 0;
}

}  // namespace

Result<Proof> Proof::make(const Plan& plan) {
  Proof proof;
  proof.wanted_ = network_probes(plan.network) | bit(Probe::Ring) | bit(Probe::Vsock);
  proof.input_ = some_input(plan);
  if (!proof.input_.empty()) proof.wanted_ |= bit(Probe::Input);
  (void)remove_abandoned_secrets();
  for (const char* parent : kParents) {
    if (shows(plan, parent)) continue;
    std::string name = fmt::format("{}/{}XXXXXX", parent, prefix_of_user());
    proof.locked_ = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
    if (!proof.locked_.is_open()) continue;
    proof.secret_ = std::move(name);
    (void)::flock(proof.locked_.get(), LOCK_EX | LOCK_NB);
    constexpr std::string_view kText = "not to be read by the command\n";
    if (::write(proof.locked_.get(), kText.data(), kText.size()) < 0)
      return system_error("cannot write the secret that must stay hidden", errno);
    proof.wanted_ |= bit(Probe::Secret);
    break;
  }
  return proof;
}

// Its maker holds a lock as long as it lives. One that is not locked yet may be taken for
// abandoned: then there is nothing to read, which is what the probe has to find.
std::vector<std::string> remove_abandoned_secrets() {
  std::vector<std::string> removed;
  const std::string prefix = prefix_of_user();
  for (const char* parent : kParents) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
      const std::string path = entry.path();
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      struct stat status = {};
      const bool ours = file.is_open() && ::fstat(file.get(), &status) == 0 &&
                        status.st_uid == ::geteuid() && S_ISREG(status.st_mode);
      if (ours && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::unlink(path.c_str()) == 0)
        removed.push_back(path);
    }
  }
  return removed;
}

void Proof::forget() {
  if (!secret_.empty()) (void)::unlink(secret_.c_str());
  secret_.clear();
  locked_.reset();
}

std::string name_of_probe(std::uint64_t key) {
  return fmt::format("{:016x}.{}", key, kProbeDomain);
}

std::vector<NegativeControl> results_of(std::uint32_t tried) {
  std::vector<NegativeControl> results;
  for (std::uint32_t number = 0; number < kProbeCount; ++number)
    results.push_back({.name = std::string(kNames[number]), .tried = (tried >> number & 1U) != 0});
  return results;
}

std::string names_of(std::uint32_t probes) {
  std::string names;
  for (std::uint32_t number = 0; number < kProbeCount; ++number)
    if ((probes >> number & 1U) != 0) (names += names.empty() ? "" : ", ") += kNames[number];
  return names;
}

}  // namespace hermetic::linux_backend
