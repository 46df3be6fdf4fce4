// Graph: one computation's dataflow. Module: the graphs of one file.
//
// Ops are a vector in file order; operands precede their users, so the vector is in topological
// order. Questions about paths and convexity are answered on a Boost.Graph view
// (graph_algorithms.h).
#pragma once

#include "analysis/ir/op.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright {

class Graph {
public:
  Graph() = default;
  explicit Graph(std::string name) : graphName(std::move(name)) {}

  const std::string &name() const { return graphName; }
  size_t size() const { return ops.size(); }
  const Op &op(OpId id) const { return ops[id.index]; }
  Op &op(OpId id) { return ops[id.index]; }
  const Op &operator[](OpId id) const { return op(id); }

  /// All ops in file order, which is a topological order.
  std::span<const Op> all() const { return ops; }

  /// Appends an op. Its operands must be in the graph and its name new.
  OpId add(Op op);

  /// The op of that name (without '%'); an invalid id if there is none.
  OpId find(std::string_view name) const;

  OpId root() const { return rootId; }
  void setRoot(OpId id) { rootId = id; }

  /// Parameters by number.
  std::vector<OpId> parameters() const;

  /// Users of each op, by op index, each user once and in id order.
  std::vector<std::vector<OpId>> users() const;

  SourceLoc loc;
  /// Text between the name and the brace, verbatim: "(p: f32[4]) -> f32[4]"; often empty.
  std::string signature;
  /// Text between the closing brace and the next computation, verbatim: execution thread, etc.
  std::string suffix;

private:
  std::string graphName;
  std::vector<Op> ops;
  std::unordered_map<std::string, OpId> byName;
  OpId rootId;
};

/// The graphs of one model file.
class Module {
public:
  std::string name;
  std::vector<RawAttribute> attributes;       ///< of the HloModule line, in order
  std::string preamble;                       ///< stack-frame tables and the like, verbatim
  SourceLoc loc;                              ///< where it begins in its file
  std::shared_ptr<const SourceBuffer> source; ///< for diagnostics; null for graphs built by hand

  const Graph &graph(GraphId id) const { return graphs[id.index]; }
  Graph &graph(GraphId id) { return graphs[id.index]; }
  std::span<const Graph> all() const { return graphs; }
  GraphId add(Graph graph);
  GraphId find(std::string_view name) const;

  GraphId entryId;
  const Graph &entry() const { return graph(entryId); }

  /// A diagnostic at an op of this module.
  Diag diagAt(SourceLoc where, std::string message, DiagClass cls = DiagClass::BadInput) const;

private:
  std::vector<Graph> graphs;
  std::unordered_map<std::string, GraphId> byName;
};

} // namespace tilewright
