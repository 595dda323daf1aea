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
#include "hermetic/guard/target.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/network.h"

namespace hermetic::guard {

class Resolver {
 public:
  using Reply = std::function<void(const Bytes&)>;

  // The first two are borrowed.
  Resolver(const NetworkPolicy& policy, NameLookup& lookup, Tell tell, FindWho find_who)
      : policy_(policy), lookup_(lookup), tell_(std::move(tell)), find_who_(std::move(find_who)) {}

  // Replies once, now or later, or never: to what is no question at all.
  void answer(std::span<const std::uint8_t> query, const Arrival& from, Reply reply);

  // The name that a synthetic address stands for, or null.
  [[nodiscard]] const std::string* name_of(const Address& address) const;

 private:
  using Finish = std::function<void(ResponseCode, std::optional<Address>)>;

  void resolve(const DnsQuestion& question, const Arrival& from, const Finish& finish);
  ResponseCode decide(const Arrival& from, const HostRule& rule, const LookupAnswer& answer,
                      std::optional<Address>& address);
  std::optional<Address> address_for(const std::string& name);
  [[nodiscard]] bool is_other_half(const Arrival& from, std::uint16_t type);
  void report(const Arrival& from, const HostRule* rule, Verdict verdict, std::string detail = {},
              const std::optional<Address>& address = {}) const;

  const NetworkPolicy& policy_;
  NameLookup& lookup_;
  Tell tell_;
  FindWho find_who_;
  Arrival last_denied_;
  std::vector<std::uint16_t> last_types_;  // of records, that it was asked for
  std::map<std::string, Address> addresses_;
  std::map<Address, std::string> names_;
};

}  // namespace hermetic::guard
