#include "hermetic/record/examination.h"

#include <nlohmann/json.hpp>

#include "hermetic/record/canonical_json.h"

namespace hermetic {

std::string examination_as_json(const Examination& examination) {
  nlohmann::json document = {{"version", 1}, {"backend", examination.backend}};
  for (const auto& [name, value] : examination.facts) document["facts"][name] = value;
  for (const Examination::Row& row : examination.rows) {
    nlohmann::json entry = {{"clause", to_string(row.clause)},
                            {"strength", to_string(row.capability.strength)},
                            {"mechanism", row.capability.mechanism},
                            {"reason", row.capability.reason},
                            {"remedy", row.capability.remedy}};
    if (row.tried) entry["tried"] = {{"held", row.tried->held}, {"detail", row.tried->detail}};
    document["clauses"].push_back(std::move(entry));
  }
  return readable_json(document);
}

}  // namespace hermetic
