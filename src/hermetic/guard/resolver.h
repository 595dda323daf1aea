// Resolver: answers the command's DNS questions with addresses that stand for allowed names.
//
// No question of the command leaves the sandbox: a name that is not allowed does not exist. An
// allowed one is looked up outside first, and gets an address of its own that is valid for this run
// only: of IPv4, and of IPv6 as well if it has one outside.
#pragma once

#include <functional>
#include <list>
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

  struct Options {
    Tell tell = {};
    FindWho find_who = {};
    bool has_ipv6 = false;  // inside
  };
  // The first two are borrowed.
  Resolver(const NetworkPolicy& policy, NameLookup& lookup, Options options)
      : policy_(policy), lookup_(lookup), options_(std::move(options)) {}

  // Replies once, now or later; with nothing to what is no question at all.
  void answer(std::span<const std::uint8_t> query, const Arrival& from, Reply reply);
  // Tells of what was not answered: `name` is "" if it could not be read.
  void refuse(const Arrival& from, const std::string& name, std::string why);
  // Tells of those whose answer has not come: nobody waits for it any more.
  void finish();

  // The name that a synthetic address stands for, or null.
  [[nodiscard]] const std::string* name_of(const Address& address) const;

 private:
  using Finish = std::function<void(ResponseCode, std::optional<Address>)>;

  void resolve(const DnsQuestion& question, const Arrival& from, const Finish& finish);
  // A question as it came, and whether it is told of.
  struct Asked {
    Arrival from;
    std::uint16_t type = kTypeA;
    bool is_told = true;
  };
  ResponseCode decide(const Asked& asked, const HostRule& rule, const LookupAnswer& answer,
                      std::optional<Address>& address);
  std::optional<Address> address_for(const std::string& name, std::uint16_t type);
  [[nodiscard]] bool is_news(const Arrival& from, std::uint16_t type);
  void report(const Asked& asked, const HostRule* rule, Verdict verdict, std::string detail = {},
              const std::optional<Address>& address = {});

  const NetworkPolicy& policy_;
  NameLookup& lookup_;
  Options options_;
  std::list<std::pair<Asked, const HostRule*>> pending_;  // no answer has come yet
  std::pair<std::string, Verdict> told_;   // of which name it was told last, and what
  Arrival last_;                           // who asked last, and for what
  std::vector<std::uint16_t> last_types_;  // of records
  std::map<std::string, std::uint32_t> numbers_;
  std::map<Address, std::string> names_;
  std::size_t names_bytes_ = 0;
};

}  // namespace hermetic::guard
