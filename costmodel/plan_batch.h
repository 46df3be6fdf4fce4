// PlanBatch: many plans of one group priced together, from their tile sizes, for a search.
//
//   PlanBatch batch(prototype, device);
//   for (…) batch.add(values);
//   std::vector<double> times(batch.size());
//   batch.score(parameters, CacheState::Flushed, times);
//
// The first plan of a kind is worked out as featuresOf() does, and what it takes is recorded
// (trace.h): the arithmetic, and the comparisons that decided its path. The comparisons of all
// kinds met so far are made for 32 plans at a time and tell the kind of each; plans of one kind
// then get their features and their price side by side, without allocating anything.
#pragma once

#include "costmodel/estimate.h"
#include "costmodel/feature_program.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tilewright {

class PlanBatch {
public:
  /// Plans of the prototype's group. Without an instruction, each plan gets the preferred one.
  PlanBatch(KernelPlan prototype, const Device &device,
            std::optional<Instruction> instruction = std::nullopt);
  PlanBatch(PlanBatch &&) noexcept;
  ~PlanBatch();

  /// Plans are numbered in the order they are added. Internal errors for values that do not fit the
  /// space, Unsupported for a group without tiles.
  llvm::Error add(std::span<const int64_t> values);
  size_t size() const { return count; }
  /// Forgets the plans; what is known of their kinds, and memory, are kept.
  void clear();

  /// Writes the time of each plan to `timeNs` (of size() numbers): the very number that
  /// estimateTime() gives as `timeNs`. 0 for a plan without elements, infinity for one that can
  /// not be launched. Errors as featuresOf().
  llvm::Error score(const Parameters &parameters, CacheState cache, std::span<double> timeNs);

  /// The features of the plans, for tests: the very numbers of featuresOf().
  llvm::Expected<std::vector<Features>> features();
  /// Kinds of plans met so far: paths that lead to the same arithmetic are one.
  size_t kinds() const { return classes.size(); }

private:
  struct Class;
  struct Branch {
    uint32_t guard = 0;         ///< its place in `guards`
    int32_t next[2] = {-1, -1}; ///< where it does not hold, where it does; -1: not met yet
    int32_t leaf = -1;          ///< a class, and no guard
  };

  uint32_t readSteps(std::span<const int64_t> sizes);
  double input(size_t plan, uint32_t column) const;
  /// Calls `visit` with each class and the plans of it in some piece of the batch.
  template <class Visit> llvm::Error forEachClass(const Visit &visit);
  llvm::Error classify(size_t first, size_t end);
  void makeMasks(size_t first, size_t end);
  int32_t classOf(const uint64_t *mask);
  int32_t walk(const uint64_t *mask) const;
  llvm::Expected<int32_t> addClass(size_t plan);
  void addPath(int32_t leaf);
  template <class PlanAt>
  void gather(const FeatureProgram &program, size_t plans, const PlanAt &planAt);

  KernelPlan prototype;
  const Device &device;
  std::optional<Instruction> instruction;
  bool unevenLoops = false;
  size_t parameterCount = 0;
  std::vector<char> isSchedule; ///< one a parameter

  std::vector<double> values; ///< parameterCount a plan; with room for more plans than there are
  size_t count = 0;
  // Uneven loops: mean and most steps of each parameter, by tile sizes.
  std::vector<uint32_t> stepsOf; ///< one a plan: which steps it has
  std::vector<double> steps;     ///< parameterCount means and as many most ones for each
  std::map<std::vector<int64_t>, uint32_t> knownSteps;
  std::vector<int64_t> stepsKey; ///< of the plan added last
  uint32_t lastSteps = 0;

  Trace trace;
  std::vector<std::unique_ptr<Class>> classes;
  std::map<std::vector<uint64_t>, int32_t> knownClasses; ///< by all that they are made of
  std::vector<Branch> tree;
  std::vector<uint32_t> guards; ///< trace nodes; their bits in a mask in this order
  std::vector<int32_t> placeOfGuard;
  std::optional<FeatureProgram> guardProgram;

  // Classes by mask, for masks seen lately: open addressing, `words` keys and one class each.
  size_t words = 0;
  std::vector<uint64_t> tableKeys;
  std::vector<int32_t> tableClasses;
  size_t tableUsed = 0;

  size_t lookAhead = FeatureProgram::plansPerRun; ///< plans whose masks are made at once

  // Scratch space.
  std::vector<FeatureProgram::Slot> slots;
  std::vector<uint64_t> masks;
  std::vector<int32_t> classOfPlan;
  std::vector<uint32_t> order, starts;
};

} // namespace tilewright
