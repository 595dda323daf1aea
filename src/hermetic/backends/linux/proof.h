// Proof: which negative controls a plan calls for, and what they are aimed at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/plan/plan.h"
#include "hermetic/run/outcome.h"

namespace hermetic::linux_backend {

class Proof {
 public:
  Proof() = default;
  Proof(const Proof&) = delete;
  Proof& operator=(const Proof&) = delete;
  Proof(Proof&&) = default;
  Proof& operator=(Proof&&) = default;
  ~Proof() { forget(); }

  // Makes a secret on the host that nothing in the plan shows.
  static Result<Proof> make(const Plan& plan);

  [[nodiscard]] std::uint32_t wanted() const { return wanted_; }
  [[nodiscard]] const std::string& secret() const { return secret_; }
  [[nodiscard]] const std::string& input() const { return input_; }

  // Removes the secret.
  void forget();

 private:
  std::uint32_t wanted_ = 0;
  std::string secret_;
  UniqueFd locked_;  // while this is open, the secret is not abandoned
  std::string input_;
};

// The secrets of this user that killed runs have left. Returns their paths.
std::vector<std::string> remove_abandoned_secrets();

// What the probe asks a name server for in a run with this key.
[[nodiscard]] std::string name_of_probe(std::uint64_t key);

[[nodiscard]] std::vector<NegativeControl> results_of(std::uint32_t tried);
// "tcp, dns"
[[nodiscard]] std::string names_of(std::uint32_t probes);

}  // namespace hermetic::linux_backend
