// Resolver: answers the command's DNS questions with addresses that stand for allowed names.
//
// No question of the command leaves the sandbox: a name that is not allowed does not exist. An
// allowed one is looked up outside first, and gets an address of its own that is valid for this run
// only.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "hermetic/guard/address.h"
#include "hermetic/guard/dns_message.h"
#include "hermetic/guard/name_lookup.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/network.h"

namespace hermetic::guard {

class Resolver {
 public:
  using Reply = std::function<void(const Bytes&)>;

  // The first two are borrowed.
  Resolver(const NetworkPolicy& policy, NameLookup& lookup, std::function<void(Event)> tell)
      : policy_(policy), lookup_(lookup), tell_(std::move(tell)) {}

  // Replies once, now or later, or never: to what is no question at all.
  void answer(std::span<const std::uint8_t> query, bool by_stream, Reply reply);

  // The name that a synthetic address stands for, or null.
  [[nodiscard]] const std::string* name_of(const Address& address) const;

 private:
  using Finish = std::function<void(ResponseCode, std::optional<Address>)>;

  void resolve(const DnsQuestion& question, const Finish& finish);
  ResponseCode decide(const std::string& name, const HostRule& rule, const LookupAnswer& answer,
                      std::optional<Address>& address);
  std::optional<Address> address_for(const std::string& name);
  void report(const std::string& name, const HostRule* rule, Verdict verdict,
              std::string detail = {}, const std::optional<Address>& address = {}) const;

  const NetworkPolicy& policy_;
  NameLookup& lookup_;
  std::function<void(Event)> tell_;
  std::map<std::string, Address> addresses_;
  std::map<Address, std::string> names_;
};

}  // namespace hermetic::guard
