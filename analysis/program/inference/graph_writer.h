// Nodes of a tile graph as ops are gone through: places, uses, and which node has a value.
// Internal.
#pragma once

#include "analysis/program/inference/tile_graph.h"

#include <map>
#include <set>

namespace tilewright::inference {

/// Where an op stands.
struct GraphPlace {
  int64_t trips = 1;
  program::RoleId role;
  bool isInLoop = false;
};

class GraphWriter {
public:
  /// CTAs stand in the middle.
  explicit GraphWriter(const program::Program &program);

protected:
  void countAssignments(const program::Region &region);
  TileBox boxOf(const program::AxisSet &axes, DType type) const;
  GraphNode &add(NodeKind kind, std::string name, const program::Op &op, const GraphPlace &place);
  uint32_t last() const { return static_cast<uint32_t>(graph.nodes.size() - 1); }
  void use(GraphNode &node, uint32_t from, TileBox box, std::string value);
  /// The node that has a value; values are defined before they are used.
  uint32_t producerOf(program::ValueId value) { return madeBy.at(value); }
  void useValue(GraphNode &node, program::ValueId value);
  /// The name of an op's result: of values that are assigned once, the value's.
  std::string resultName(const program::Op &op) const;
  /// What an op makes: the value's node, or one of the assignments that go to it.
  void define(const program::Op &op, uint32_t node, const GraphPlace &place);
  void useLeaves(uint32_t n, const program::ScalarExpr &scalar);
  /// A node that computes a scalar expression over some axes.
  uint32_t addMap(const program::ScalarExpr &scalar, const program::AxisSet &axes, DType type,
                  std::string name, const program::Op &op, const GraphPlace &place);
  /// The value of an expression: a value itself, or that of a node in front of the op.
  void useScalar(uint32_t n, const program::ScalarExpr &scalar, DType type,
                 const std::string &name);
  void useBuffer(uint32_t n, program::BufferId buffer);
  uint32_t bufferNode(program::BufferId buffer, uint32_t user);
  /// Values that an access is indexed by.
  void useIndices(uint32_t n, const program::Access &access);
  llvm::Error setPlaces(uint32_t n, const program::Access &access, const program::AxisSet &axes);

  const program::Program &p;
  Assignment middle; ///< CTAs and steps in the middle
  TileGraph graph;
  std::map<program::ValueId, size_t> assignments;
  std::map<program::ValueId, uint32_t> madeBy;
  std::map<program::BufferId, uint32_t> buffers;
  std::set<program::BufferId> copied;
  std::map<std::string, size_t> names;
};

} // namespace tilewright::inference
