// The work at each level of a compiled search (internal to analysis/solve).
#pragma once

#include "analysis/solve/compiled.h"
#include "analysis/solve/guards.h"

namespace tilewright {

struct CompiledSystem::Plan {
  using RegisterId = detail::RegisterId;

  /// Registers to compute, then a constraint's truth. With a corner, the constraint is still open,
  /// and each later parameter stands at the value that suits it best: it is monotone in all of
  /// them, so that it can still become true just if it is true there.
  struct Check {
    std::vector<detail::Step> steps; ///< for each value of the level's parameter
    RegisterId truth;
    uint32_t constraint;
    bool acceptsPrefix = false; ///< of a monotone check: accepts small sizes, else large ones
    std::vector<std::pair<RegisterId, int64_t>> corner;
    std::vector<detail::Step> cornerSteps; ///< before `steps`, once for all values
  };

  /// Where an abstract operand lives: a slot of the abstract state, or a decided register.
  struct Operand {
    bool isSlot;
    uint32_t index;
  };
  struct AbstractStep {
    detail::Code op;
    Operand a, b, c;
    uint32_t result; ///< slot
  };

  struct Level {
    uint32_t parameter;
    std::vector<int64_t> values;     ///< candidates that pass the constraints on this one alone
    std::vector<uint32_t> origin;    ///< their places in the system's list
    std::vector<Check> monotone;     ///< cut [0, size) to a range
    std::vector<Check> checks;       ///< run for each value
    std::vector<Check> outlooks;     ///< run for each value that passed, with corners
    std::vector<detail::Step> tail;  ///< needed by later levels only
    std::vector<RegisterId> carried; ///< decided here, and read by later levels
    std::vector<AbstractStep> abstractSteps;
    std::vector<uint32_t> prunes;        ///< slots of truths that must still be possible
    std::vector<uint32_t> openIrregular; ///< open constraints without a corner: the slots' ones
    /// No constraint on several parameters involves this one: the subtree is the same for each of
    /// its values.
    bool isIndifferent = false;
    /// No level from here on has a check; `below` points per value of the level before (nothing:
    /// over 64 bits).
    bool isFree = false;
    std::optional<uint64_t> below;
  };

  explicit Plan(const ConstraintSystem &system) : program(system) {}
  void build(const ConstraintSystem &system, SearchOrder order);

  detail::Program program;
  std::vector<RegisterId> truths;             ///< a constraint each
  std::vector<std::vector<RegisterId>> cones; ///< a constraint each
  std::vector<uint64_t> parametersOf;         ///< by register: Register::parameters
  std::vector<std::vector<int64_t>> lists;    ///< all candidates, by parameter
  std::vector<Level> levels;
  detail::ConcreteState initialState;
  std::vector<detail::Abstract> initialSlots;
  bool isNever = false; ///< a constraint without parameters does not hold
  uint64_t undecided = 0;
  std::optional<size_t> undecidedConstraint;

private:
  void noteUndecided(size_t constraint);
  void filterLists(const ConstraintSystem &system);
  void orderLevels(SearchOrder order, const std::vector<detail::Abstract> &box);
  void placeChecks(const std::vector<detail::Abstract> &box);
  void placeOutlooks(const std::vector<detail::Abstract> &box);
  void placeAbstractSteps(const std::vector<detail::Abstract> &box);
  void placeCarried();
  std::vector<Interval> boxOfLists() const;
  /// Is a register known at this level before any of its operations?
  bool isGiven(RegisterId id, size_t level) const;
  size_t levelOf(RegisterId id) const; ///< level at which a register is decided

  std::optional<detail::Guards> guards;
  std::vector<uint32_t> levelOfParameter;
  std::vector<std::vector<detail::Trend>> trends; ///< by level, of every register
};

} // namespace tilewright
