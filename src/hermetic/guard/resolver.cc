#include "hermetic/guard/resolver.h"

#include <algorithm>
#include <utility>

#include "hermetic/guard/allow_list.h"
#include "hermetic/guard/dns_message.h"

namespace hermetic::guard {
namespace {

constexpr std::size_t kMostNames = 65536;
constexpr std::size_t kMostNamesBytes = std::size_t{8} << 20U;
constexpr std::size_t kMostPending = 4096;  // a command can ask faster than any nameserver answers
constexpr std::uint32_t kTimeToLive = 5;    // the address never changes; whether it may be used can
constexpr std::size_t kHeaderSize = 12;
constexpr std::size_t kLargestStream = 65535;

DnsMessage reply_to(const DnsMessage& query) {
  DnsMessage reply;
  reply.id = query.id;
  reply.is_response = true;
  reply.operation = query.operation;
  reply.recursion_desired = query.recursion_desired;
  reply.recursion_available = true;
  reply.questions = query.questions;
  if (query.largest_datagram) reply.largest_datagram = kLargestDatagram;
  return reply;
}

// A query that cannot be read but has an id to answer to.
std::optional<DnsMessage> complaint(std::span<const std::uint8_t> query) {
  if (query.size() < kHeaderSize || (query[2] & 0x80U) != 0) return {};
  DnsMessage reply;
  reply.id = static_cast<std::uint16_t>(query[0] << 8U | query[1]);
  reply.is_response = true;
  reply.operation = static_cast<std::uint8_t>(query[2] >> 3U & 0xFU);
  reply.code = ResponseCode::BadFormat;
  return reply;
}

DnsRecord record_of(const std::string& name, const Address& address) {
  DnsRecord record;
  record.name = name;
  record.time_to_live = kTimeToLive;
  record.type = is_ipv4(address) ? kTypeA : kTypeAaaa;
  record.data.assign(address.begin() + (is_ipv4(address) ? 12 : 0), address.end());
  return record;
}

}  // namespace

void Resolver::answer(std::span<const std::uint8_t> query, const Arrival& from, Reply reply) {
  const std::optional<DnsMessage> message = parse_dns_message(query);
  if (!message || message->questions.size() != 1 || message->is_response) {
    constexpr std::size_t kMostTold = 8;
    const std::size_t count = message ? std::min(message->questions.size(), kMostTold) : 0;
    for (std::size_t i = 0; i < count; ++i)
      refuse(from, message->questions[i].name, "it is not asked for as names are");
    if (count == 0) refuse(from, "", "it cannot be read");
    // A response gets none, or two resolvers could talk to each other for ever.
    const auto refusal = complaint(query);
    return reply(refusal ? build_dns_message(*refusal) : Bytes());
  }
  DnsMessage response = reply_to(*message);
  std::size_t limit = kLargestStream;
  if (from.protocol == Protocol::Udp)
    limit = std::max<std::size_t>(kLargestPlainDatagram, message->largest_datagram.value_or(0));
  if (message->operation != 0 || response.questions[0].record_class != kClassInternet) {
    response.code = ResponseCode::NotImplemented;
    refuse(from, response.questions[0].name, "it is not asked for as names are");
    return reply(build_dns_message(response, limit));
  }
  const DnsQuestion question = response.questions[0];
  resolve(question, from,
          [response = std::move(response), limit, reply = std::move(reply)](
              ResponseCode code, std::optional<Address> address) {
            DnsMessage finished = response;
            finished.code = code;
            if (address)
              finished.answers.push_back(record_of(finished.questions[0].name, *address));
            reply(build_dns_message(finished, limit));
          });
}

void Resolver::resolve(const DnsQuestion& question, const Arrival& from, const Finish& finish) {
  Asked asked{.from = from, .type = question.type};
  asked.from.name = lower_case(question.name);
  asked.is_told = is_news(asked.from, question.type);
  const HostRule* rule = rule_for_name(policy_, asked.from.name, {});
  if (rule == nullptr) {
    report(asked, nullptr, Verdict::Deny, "no rule allows this name");
    return finish(ResponseCode::NoSuchName, {});
  }
  if (question.type != kTypeA && question.type != kTypeAaaa) {
    report(asked, rule, Verdict::Allow, "only its addresses are answered");
    return finish(ResponseCode::NoError, {});
  }
  if (pending_.size() >= kMostPending) {
    report(asked, rule, Verdict::Allow, "too many names are looked up at once");
    return finish(ResponseCode::ServerFailure, {});
  }
  const auto waiting = pending_.insert(pending_.end(), {asked, rule});
  lookup_.find(asked.from.name, [this, waiting, asked, rule, finish](const LookupAnswer& answer) {
    pending_.erase(waiting);
    std::optional<Address> address;
    const ResponseCode code = decide(asked, *rule, answer, address);
    finish(code, address);
  });
}

// Whoever looks a name up asks for its IPv4 and its IPv6 addresses: that is one attempt.
bool Resolver::is_news(const Arrival& from, std::uint16_t type) {
  const bool same = from.protocol == last_.protocol && from.from == last_.from &&
                    from.from_port == last_.from_port && from.name == last_.name;
  if (same && std::find(last_types_.begin(), last_types_.end(), type) == last_types_.end()) {
    last_types_.push_back(type);
    return false;
  }
  last_ = from;
  last_types_ = {type};
  return true;
}

ResponseCode Resolver::decide(const Asked& asked, const HostRule& rule, const LookupAnswer& answer,
                              std::optional<Address>& address) {
  if (answer.status == LookupAnswer::Status::NoSuchName) {
    report(asked, &rule, Verdict::Allow, "there is no such name");
    return ResponseCode::NoSuchName;
  }
  if (answer.status == LookupAnswer::Status::Failed) {
    report(asked, &rule, Verdict::Allow, "the lookup failed");
    return ResponseCode::ServerFailure;
  }
  const UsableAddresses addresses = usable_addresses(policy_, answer.addresses, {});
  if (addresses.usable.empty() && !addresses.refused.empty()) {
    report(asked, &rule, Verdict::Deny, addresses.refused + ", and no rule names it",
           addresses.refused_address);
    return ResponseCode::NoSuchName;  // Refused would be asked again and again
  }
  if (addresses.usable.empty()) {
    report(asked, &rule, Verdict::Allow, "the name has no address");
    return ResponseCode::NoError;
  }
  const bool has_ipv6 = !std::all_of(addresses.usable.begin(), addresses.usable.end(), is_ipv4);
  if (asked.type == kTypeAaaa && !(has_ipv6 && options_.has_ipv6)) {
    report(asked, &rule, Verdict::Allow, "it is reached by IPv4");
    return ResponseCode::NoError;
  }
  address = address_for(asked.from.name, asked.type);
  if (!address) {
    report(asked, &rule, Verdict::Deny, "too many names were looked up");
    return ResponseCode::ServerFailure;
  }
  report(asked, &rule, Verdict::Allow, {}, address);
  return ResponseCode::NoError;
}

std::optional<Address> Resolver::address_for(const std::string& name, std::uint16_t type) {
  auto known = numbers_.find(name);
  if (known == numbers_.end()) {
    if (numbers_.size() >= kMostNames || names_bytes_ >= kMostNamesBytes) return {};
    names_bytes_ += name.size();
    known = numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size() + 1)).first;
    for (const Address& address : {synthetic_ipv4(known->second), synthetic_ipv6(known->second)})
      names_[address] = name;
  }
  return type == kTypeAaaa ? synthetic_ipv6(known->second) : synthetic_ipv4(known->second);
}

const std::string* Resolver::name_of(const Address& address) const {
  const auto found = names_.find(address);
  return found == names_.end() ? nullptr : &found->second;
}

void Resolver::refuse(const Arrival& from, const std::string& name, std::string why) {
  Asked asked{.from = from};
  asked.from.name = name.empty() ? "an unreadable question" : lower_case(name);
  report(asked, nullptr, Verdict::Deny, std::move(why));
}

void Resolver::finish() {
  for (const auto& [asked, rule] : pending_)
    report(asked, rule, Verdict::None, "the run was over before there was an answer");
}

void Resolver::report(const Asked& asked, const HostRule* rule, Verdict verdict, std::string detail,
                      const std::optional<Address>& address) {
  const std::pair<std::string, Verdict> about(asked.from.name, verdict);
  if (!options_.tell || (!asked.is_told && about == told_)) return;
  told_ = about;
  Event event;
  event.kind = Event::Kind::Network;
  event.act = "resolve";
  event.subject = asked.from.name;
  event.detail = std::move(detail);
  event.verdict = verdict;
  if (rule != nullptr) event.rule = to_string(*rule);
  const std::string_view family = address && !is_ipv4(*address) ? "inet6" : "inet";
  event.endpoint = Endpoint{.family = std::string(address ? family : ""),
                            .protocol = {},
                            .address = address ? address_text(*address) : "",
                            .port = 0,
                            .name = asked.from.name};
  options_.tell(std::move(event), options_.find_who ? options_.find_who(asked.from) : Who{});
}

}  // namespace hermetic::guard
