// A layout that a plan records, of a value or an op of its program.
#pragma once

#include <string>

namespace tilewright {

struct PlanLayout {
  std::string of;     ///< as inference names it: "b", "store y[i, j] = b"
  std::string layout; ///< "registers 8:1@l | lanes 8:8@l 4:1@k | warps 4:1@j"
  bool operator==(const PlanLayout &) const = default;
};

} // namespace tilewright
