// Loops over one axis while they become one. See online.h.
#pragma once

#include "analysis/program/pass/dependence.h"
#include "analysis/program/pass/edit.h"

#include <optional>

namespace tilewright::program {

class LoopFusion {
public:
  /// Starts with the loop region[at]. `program` gets values while the fused loop is made.
  LoopFusion(Program &program, const Region &region, size_t at);

  /// Adds the loop region[at], over the same axis, behind those that are there. Empty, or why it
  /// has to stay; then the fusion is not to be used any more.
  std::string add(size_t at);
  size_t size() const { return loops.size(); }

  /// The region with the fused loop in place of the first one.
  Region finish();

private:
  using Node = ScalarDag::Node;

  /// An op of the fused loop; what it computes is nodes, one for each of its scalar expressions.
  struct Item {
    std::vector<Op> ops; ///< one, or a loop inside behind the values that it carries
    std::vector<Node> roots;
    std::optional<size_t> accumulator; ///< that it is the update of
  };

  /// A value that the loop carries: value = value ⊕ term, or a dot's sum.
  struct Accumulator {
    ValueId value, result; ///< carried; behind the loop, over lanes (value itself where there is
                           ///< nothing to reduce)
    size_t loop = 0;       ///< in the region
    bool isDot = false;
    Monoid monoid = Monoid::Add;
    Opcode opcode = Opcode::Add;
    Node condition = 0, term = 0; ///< condition: where the step counts
    bool hasCondition = false;
    Node left = 0, right = 0; ///< of a dot
    Op op;                    ///< the update as it was
    AxisSet lanes;            ///< reduced behind the loop
    Dependence dependence;    ///< of what is accumulated; terms in final results
    /// Known in full in every step: `running` from step to step, `next` behind the update.
    bool isRunning = false;
    ValueId running, next;
    bool isNextUsed = false;
  };

  // loop_fusion.cpp
  void addLoop(size_t at);
  void addCopies(const ForOp &loop);
  void addOp(const Op &op, const std::vector<Op> &starts);
  void addPlain(Op op);
  Dependence behindWrite(BufferId buffer, const Dependence &of) const;
  void addInner(const Op &op, const std::vector<Op> &starts);
  void addBetween(size_t from, size_t to);
  bool dependsOnLoops(const Op &op) const;
  bool readsUnknown(const Op &op) const;
  void refuse(std::string why);
  Node leafNode(const ScalarNode &leaf);
  Node nodeOf(const ScalarExpr &scalar);
  Dependence leafDependence(Node leaf) const;
  Node inStep(Node node);
  Node shiftOf(Node term, bool isNext);
  struct Infinities {
    bool low = false, high = false; ///< -inf, inf
  };
  Infinities infinitiesOf(Node term) const;
  Node finite(Node shift, Infinities start);
  void refuseGrowth(const Dependence &of);
  ValueId newValue(DType type, const AxisSet &axes);

  // loop_fusion_update.cpp
  void addUpdate(const Op &op);
  void addMapUpdate(Accumulator made, const MapOp &map);
  void addDotUpdate(Accumulator made, const DotOp &dot);
  AxisSet countingAxes(Node condition) const;
  Node withoutPadding(Node node);
  Node withoutZeros(Node node);
  void setResult(Accumulator &accumulator);
  void makeRunning(Accumulator &accumulator);

  // loop_fusion_emit.cpp
  struct Step {
    Op op;
    std::vector<Node> roots;
  };
  std::vector<Step> steps();
  void addUpdateSteps(size_t accumulator, std::vector<Step> &steps, std::vector<Step> &ends);
  void countUses(const std::vector<Step> &steps);
  void emit(Step step, Region &into);
  void emitShared(Node root, Region &into);
  ScalarExpr exprOf(Node root) const;
  bool isShared(Node node) const;
  Node moved(const Accumulator &accumulator, Node value, const std::function<Node(Node)> &from,
             const std::function<Node(Node)> &to);
  bool isCorrectedByDivisor(const Accumulator &accumulator) const;
  Node settled(Node node);
  const FullOp *startOf(const Accumulator &accumulator) const;
  void addStarts(Region &into);
  void addCorrections(size_t at, Region &into);
  std::set<size_t> neededInFront() const;

  Program &p;
  const Region &region;
  std::vector<size_t> loops; ///< in the region
  ForOp loop;
  ScalarDag dag;
  std::vector<Item> items;
  std::vector<Accumulator> accumulators;
  std::map<ValueId, size_t> resultOf;     ///< accumulator of a result
  std::map<ValueId, Node> nodeOfValue;    ///< of maps in the loops and behind them
  std::map<ValueId, Dependence> inner;    ///< of other values of the loops
  std::set<ValueId> unknown;              ///< made behind a loop by something else than maps
  std::set<ValueId> made;                 ///< by the loops and what depends on them
  std::map<BufferId, BufferId> buffers;   ///< equal ones
  std::map<BufferId, Dependence> written; ///< in the loops
  std::optional<Dependences> dependences;
  std::string reason;
  std::map<Node, size_t> uses;
  std::map<Node, ValueId> held;
  std::map<ValueId, ValueId> final; ///< results, as they are behind the fused loop
};

} // namespace tilewright::program
