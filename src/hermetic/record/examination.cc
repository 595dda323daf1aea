#include "hermetic/record/examination.h"

#include <nlohmann/json.hpp>

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
  return document.dump(2) + "\n";
}

}  // namespace hermetic
