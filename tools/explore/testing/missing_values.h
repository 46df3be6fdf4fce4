// Whether the kernels of a model can run: every value that one reads was stored before.
#pragma once

#include "analysis/ir/free_view.h"
#include "tools/explore/explore.h"

#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// Runs the kernels of a model's entry in their order, by names alone. `graph` is the entry as it
/// was explored. A line for each value that is read, or is a result, and lies nowhere.
class MissingValues {
public:
  MissingValues(const Graph &graph, const ExploredModel &model) : graph(graph) {
    for (const ExploredKernel &kernel : model.kernels)
      if (kernel.computation.empty())
        for (const std::string &op : kernel.ops)
          isComputed.insert(graph.find(op));
    for (const ExploredKernel &kernel : model.kernels)
      if (kernel.computation.empty())
        run(kernel);
    if (!isInMemory(graph.root()))
      lines.push_back("nobody makes the result");
  }

  std::vector<std::string> lines;

private:
  void run(const ExploredKernel &kernel) {
    std::set<OpId> inside;
    for (const auto *names : {&kernel.ops, &kernel.recomputed})
      for (const std::string &name : *names)
        inside.insert(graph.find(name));
    for (OpId id : inside)
      for (OpId operand : graph.op(id).operands)
        if (!inside.count(operand) && !isInMemory(operand))
          lines.push_back(kernel.name + " reads " + graph.op(operand).name);
    for (const std::string &name : kernel.results) {
      if (!inside.count(graph.find(name)))
        lines.push_back(kernel.name + " stores " + name + ", which it does not compute");
      // Whatever shape its bytes are given.
      for (OpId id = graph.find(name); stored.insert(id).second && movesNoByte(graph, id);)
        id = graph.op(id).operands[0];
    }
  }

  /// What is stored, what no kernel computes, and the same bytes under another shape.
  bool isInMemory(OpId id) const {
    if (stored.count(id))
      return true;
    const Op &op = graph.op(id);
    if (isComputed.count(id) && !movesNoByte(graph, id))
      return false;
    for (OpId operand : op.operands)
      if (!isInMemory(operand))
        return false;
    return true;
  }

  const Graph &graph;
  std::set<OpId> isComputed, stored;
};

} // namespace tilewright
