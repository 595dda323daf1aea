#include "hermetic/guard/allow_list.h"

#include <fmt/format.h>

#include <string>

namespace hermetic::guard {
namespace {

constexpr unsigned kAddressBits = 128;
constexpr unsigned kLoopbackBits = 96 + 8;  // of 127.0.0.0/8 in its mapped form

const HostRule* first_that_covers(const NetworkPolicy& policy, HostRule destination,
                                  std::optional<std::uint16_t> port) {
  for (const HostRule& rule : policy.hosts) {
    destination.port = port ? port : rule.port;
    if (covers(rule, destination)) return &rule;
  }
  return nullptr;
}

bool is_within_loopback(const HostRule& rule) {
  return rule.prefix_length >= kLoopbackBits && is_loopback(rule.address);
}

}  // namespace

const HostRule* rule_for_name(const NetworkPolicy& policy, std::string_view name,
                              std::optional<std::uint16_t> port) {
  if (policy.mode != NetworkPolicy::Mode::Hosts || name.empty()) return nullptr;
  HostRule destination;
  destination.name = std::string(name);
  return first_that_covers(policy, destination, port);
}

const HostRule* rule_for_address(const NetworkPolicy& policy, const Address& given,
                                 std::optional<std::uint16_t> port) {
  const Address address = as_destination(given);
  if (policy.mode != NetworkPolicy::Mode::Hosts || is_synthetic(address)) return nullptr;
  HostRule destination;
  destination.kind = HostRule::Kind::Range;
  destination.address = address;
  destination.prefix_length = kAddressBits;
  if (!is_loopback(address)) return first_that_covers(policy, destination, port);
  for (const HostRule& rule : policy.hosts) {
    if (rule.kind != HostRule::Kind::Range || !is_within_loopback(rule)) continue;
    destination.port = port ? port : rule.port;
    if (covers(rule, destination)) return &rule;
  }
  return nullptr;
}

UsableAddresses usable_addresses(const NetworkPolicy& policy, const std::vector<Address>& addresses,
                                 std::optional<std::uint16_t> port) {
  UsableAddresses result;
  for (const Address& found : addresses) {
    const Address address = as_destination(found);
    const std::string_view kind = why_not_public(address);
    if (kind.empty() || rule_for_address(policy, address, port) != nullptr) {
      result.usable.push_back(address);
    } else if (!result.refused_address) {
      result.refused = fmt::format("{} is {}", address_text(address), kind);
      result.refused_address = address;
    }
  }
  return result;
}

}  // namespace hermetic::guard
