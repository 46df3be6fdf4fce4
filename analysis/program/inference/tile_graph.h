// A tile program as nodes that need layouts and uses that may need conversions.
//
// Each op is a node; what it computes of several values by scalar expressions is a node of its own
// in front of it, so that values can be converted between. A value that is assigned more than once
// is a node that all of its assignments go to; a buffer is one whose label is a form of shared
// memory. Copies and barriers are no nodes: no layout changes what they cost. A `relayout` of the
// text is a cast, its layout is given.
#pragma once

#include "analysis/program/inference/scalar_work.h"
#include "analysis/program/layout/tensor_places.h"
#include "analysis/program/program.h"

#include <memory>
#include <optional>

namespace tilewright::inference {

enum class NodeKind : uint8_t {
  Load,
  Store,
  Atomic,
  Map,
  Reduce,
  Scan,
  Dot,
  Full,
  Carried, ///< a value that is assigned more than once
  Cast,
  Buffer,
  Read,
  SelectAxis,
  Join,
  SumSplits,
};

/// Values of a type on a box.
struct TileBox {
  program::AxisSet axes;
  layout::TileDims dims; ///< of the axes, in their order
  unsigned bits = 32;
  int64_t elements() const;
};

/// A use of a value (or, of a Buffer, of shared memory) by a node.
struct GraphUse {
  uint32_t from = 0;
  TileBox box;
  std::string value; ///< as the text names it
  /// How often a conversion for this use runs: where it is made or where it is used, whichever is
  /// less often.
  int64_t trips = 1;
};

struct GraphNode {
  NodeKind kind = NodeKind::Map;
  std::string name; ///< "x", "store y[i, j] = x"; no two have one name
  const program::Op *op = nullptr;
  program::RoleId role;
  int64_t warps = 4, trips = 1;
  bool isInLoop = false;
  TileBox space;  ///< whose layouts (of a Buffer: forms) are the node's labels
  TileBox result; ///< of the value that it makes, if it makes one
  bool hasResult = false;
  program::ValueId value; ///< that the result is, if it has a name in the text
  size_t resultCount = 1; ///< 2: argmax
  std::vector<GraphUse> uses;

  program::AxisSet over;        ///< Reduce, Scan, SelectAxis, Join, Dot: the axes that go (come)
  std::vector<ScalarWork> work; ///< Map
  std::shared_ptr<const layout::TensorPlaces> places; ///< Load, Store, Atomic
  program::BufferId buffer;                           ///< Buffer
  bool isCopied = false; ///< Buffer: filled by copies, which do not transpose
};

struct TileGraph {
  std::vector<GraphNode> nodes; ///< in the order of the text
  /// What is not priced, in words.
  std::vector<std::string> notes;
};

/// The program's sizes are numbers and its types are inferred. Loops whose trips depend on the CTA
/// are taken as in the middle one. BadInput: a size without a number; Unsupported: an access that
/// is not understood.
llvm::Expected<TileGraph> graphOf(const program::Program &program);

} // namespace tilewright::inference
