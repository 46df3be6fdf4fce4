#include "analysis/ir/call_graph.h"

namespace tilewright {

llvm::Expected<std::vector<GraphId>> calleesFirst(const Module &module) {
  // A depth-first walk with its own stack: the depth of calls is the input's choice.
  enum State : uint8_t { New, Active, Done };
  size_t count = module.all().size();
  std::vector<std::vector<std::pair<GraphId, const Op *>>> calls(count);
  for (uint32_t i = 0; i < count; ++i)
    for (const Op &op : module.graph(GraphId{i}).all())
      for (const CalledGraph &called : op.called)
        calls[i].emplace_back(called.graph, &op);
  std::vector<State> state(count);
  std::vector<std::pair<uint32_t, size_t>> stack; // graph, next of its calls
  std::vector<GraphId> order;
  for (uint32_t start = 0; start < count; ++start) {
    if (state[start] != New)
      continue;
    stack.emplace_back(start, 0);
    state[start] = Active;
    while (!stack.empty()) {
      auto &[graph, next] = stack.back();
      if (next == calls[graph].size()) {
        state[graph] = Done;
        order.push_back(GraphId{graph});
        stack.pop_back();
        continue;
      }
      auto [callee, op] = calls[graph][next++];
      if (state[callee.index] == Active)
        return makeError(module.diagAt(
            op->loc, fmt::format("{}: computation %{} calls itself through %{}",
                                 toString(op->opcode), module.graph(callee).name(), op->name)));
      if (state[callee.index] == New) {
        state[callee.index] = Active;
        stack.emplace_back(callee.index, 0);
      }
    }
  }
  return order;
}

} // namespace tilewright
