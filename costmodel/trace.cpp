#include "costmodel/trace.h"

namespace tilewright {

thread_local Trace *Trace::current = nullptr;

uint32_t Trace::add(TraceOp op, uint32_t a, uint32_t b, double value) {
  const TraceNode node{op, a, b, value};
  const uint64_t hash =
      detail::mixHash(std::bit_cast<uint64_t>(value) ^ uint64_t(op), uint64_t(a) << 32 | b);
  if (const uint32_t *same = known.find(hash, [&](uint32_t at) { return all[at] == node; }))
    return *same;
  const auto added = static_cast<uint32_t>(all.size());
  known.insert(hash, added);
  all.push_back(node);
  lastMet.push_back(0);
  return added;
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
