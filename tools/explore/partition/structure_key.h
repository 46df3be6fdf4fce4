// Keys of groups: equal for groups that differ in names and places alone.
//
// The layers of a network are the same groups over and over. A key is made of the ops with shapes,
// layouts and attributes, of which op reads which, of what is read from outside (which operands are
// one tensor, and its shape) and of which results leave. Whatever a plan or a price is derived from
// is in it, so that groups of one key have the same plans at the same prices.
#pragma once

#include "tools/explore/kernels.h"
#include "tools/explore/partition/key_hash.h"

#include <vector>

namespace tilewright {

class StructureKeys {
public:
  /// The module must live as long. Looks at every op once.
  explicit StructureKeys(const Module &module);

  StructureKey of(GraphId graph, const Group &group) const;

private:
  void addGraph(GraphId id);

  const Module &module;
  std::vector<std::vector<StructureKey>> ops; ///< by graph and op: without its operands
  std::vector<StructureKey> shapes;           ///< of the ops' results, as `ops` one after the other
  std::vector<size_t> firstShape;             ///< by graph
  std::vector<StructureKey> graphs;
  std::vector<bool> isKnown;
};

} // namespace tilewright
