// SHA-256, the one digest of the project: always whole, always lower-case hexadecimal.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hermetic {

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::string_view bytes);
  [[nodiscard]] std::string finish();  // 64 hexadecimal digits; call it once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace hermetic
