#include "analysis/import/computations.h"

#include "analysis/import/hlo_attribute_printer.h"

#include <algorithm>
#include <iterator>

namespace tilewright {

void setAttributeTexts(Module &module) {
  for (uint32_t g = 0; g < module.all().size(); ++g) {
    Graph &graph = module.graph(GraphId{g});
    for (uint32_t i = 0; i < graph.size(); ++i) {
      Op &op = graph.op(OpId{i});
      std::vector<RawAttribute> kept = std::move(op.rawAttrs);
      op.rawAttrs.clear();
      if (op.opcode == Opcode::Conditional && graph.op(op.operands[0]).shape.dtype == DType::Pred &&
          op.called.size() == 2)
        for (size_t k : {0, 1}) // HLO has names for the branches of a truth value
          kept.push_back({k == 0 ? "true_computation" : "false_computation",
                          "%" + module.graph(op.called[k].graph).name(), op.loc});
      for (auto &[name, text] : typedAttributes(module, op))
        if (std::none_of(kept.begin(), kept.end(), [&](auto &raw) {
              return raw.name == name ||
                     (raw.name == "true_computation" && name == "branch_computations");
            }))
          op.rawAttrs.push_back({name, std::move(text), op.loc});
      op.rawAttrs.insert(op.rawAttrs.end(), std::make_move_iterator(kept.begin()),
                         std::make_move_iterator(kept.end()));
    }
  }
}

void dropUnreached(Module &module) {
  std::vector<bool> isReached(module.all().size());
  std::vector<GraphId> open = {module.entryId};
  isReached[module.entryId.index] = true;
  while (!open.empty()) {
    const GraphId id = open.back();
    open.pop_back();
    for (const Op &op : module.graph(id).all())
      for (const CalledGraph &called : op.called)
        if (!isReached[called.graph.index]) {
          isReached[called.graph.index] = true;
          open.push_back(called.graph);
        }
  }
  Module kept;
  kept.name = module.name;
  kept.attributes = std::move(module.attributes);
  kept.loc = module.loc;
  kept.source = module.source;
  std::vector<GraphId> now(module.all().size());
  for (uint32_t g = 0; g < module.all().size(); ++g)
    if (isReached[g])
      now[g] = kept.add(std::move(module.graph(GraphId{g})));
  for (uint32_t g = 0; g < kept.all().size(); ++g) {
    Graph &graph = kept.graph(GraphId{g});
    for (uint32_t i = 0; i < graph.size(); ++i)
      for (CalledGraph &called : graph.op(OpId{i}).called)
        called.graph = now[called.graph.index];
  }
  kept.entryId = now[module.entryId.index];
  module = std::move(kept);
}

} // namespace tilewright
