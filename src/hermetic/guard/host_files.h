// What the host says about names: /etc/hosts and /etc/resolv.conf, read as text.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/guard/address.h"

namespace hermetic::guard {

// Names in lower case, without the last dot; addresses in the order of the file.
using HostTable = std::map<std::string, std::vector<Address>, std::less<>>;

// Lines that make no sense are passed over, as the C library does.
[[nodiscard]] HostTable parse_hosts(std::string_view text);

struct Nameserver {
  Address address = {};
  std::string interface;  // what fe80::1%eth0 names

  friend bool operator==(const Nameserver&, const Nameserver&) = default;
};

struct ResolverSettings {
  std::vector<Nameserver> nameservers;  // three at most; 127.0.0.1 if none is named
  std::vector<std::string> search;      // six at most
  std::chrono::seconds timeout{3};      // for one server, 1 to 30
  unsigned attempts = 2;                // with each server, 1 to 5

  friend bool operator==(const ResolverSettings&, const ResolverSettings&) = default;
};

[[nodiscard]] ResolverSettings parse_resolver_settings(std::string_view text);

// The first mebibyte of a file, or "" if it cannot be read.
[[nodiscard]] std::string read_host_file(const std::string& path);

}  // namespace hermetic::guard
