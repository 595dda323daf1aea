#include "hermetic/guard/name_lookup.h"

#include <algorithm>
#include <utility>

namespace hermetic::guard {
namespace {

using Status = LookupAnswer::Status;

constexpr std::array<std::uint16_t, 2> kTypes = {kTypeA, kTypeAaaa};
constexpr unsigned kMostAliases = 16;
constexpr std::size_t kMostAddresses = 32;
constexpr std::size_t kMostTasks = 256;
constexpr std::size_t kMostWaiting = 1024;  // for one name
constexpr std::size_t kMostKnown = 4096;
constexpr std::uint32_t kLongestKnown = 60;  // seconds
// A server that does not answer for IPv6 must not hold up who has IPv4.
constexpr std::chrono::milliseconds kPatience{500};

std::optional<Address> address_in(const DnsRecord& record) {
  Address address = {};
  if (record.type == kTypeAaaa && record.data.size() == address.size()) {
    std::copy(record.data.begin(), record.data.end(), address.begin());
    return address;
  }
  if (record.type != kTypeA || record.data.size() != 4) return {};
  std::uint32_t number = 0;
  for (const std::uint8_t byte : record.data) number = number << 8U | byte;
  return ipv4_address(number);
}

bool is_about(const DnsRecord& record, const std::string& name) {
  return record.record_class == kClassInternet && lower_case(record.name) == name;
}

}  // namespace

std::vector<Address> addresses_in(const DnsMessage& message, std::string_view name,
                                  std::uint16_t type, std::uint32_t& time_to_live) {
  std::string wanted = lower_case(name);
  for (unsigned aliases = 0; aliases < kMostAliases; ++aliases) {
    std::vector<Address> addresses;
    const DnsRecord* alias = nullptr;
    for (const DnsRecord& record : message.answers) {
      if (!is_about(record, wanted)) continue;
      if (record.type == kTypeAlias && alias == nullptr) alias = &record;
      if (record.type != type) continue;
      const std::optional<Address> address = address_in(record);
      if (!address || addresses.size() >= kMostAddresses) continue;
      addresses.push_back(*address);
      time_to_live = std::min(time_to_live, record.time_to_live);
    }
    if (!addresses.empty() || alias == nullptr) return addresses;
    time_to_live = std::min(time_to_live, alias->time_to_live);
    wanted = lower_case(alias->alias);
  }
  return {};
}

void NameLookup::find(const std::string& name, Done done) {
  if (const auto host = hosts_.find(name); host != hosts_.end()) {
    std::vector<Address> addresses = host->second;
    std::stable_partition(addresses.begin(), addresses.end(), is_ipv4);
    return done({.status = Status::Found, .addresses = std::move(addresses)});
  }
  if (const auto known = known_.find(name); known != known_.end()) {
    if (Clock::now() < known->second.until) return done(LookupAnswer(known->second.answer));
    known_.erase(known);
  }
  if (!is_encodable_name(name) || name.empty())
    return done({.status = Status::NoSuchName, .addresses = {}});
  if (const auto task = tasks_.find(name); task != tasks_.end()) {
    if (task->second->waiting.size() >= kMostWaiting) return done({});
    return task->second->waiting.push_back(std::move(done));
  }
  if (tasks_.size() >= kMostTasks) return done({});
  const auto task = std::make_shared<Task>();
  task->waiting.push_back(std::move(done));
  task->candidates.push_back(name);
  if (name.find('.') == std::string::npos)  // tried before the name itself
    for (std::size_t left = settings_.search.size(); left > 0; --left)
      if (std::string longer = name + '.' + settings_.search[left - 1]; is_encodable_name(longer))
        task->candidates.push_back(std::move(longer));
  tasks_[name] = task;
  try_next(name, *task);
}

void NameLookup::try_next(const std::string& name, Task& task) {
  const std::string candidate = std::move(task.candidates.back());
  task.candidates.pop_back();
  task.answers = {};
  task.time_to_live = kLongestKnown;
  task.deadline.reset();
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    task.exchanges[i] = std::make_unique<DnsExchange>(
        poller_, settings_, DnsQuestion{.name = candidate, .type = kTypes[i]},
        [this, name, candidate, i](const std::optional<DnsMessage>& message) {
          take(name, candidate, i, message);
        });
  const auto keep = tasks_[name];  // start() may be the end of it
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    if (keep->exchanges[i]) keep->exchanges[i]->start();
}

void NameLookup::take(const std::string& name, const std::string& candidate, std::size_t index,
                      const std::optional<DnsMessage>& message) {
  const auto found = tasks_.find(name);
  if (found == tasks_.end()) return;
  Task& task = *found->second;
  LookupAnswer answer;
  if (message) {
    answer.addresses = addresses_in(*message, candidate, kTypes[index], task.time_to_live);
    answer.status = message->code == ResponseCode::NoSuchName && answer.addresses.empty()
                        ? Status::NoSuchName
                        : Status::Found;
  }
  task.any_failed |= answer.status == Status::Failed;
  task.answers[index] = std::move(answer);
  consider(name);
}

void NameLookup::consider(const std::string& name) {
  const auto found = tasks_.find(name);
  if (found == tasks_.end()) return;
  const std::shared_ptr<Task> task = found->second;
  LookupAnswer sum{.status = Status::NoSuchName, .addresses = {}};
  bool complete = true;
  for (const std::optional<LookupAnswer>& answer : task->answers) {
    if (!answer) complete = false;
    if (!answer || answer->status != Status::Found) continue;
    sum.status = Status::Found;
    sum.addresses.insert(sum.addresses.end(), answer->addresses.begin(), answer->addresses.end());
  }
  const Clock::time_point now = Clock::now();
  if (!complete) {
    const bool has_ipv4 = task->answers[0] && !task->answers[0]->addresses.empty();
    if (!has_ipv4) return;
    if (!task->deadline) task->deadline = now + kPatience;
    if (now < *task->deadline) return;
  }
  if (!sum.addresses.empty()) {
    if (known_.size() >= kMostKnown) known_.clear();
    known_[name] = {.answer = sum, .until = now + std::chrono::seconds(task->time_to_live)};
    return finish(name, sum);
  }
  if (!task->candidates.empty()) {
    // Whoever is on the stack is one of the exchanges that are replaced.
    return poller_.later([this, name, task] { try_next(name, *task); });
  }
  if (task->any_failed) sum.status = Status::Failed;
  finish(name, sum);
}

void NameLookup::finish(const std::string& name, const LookupAnswer& answer) {
  const auto found = tasks_.find(name);
  std::shared_ptr<Task> task = std::move(found->second);
  tasks_.erase(found);
  for (const Done& done : task->waiting) done(answer);
  poller_.later([task = std::move(task)] {});  // an exchange of it may be on the stack
}

std::optional<Clock::time_point> NameLookup::due() const {
  std::optional<Clock::time_point> first;
  const auto take_earlier = [&](std::optional<Clock::time_point> time) {
    if (time && (!first || *time < *first)) first = time;
  };
  for (const auto& [name, task] : tasks_) {
    take_earlier(task->deadline);
    for (const auto& exchange : task->exchanges)
      if (exchange) take_earlier(exchange->due());
  }
  return first;
}

void NameLookup::on_time(Clock::time_point now) {
  const auto tasks = tasks_;
  for (const auto& [name, task] : tasks) {
    for (const auto& exchange : task->exchanges)
      if (exchange) exchange->on_time(now);
    if (task->deadline && now >= *task->deadline) consider(name);
  }
}

}  // namespace hermetic::guard
