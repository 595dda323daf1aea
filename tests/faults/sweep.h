// Sweeps: the same run again and again, with a fault at one call after the other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/faults/scene.h"

namespace hermetic {

// Every so many calls only, where they are slow or were all tried by somebody else.
inline std::size_t every_so_many() {
  const char* value = std::getenv("HERMETIC_FAULTS_EVERY");
  if (value != nullptr) return std::stoul(value);
#ifdef HERMETIC_SANITIZED
  return 10;
#else
  return 1;
#endif
}
inline const std::size_t kSlowness = every_so_many();
inline constexpr std::size_t kMostComplaints = 10;
inline constexpr int kKill = 0;

struct Sweep {
  Role role = Role::Supervisor;
  int error = kKill;
  std::size_t every = 1;
  std::optional<long> from = {};  // the first call of this kind; those before it are let be
};

// Tries faults and remembers what they led to.
class Sweeper {
 public:
  explicit Sweeper(const Scene::Kind& kind) : scene(kind), complaints_(scene.problem()) {}

  void sweep(const Sweep& sweep) {
    if (!scene.problem().empty()) return;
    const std::vector<long>& calls = scene.calls().at(sweep.role);
    std::size_t number = 0;
    if (sweep.from)
      number = static_cast<std::size_t>(std::find(calls.begin(), calls.end(), *sweep.from) -
                                        calls.begin());
    for (; number < calls.size(); number += sweep.every * kSlowness) {
      if (sweep.error != kKill && !can_fail(calls[number])) continue;
      const Scene::Trial trial = scene.attempt({sweep.role, number, sweep.error});
      if (!trial.traced.reached) continue;  // fewer calls than the first time
      answers.push_back(trial.traced.said);
      for (const std::string& complaint : trial.complaints)
        complain(std::string(to_string(sweep.role)) + ", call " + std::to_string(number) +
                 " (system call " + std::to_string(trial.traced.system_call) + "), " +
                 (sweep.error == kKill ? "SIGKILL" : ::strerrorname_np(sweep.error)) + ": " +
                 complaint);
    }
  }

  void complain(const std::string& text) {
    if (++count_ <= kMostComplaints) complaints_ += text + "\n";
  }

  [[nodiscard]] std::string result() const {
    if (count_ <= kMostComplaints) return complaints_;
    return complaints_ + std::to_string(count_) + " complaints in all\n";
  }

  Scene scene;
  std::vector<std::string> answers;

 private:
  std::string complaints_;
  std::size_t count_ = 0;
};

inline std::string complaints_of(const Scene::Kind& kind, const std::vector<Sweep>& sweeps) {
  Sweeper sweeper(kind);
  for (const Sweep& sweep : sweeps) sweeper.sweep(sweep);
  if (sweeper.answers.empty()) sweeper.complain("no fault was made");
  return sweeper.result();
}

inline void expect_no_complaints(const std::function<std::string()>& complaints) {
  const Answer answer = ask_with_own_mounts(complaints);
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_TRUE(answer.text.empty()) << answer.text;
}

}  // namespace hermetic
