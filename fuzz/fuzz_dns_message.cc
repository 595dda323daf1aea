// Feeds arbitrary bytes to the reader of DNS messages: what is accepted can be written and read
// again, and the addresses in it are found without end.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hermetic/base/check.h"
#include "hermetic/guard/dns_message.h"
#include "hermetic/guard/host_files.h"
#include "hermetic/guard/name_lookup.h"

namespace {

using namespace hermetic::guard;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kMostAddresses = 32;

void check_message(std::span<const std::uint8_t> bytes) {
  // Exactly as large as the message: the sanitizer sees a read behind it.
  const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const auto message = parse_dns_message(std::span(copy.get(), bytes.size()));
  if (!message) return;
  const Bytes built = build_dns_message(*message);
  CHECK(parse_dns_message(built) == message);
  const Bytes cut = build_dns_message(*message, kLargestPlainDatagram);
  CHECK(cut.size() <= built.size());
  CHECK(parse_dns_message(cut).has_value());
  for (const DnsQuestion& question : message->questions) {
    CHECK(is_encodable_name(question.name));
    std::uint32_t time_to_live = 60;
    const auto addresses = addresses_in(*message, question.name, question.type, time_to_live);
    CHECK(addresses.size() <= kMostAddresses && time_to_live <= 60);
  }
}

void check_files(const std::string& text) {
  for (const auto& [name, addresses] : parse_hosts(text))
    CHECK(is_encodable_name(name) && lower_case(name) == name && !addresses.empty());
  const ResolverSettings settings = parse_resolver_settings(text);
  CHECK(!settings.nameservers.empty() && settings.nameservers.size() <= 3);
  CHECK(settings.attempts >= 1 && settings.attempts <= 5 && settings.timeout.count() >= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_message({data, size});
  check_files(std::string(data, data + size));
  return 0;
}
