// Settings that a plan records of a loop of its program that copies what it reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright {

/// What the plan's stages and instruction leave open. Slots are the stages; who copies follows from
/// the instruction.
struct PlanLoop {
  std::string loop;             ///< the name of its steps: "t"
  std::optional<int64_t> ahead; ///< steps; not where a producer copies, as far ahead as slots allow
  std::optional<int64_t> wait;  ///< groups of products in flight, 0 or 1; of wgmma alone
  bool operator==(const PlanLoop &) const = default;
};

} // namespace tilewright
