#include "hermetic/gate/propose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "hermetic/base/text.h"
#include "hermetic/gate/exception_text.h"

namespace hermetic::gate {
namespace {

// Who has an account there has a name there.
constexpr std::array<std::string_view, 24> kShared = {
    "amazonaws.com",         "cloudfront.net", "awsstatic.com",     "windows.net",
    "azureedge.net",         "azurefd.net",    "azurewebsites.net", "googleapis.com",
    "googleusercontent.com", "appspot.com",    "run.app",           "web.app",
    "akamaized.net",         "akamaihd.net",   "edgekey.net",       "fastly.net",
    "cloudflare.net",        "workers.dev",    "pages.dev",         "github.io",
    "githubusercontent.com", "herokuapp.com",  "netlify.app",       "vercel.app"};

std::string program_of(const NetworkAct& act) {
  return act.chain.empty() ? "an unknown process" : act.chain.front();
}

}  // namespace

std::string shared_name_warning(std::string_view host) {
  for (const std::string_view suffix : kShared) {
    const bool below = host.size() > suffix.size() && host.ends_with(suffix) &&
                       host[host.size() - suffix.size() - 1] == '.';
    if (host == suffix || below)
      return fmt::format("anybody can rent a name below {}: it does not say who is there", suffix);
  }
  return "";
}

Proposal propose(const Step& step, const std::vector<NetworkAct>& acts) {
  Proposal proposal{.step = step.id, .origin = step.origin, .exceptions = {}, .remarks = {}};
  std::map<std::string, ProposedException> hosts;
  std::map<std::uint16_t, ProposedException> ports;
  std::set<std::string> names;  // that were looked up
  std::set<std::string> reached;
  std::set<std::uint16_t> own_ports;  // on which the step listened
  bool own_loopback = false;
  const auto note = [&](const std::string& remark) {
    if (std::ranges::find(proposal.remarks, remark) == proposal.remarks.end())
      proposal.remarks.push_back(remark);
  };
  const auto count = [](ProposedException& exception, const NetworkAct& act) {
    exception.count += act.count;
    exception.programs.insert(program_of(act));
  };
  for (const NetworkAct& act : acts) {
    if (act.act == "resolve") names.insert(act.host);
    if (is_listener(act)) own_ports.insert(act.port);
  }
  const bool any_port = own_ports.contains(0);
  for (const NetworkAct& act : acts) {
    if (allows(step, act)) continue;
    if (asks_name_server(act)) {
      if (names.empty())
        note(
            fmt::format("asks a name server ({}), by {}: which names could not be seen; allow the "
                        "hosts by name",
                        act.subject, program_of(act)));
      continue;
    }
    if (act.unix_socket) {
      note(fmt::format("{} {}, by {}: an exception with unix_socket allows it", act.act,
                       act.subject, program_of(act)));
    } else if (is_listener(act) && act.port != 0) {
      ports[act.port].listen = act.port;
      count(ports[act.port], act);
    } else if (is_listener(act)) {
      own_loopback = true;
      note(fmt::format("listens on a port that the kernel chooses, by {}", program_of(act)));
    } else if (!is_outbound(act)) {
      note(fmt::format("{} {}, by {}: no exception allows that", act.act, act.subject,
                       program_of(act)));
    } else if (act.loopback && act.act != "resolve") {
      if (any_port || own_ports.contains(act.port))
        own_loopback = true;
      else
        note(
            fmt::format("{} {}, by {}: no process of the step listens there; if a service of this "
                        "machine is meant, allow the host {}",
                        act.act, act.subject, program_of(act), host_and_port(act)));
    } else {
      NetworkAct destination = act;
      if (act.act == "resolve") destination.port = 0;  // that of the name server
      const std::string text = host_and_port(destination);
      if (!parse_host_rule(text)) {
        note(fmt::format("{} {}, by {}: no exception can name that", act.act, act.subject,
                         program_of(act)));
        continue;
      }
      hosts[text].host = text;
      count(hosts[text], act);
      if (act.act != "resolve") reached.insert(act.host);
      hosts[text].warning = shared_name_warning(act.host);
    }
  }
  // A name that is reached may be looked up: that needs no exception of its own.
  for (const std::string& name : reached) hosts.erase(name);
  for (auto& [text, exception] : hosts) {
    const Result<HostRule> rule = parse_host_rule(text);
    if (rule->kind == HostRule::Kind::Range && exception.warning.empty())
      exception.warning = names.empty()
                              ? "an address, which may become another's"
                              : fmt::format("an address, perhaps of {}: name that instead",
                                            fmt::join(names, " or "));
    else if (!rule->port)
      exception.warning = "it was only looked up: add the port";
    proposal.exceptions.push_back(std::move(exception));
  }
  // A port to listen on comes with the step's own loopback.
  proposal.loopback = own_loopback && (ports.empty() || any_port);
  for (auto& [port, exception] : ports) proposal.exceptions.push_back(std::move(exception));
  for (const GovernedException& exception : step.exceptions)
    if (exception.host && exception.host->kind == HostRule::Kind::Wildcard)
      note(fmt::format("the exception {} allows every name below it",
                       printable(to_string(*exception.host))));
  return proposal;
}

}  // namespace hermetic::gate
