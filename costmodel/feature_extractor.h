// Features of a plan from its view: the steps that derive() takes. Internal to the folder.
#pragma once

#include "analysis/tiling/resources.h"
#include "costmodel/access.h"
#include "costmodel/derive.h"
#include "costmodel/dot_analysis.h"
#include "costmodel/op_cost.h"
#include "costmodel/resources.h"
#include "costmodel/trace.h"

#include <utility>
#include <vector>

namespace tilewright {

/// The schedule of a plan as numbers.
template <class Q> struct ScheduleOf { Q warps = 4, stages = 1, splitK = 1, groupM = 1; };

/// What a program's folds say of a plan.
template <class Q> struct ProgramFacts {
  Q rowSumBytes = 0; ///< that a CTA leaves where several share sums of rows
  /// LaneOps of all threads of a CTA.
  struct Lanes {
    Q alu = 0, half = 0, sfu = 0;
  };
  struct Work {
    Lanes inSteps, outside; ///< of loops over what is reduced
    Q loads = 0;            ///< instructions of its warps
  };
  std::optional<Work> work; ///< of elementwise code and of reductions
};

/// Numbers are double, or traced: then every plan of a group is derived at once (trace.h).
template <class Q> class FeatureExtractor {
public:
  using InstanceView = InstanceViewOf<Q>;

  FeatureExtractor(const KernelPlan &plan, const CodeChoice &code, const Device &device,
                   const ScheduleOf<Q> &schedule, const ProgramFacts<Q> &facts,
                   const Reachable &reachable, PlanViewOf<Q> view)
      : plan(plan), code(code), instruction(code.instruction), device(device), graph(plan.ops()),
        view(std::move(view)), schedule(schedule), facts(facts), reachable(reachable),
        dots(analyseDots(plan, this->view, code)) {}

  FeaturesOf<Q> run();
  /// What run() found that decides the registers.
  const RegisterFacts<Q> &registerFacts() const { return registers; }

private:
  void addDots();
  Q stepShare(const InstanceView &v) const;
  void finishLoop();

  // feature_inputs.cpp
  void readRaster();
  void addInputs();
  static bool dependsOn(const InstanceView &v, int parameter);
  static std::vector<unsigned> sortedUnique(std::vector<unsigned> values);
  std::vector<unsigned> footprintMovers(const InstanceView &v) const;
  Q addOperandFootprint(const InstanceView &v, double most);
  Q segmentOf(const InstanceView &v) const;
  bool isDotInput(const InstanceView &v) const;
  Q piecesOf(const InstanceView &v) const;
  Q copiesPerIteration(const InstanceView &v) const;
  void addDotInput(const InstanceView &v);
  template <class Visit> void forEachOperand(const InstanceView &v, const Visit &visit) const;
  bool isScatteredInput(const InstanceView &v) const;
  std::pair<Q, Q> copiesOf(const InstanceView &v) const;
  Q buffers(const InstanceView &v) const;
  void addDirectInput(const InstanceView &v, const Q &body);
  Q shareWithData(const InstanceView &v, const Q &vector) const;
  static bool movesAlongRows(const InstanceView &v);

  // feature_arithmetic.cpp
  void addArithmetic();
  void addCost(const InstanceView &v, const Q &done);
  LaneOps costOf(const InstanceView &v) const;
  Q rowRepeats(const InstanceView &v) const;
  Q largestBody() const;
  void addLoops(const InstanceView &v);
  void addReductions();
  void addReductionExchange(const InstanceView &v, const InstanceView &operand);
  Q loadedVector(const InstanceView &operand) const;

  // feature_outputs.cpp
  void addOutputs();
  void addAtomics(const InstanceView &v);
  static double sumBytes(const InstanceView &v);
  void addPartialSums(const InstanceView &v, double width);
  void addStores(const InstanceView &v, double width);
  void noteSegment(const InstanceView &v, double width);
  bool isTransposed(const InstanceView &root) const;
  void addTransposition(const InstanceView &v, double width);

  const KernelPlan &plan;
  CodeChoice code;
  Instruction instruction;
  const Device &device;
  const Graph &graph;
  PlanViewOf<Q> view;
  ScheduleOf<Q> schedule;
  ProgramFacts<Q> facts;
  const Reachable &reachable;
  FeaturesOf<Q> f;
  RegisterFacts<Q> registers;
  DotAnalysis<Q> dots;
  int rowParameter = -1, columnParameter = -1;
  bool neighboursByRow = false, misaligned = false;
  double misalignedFactor = 1;
  Q copies = 0;
  Q flopsInLoop = 0, flopsOutside = 0; ///< issued by a CTA: of an iteration, and once
  Q loadsWithData = 0;                 ///< of loadsPerThread, those that bring something
};

} // namespace tilewright
