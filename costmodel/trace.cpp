#include "costmodel/trace.h"

namespace tilewright {

thread_local Trace *Trace::current = nullptr;

size_t Trace::Hash::operator()(const TraceNode &node) const {
  uint64_t h = std::bit_cast<uint64_t>(node.value) + uint64_t(node.op);
  for (uint64_t part : {uint64_t(node.a), uint64_t(node.b)})
    h = (h ^ part) * 0x9e3779b97f4a7c15 ^ (h >> 29);
  return h ^ (h >> 32);
}

uint32_t Trace::add(TraceOp op, uint32_t a, uint32_t b, double value) {
  auto [it, isNew] = known.try_emplace({op, a, b, value}, static_cast<uint32_t>(all.size()));
  if (isNew) {
    all.push_back({op, a, b, value});
    lastMet.push_back(0);
  }
  return it->second;
}

void Trace::startRun() {
  met.clear();
  ++run;
}

bool Trace::guard(uint32_t node, bool holds) {
  if (lastMet[node] != run) {
    lastMet[node] = run;
    met.push_back({node, holds});
  }
  return holds;
}

} // namespace tilewright
