// PlanBatch: many plans of one group priced together, from their tile sizes, for a search.
//
//   PlanBatch batch(prototype, device);
//   for (…) batch.add(values);
//   std::vector<double> times(batch.size());
//   batch.score(parameters, CacheState::Flushed, times);
//
// The features of the first plan of a kind are derived as in featuresOf() while a trace (trace.h)
// records the arithmetic and the comparisons that decided its path. The recorded comparisons are
// then evaluated for 32 plans at a time and classify each; plans of one kind get their features and
// price in vectors, without allocation.
#pragma once

#include "costmodel/estimate.h"
#include "costmodel/feature_program.h"
#include "costmodel/trace.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tilewright {

class GroupFacts;

class PlanBatch {
public:
  /// Plans of the prototype's group. If the prototype has no instruction, each plan gets the
  /// preferred one.
  PlanBatch(KernelPlan prototype, const Device &device,
            std::optional<Instruction> instruction = std::nullopt);
  PlanBatch(PlanBatch &&) noexcept;
  ~PlanBatch();

  /// Plans are numbered in the order they are added. Internal errors for values that do not fit the
  /// space, Unsupported for a group without tiles.
  llvm::Error add(std::span<const int64_t> values);
  size_t size() const { return count; }
  /// Forgets the plans; keeps the known kinds and the memory.
  void clear();

  /// Writes the time of each plan to `timeNs` (of size() numbers): the very number that
  /// estimateTime() gives as `timeNs`. 0 for a plan without elements, infinity for one that can
  /// not be launched. Errors as featuresOf().
  llvm::Error score(const Parameters &parameters, CacheState cache, std::span<double> timeNs);

  /// The features of the plans, for tests: bit for bit those of featuresOf().
  llvm::Expected<std::vector<Features>> features();
  /// Number of kinds seen so far; paths that lead to the same arithmetic are one kind.
  size_t kinds() const { return classes.size(); }

private:
  struct Class;
  struct Branch {
    uint32_t guard = 0;         ///< index in `guards`
    int32_t next[2] = {-1, -1}; ///< successor if it fails, if it holds; -1: not seen yet
    int32_t leaf = -1;          ///< a class, if this is a leaf
  };

  uint32_t readSteps(std::span<const int64_t> sizes);
  double input(size_t plan, uint32_t column) const;
  /// Calls `visit` with each class and its plans, piece by piece of the batch.
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
  std::unique_ptr<GroupFacts> known; ///< of the prototype
  bool unevenLoops = false;
  size_t parameterCount = 0;
  std::vector<char> isSchedule; ///< one a parameter

  std::vector<double> values; ///< parameterCount a plan; has spare capacity
  size_t count = 0;
  // Loops of uneven length: mean and largest steps of each parameter, by tile sizes.
  std::vector<uint32_t> stepsOf; ///< one a plan: index into `steps`
  std::vector<double> steps;     ///< for each: parameterCount means, then as many maxima
  std::map<std::vector<int64_t>, uint32_t> knownSteps;
  std::vector<int64_t> stepsKey; ///< of the plan added last
  uint32_t lastSteps = 0;

  Trace trace;
  std::vector<std::unique_ptr<Class>> classes;
  std::map<std::vector<uint64_t>, int32_t> knownClasses; ///< by everything that defines them
  std::vector<Branch> tree;
  std::vector<uint32_t> guards; ///< trace nodes; their bits in a mask in this order
  std::vector<int32_t> placeOfGuard;
  std::optional<FeatureProgram> guardProgram;

  // Cache from mask to class: open addressing, `words` keys and one class each.
  size_t words = 0;
  std::vector<uint64_t> tableKeys;
  std::vector<int32_t> tableClasses;
  size_t tableUsed = 0;

  size_t lookAhead = FeatureProgram::plansPerRun; ///< plans whose masks are computed at once

  // Scratch space.
  std::vector<FeatureProgram::Slot> slots;
  std::vector<uint64_t> masks;
  std::vector<int32_t> classOfPlan;
  std::vector<uint32_t> order, starts;
};

} // namespace tilewright
