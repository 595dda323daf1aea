#include "hermetic/gate/exception_text.h"

#include <fmt/format.h>

#include "hermetic/base/text.h"

namespace hermetic::gate {
namespace {

constexpr std::string_view kRest = "owner: TODO, reason: TODO, expires: TODO";

}  // namespace

bool asks_name_server(const NetworkAct& act) {
  constexpr std::uint16_t kNamePort = 53;
  return act.port == kNamePort && is_outbound(act) && act.act != "resolve";
}

std::string host_and_port(const NetworkAct& act) {
  const bool brackets = act.host.find(':') != std::string::npos;
  const std::string host = brackets ? fmt::format("[{}]", act.host) : act.host;
  return act.port == 0 ? host : fmt::format("{}:{}", host, act.port);
}

std::string exception_item(int version, const std::string& host,
                           std::optional<std::uint16_t> listen) {
  if (version == 1) return listen ? std::to_string(*listen) : fmt::format("\"{}\"", host);
  return listen ? fmt::format("{{listen: {}, {}}}", *listen, kRest)
                : fmt::format("{{host: \"{}\", {}}}", host, kRest);
}

namespace {

// Nothing for an abstract socket, which no exception can name, and for a path that would have to be
// escaped.
std::string exception_for_socket(int version, const std::string& path) {
  const bool is_plain = path.starts_with('/') && printable(path) == path &&
                        path.find_first_of("\"\\") == std::string::npos;
  if (!is_plain) return "";
  if (version == 1) return fmt::format("allow: {{unix_sockets: [\"{}\"]}}", path);
  return fmt::format("allow: {{exceptions: [{{unix_socket: \"{}\", {}}}]}}", path, kRest);
}

}  // namespace

std::string exception_for(const Policy& policy, const NetworkAct& act) {
  if (act.unix_socket) return exception_for_socket(policy.version, act.subject);
  std::optional<std::uint16_t> listen;
  std::string host;
  if (is_listener(act)) {
    if (act.port == 0) return policy.version == 1 ? "" : "allow: {loopback: true}";
    listen = act.port;
  } else {
    if (!is_outbound(act) || (asks_name_server(act) && act.loopback)) return "";
    // The port where a name is asked for is that of the name server.
    NetworkAct destination = act;
    if (act.act == "resolve") destination.port = 0;
    host = host_and_port(destination);
    if (!parse_host_rule(host)) return "";
  }
  const std::string item = exception_item(policy.version, host, listen);
  if (policy.version == 2) return fmt::format("allow: {{exceptions: [{}]}}", item);
  return fmt::format("allow: {{{}: [{}]}}", listen ? "listen_ports" : "outbound_hosts", item);
}

}  // namespace hermetic::gate
