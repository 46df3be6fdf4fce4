// What the things that a thread counts take of its registers: the constants of
// register_estimate.cpp.
#pragma once

#include "analysis/tiling/resources.h"

#include <array>
#include <string_view>

namespace tilewright {

enum class RegisterCost : uint8_t {
#define TILEWRIGHT_REGISTER_COST(constant, sixteenths, origin, name) constant,
#include "analysis/tiling/register_costs.def"
  Count
};

struct RegisterCostFacts {
  enum class Origin : uint8_t {
    Declared, ///< what the code declares
    Fitted,   ///< to what ptxas took, by scripts/fit_registers.sh
    Timed,    ///< of an earlier fit, kept for the times that it gives
    Assumed,  ///< no measured kernel has one
  };
  std::string_view constant;
  int64_t sixteenths; ///< of a register, for one of what is counted
  Origin origin;
  std::string_view name;
};
const RegisterCostFacts &registerCostFacts(RegisterCost cost);

/// Sixteenths of a register for each cost: constants, or variables where they are to be fitted.
using RegisterCosts = std::array<Expr, static_cast<size_t>(RegisterCost::Count)>;
/// Those of register_costs.def.
RegisterCosts registerCosts(ExprContext &ctx);

/// Resources with other costs of registers.
Resources resourcesByKind(const Graph &graph, const TiledGroup &group, const CodeChoice &code,
                          const DeviceLimits &limits, const RegisterCosts &costs);

} // namespace tilewright
