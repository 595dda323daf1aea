#include "hermetic/gate/propose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "hermetic/base/text.h"

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

std::string host_text(const NetworkAct& act) {
  const bool brackets = act.host.find(':') != std::string::npos;
  const std::string host = brackets ? fmt::format("[{}]", act.host) : act.host;
  return act.port == 0 ? host : fmt::format("{}:{}", host, act.port);
}

std::string program_of(const NetworkAct& act) {
  return act.chain.empty() ? "somebody" : act.chain.front();
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
    if (allows(step, act)) continue;
    if (act.unix_socket) {
      note(fmt::format("{} {}, by {}: an exception with unix_socket allows it", act.act,
                       act.subject, program_of(act)));
    } else if (is_listener(act) && act.port != 0) {
      ports[act.port].listen = act.port;
      count(ports[act.port], act);
    } else if (is_listener(act)) {
      note(fmt::format("listens on a port that the kernel chooses, by {}: allow.loopback lets it",
                       program_of(act)));
    } else if (!is_outbound(act)) {
      note(fmt::format("{} {}, by {}: no exception allows that", act.act, act.subject,
                       program_of(act)));
    } else if (act.loopback) {
      own_loopback = true;
    } else if (const std::string text = host_text(act); !parse_host_rule(text)) {
      note(fmt::format("{} to {}, by {}: no exception can name that", act.act, act.subject,
                       program_of(act)));
    } else {
      hosts[text].host = text;
      count(hosts[text], act);
      if (act.act != "resolve") reached.insert(act.host);
      hosts[text].warning = shared_name_warning(act.host);
    }
  }
  // Who reaches a name looks it up: that needs nothing of its own.
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
  proposal.loopback = own_loopback && ports.empty();
  for (auto& [port, exception] : ports) proposal.exceptions.push_back(std::move(exception));
  for (const GovernedException& exception : step.exceptions)
    if (exception.host && exception.host->kind == HostRule::Kind::Wildcard)
      note(fmt::format("the exception {} allows every name below it",
                       printable(to_string(*exception.host))));
  return proposal;
}

std::string as_change(const Policy& policy, const std::vector<Proposal>& proposals) {
  constexpr std::string_view kRest = "owner: TODO, reason: TODO, expires: TODO}";
  std::string text = fmt::format("--- {0}\n+++ {0}\n", printable(policy.file));
  if (policy.version == 1)
    text += "# Exceptions with owner, reason and end are of schema_version: \"2\".\n";
  for (const Proposal& proposal : proposals) {
    if (proposal.empty()) continue;
    text +=
        fmt::format("@@ step {} ({}) @@\n", proposal.step, printable(to_string(proposal.origin)));
    for (const std::string& remark : proposal.remarks)
      text += fmt::format("# {}\n", printable(remark));
    if (!proposal.loopback && proposal.exceptions.empty()) continue;
    text += fmt::format("   - id: {}\n+    allow:\n", proposal.step);
    if (proposal.loopback) text += "+      loopback: true\n";
    if (!proposal.exceptions.empty()) text += "+      exceptions:\n";
    for (const ProposedException& exception : proposal.exceptions) {
      for (const std::string& program : exception.programs)
        text += fmt::format("+        # by {}\n", printable(program));
      text += fmt::format("+        # {}\n",
                          exception.count == 1 ? "once" : fmt::format("{} times", exception.count));
      if (!exception.warning.empty())
        text += fmt::format("+        # warning: {}\n", printable(exception.warning));
      text += exception.listen
                  ? fmt::format("+        - {{listen: {}, {}\n", *exception.listen, kRest)
                  : fmt::format("+        - {{host: \"{}\", {}\n", exception.host, kRest);
    }
  }
  return text;
}

}  // namespace hermetic::gate
