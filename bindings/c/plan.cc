// What would happen, and what this host can promise.
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "bindings/c/failure.h"
#include "bindings/c/spec.h"
#include "cli/backends.h"
#include "hermetic/plan/print.h"

namespace c = hermetic::c;
using hermetic::Capabilities;
using hermetic::Result;

extern "C" {

char* hermetic_plan_json(const hermetic_spec* spec, const char* backend, hermetic_error** error) {
  return c::guarded<char*>(error, nullptr, [&]() -> Result<char*> {
    const hermetic_spec* planned = TRY(c::needed(spec, "spec"));
    const Capabilities capabilities =
        TRY(hermetic::cli::capabilities_of(backend == nullptr ? "" : backend));
    const hermetic::Plan plan = TRY(hermetic::make_plan(planned->spec, capabilities));
    return c::give_text(hermetic::plan_as_json(plan));
  });
}

char* hermetic_capabilities_json(hermetic_error** error) {
  return c::guarded<char*>(error, nullptr, []() -> Result<char*> {
    const Capabilities capabilities = TRY(hermetic::cli::capabilities_of(""));
    nlohmann::json clauses = nlohmann::json::array();
    for (const hermetic::Clause clause : hermetic::all_clauses()) {
      const auto found = capabilities.clauses.find(clause);
      const hermetic::Capability capability =
          found == capabilities.clauses.end() ? hermetic::Capability{} : found->second;
      clauses.push_back({{"clause", to_string(clause)},
                         {"strength", to_string(capability.strength)},
                         {"mechanism", capability.mechanism},
                         {"reason", capability.reason},
                         {"remedy", capability.remedy}});
    }
    const nlohmann::json all = {{"backend", capabilities.backend}, {"clauses", clauses}};
    return c::give_text(all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  });
}
}
