// The rule of each op: which layouts it can work in, what its operands need then, how its result is
// held, and what that costs. The table is data; labelFor() executes it.
#pragma once

#include "analysis/program/inference/moves.h"
#include "analysis/program/inference/tile_graph.h"

namespace tilewright::inference {

/// How a value is held: in registers, in shared memory, or not at all (it is none of one).
struct Held {
  enum class Kind : uint8_t { Nothing, Layout, Form };
  Kind kind = Kind::Nothing;
  uint32_t id = 0;
  bool operator==(const Held &) const = default;
  static Held layout(LayoutId id) { return {Kind::Layout, id}; }
  static Held form(FormId id) { return {Kind::Form, id}; }
};

/// A choice for a node.
struct NodeLabel {
  std::string text;
  Held held; ///< the label itself: of a dot that of its sums
  Held result;
  std::vector<Held> needs; ///< by use
  Cost own = 0;
  uint32_t registers = 0; ///< 32-bit ones of a thread, of the wider of label and result
  std::string detail;     ///< "16 B a lane, 256 sectors of at least 256"
};

/// What the label of an op is a layout of.
enum class LabelOf : uint8_t { Result, Operand, Form, Instruction };
/// What a use needs, of the label.
enum class NeedOf : uint8_t {
  Label,      ///< the label
  Restricted, ///< the label without the axes that the operand lacks
};
enum class ResultOf : uint8_t {
  Nothing,
  Label,
  Reduced, ///< without the axes that go; lanes and warps along them hold copies
  Joined,  ///< with a register digit along the new axis
};
enum class WorkOf : uint8_t {
  Nothing,
  Access,     ///< lines, sectors and instructions of a load or store
  Atomic,     ///< the same, an element a lane
  Scalars,    ///< ALU instructions of all holders
  Reduction,  ///< in threads, between lanes, between warps
  Scan,       ///< a reduction that keeps its steps
  Fill,       ///< a register each
  Select,     ///< from lanes or registers
  Sum,        ///< of CTAs, through global memory
  Instruction ///< of the matrix unit, or fma
};

struct OpRule {
  NodeKind kind;
  std::string_view op;
  LabelOf label;
  NeedOf need;
  ResultOf result;
  WorkOf work;
};
const OpRule &ruleOf(NodeKind kind);

/// Executes the rules for one program. Labels of dots are made in dot_rules.cpp.
class Rules {
public:
  Rules(const program::Program &program, LayoutTable &table, MovePricer &pricer,
        const LayoutPrices &prices)
      : p(program), table(table), pricer(pricer), prices(prices) {}

  /// Unsupported: the op cannot work in this layout, with the reason.
  llvm::Expected<NodeLabel> labelFor(const GraphNode &node, LayoutId layout);
  /// Of a buffer: all forms that it may have, with that of the text.
  std::vector<NodeLabel> formLabels(const GraphNode &node, std::optional<FormId> given);
  /// Of a dot by mma.sync or wgmma: variants. `reason`: of none.
  std::vector<NodeLabel> instructionLabels(const GraphNode &node, const TileGraph &graph,
                                           std::string &reason);
  /// The label without what a tile lacks.
  LayoutId restricted(LayoutId layout, const TileBox &from, const program::AxisSet &to);
  /// What no layout can avoid.
  Cost floorOf(const GraphNode &node, const TileGraph &graph) const;

private:
  Cost ownFloorOf(const GraphNode &node) const;
  Cost sharedFloorOf(const GraphNode &node, const TileGraph &graph) const;
  /// Does a form have the dims of a buffer in its order?
  bool isInOrderOf(const GraphNode &node, const SharedForm &form) const;
  LayoutId reducedOver(LayoutId layout, const TileBox &from, const program::AxisSet &over);
  llvm::Expected<Held> resultFor(const GraphNode &node, LayoutId layout, ResultOf how);
  llvm::Error work(const GraphNode &node, NodeLabel &label, LayoutId layout);
  llvm::Error access(const GraphNode &node, NodeLabel &label, LayoutId layout, bool isAtomic);
  Cost scalars(const GraphNode &node, LayoutId layout);
  Cost reduction(const GraphNode &node, NodeLabel &label, LayoutId layout);
  llvm::Error scan(const GraphNode &node, NodeLabel &label, LayoutId layout);
  llvm::Error select(const GraphNode &node, NodeLabel &label, LayoutId layout);
  llvm::Expected<NodeLabel> fmaLabel(const GraphNode &node, LayoutId layout);
  int64_t words(LayoutId layout, unsigned bits) const;

  struct AccessCost {
    Cost cost = impossible;
    std::string detail;
  };
  const program::Program &p;
  LayoutTable &table;
  MovePricer &pricer;
  const LayoutPrices &prices;
  std::map<std::pair<const layout::TensorPlaces *, LayoutId>, AccessCost> accessCosts;
};

} // namespace tilewright::inference
