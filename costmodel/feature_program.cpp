#include "costmodel/feature_program.h"

#include "costmodel/trace.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

/// x / 2^n equals x · 2^-n exactly, and a division takes many times as long.
bool isPowerOfTwo(double x) {
  int exponent = 0;
  return std::isnormal(x) && std::abs(std::frexp(x, &exponent)) == 0.5 && std::isnormal(1 / x);
}

/// The requested nodes and their operands, operands before users.
std::vector<uint32_t> neededFor(const std::vector<TraceNode> &nodes,
                                std::span<const uint32_t> wanted) {
  std::vector<bool> isNeeded(nodes.size());
  size_t end = 0;
  for (uint32_t n : wanted) {
    isNeeded[n] = true;
    end = std::max<size_t>(end, n + 1);
  }
  std::vector<uint32_t> needed;
  for (size_t n = end; n-- > 0;) { // operands have smaller numbers
    if (!isNeeded[n])
      continue;
    needed.push_back(uint32_t(n));
    const TraceNode &node = nodes[n];
    if (node.op == TraceOp::Input || node.op == TraceOp::Constant)
      continue;
    isNeeded[node.a] = isNeeded[node.b] = true;
  }
  std::reverse(needed.begin(), needed.end());
  return needed;
}

} // namespace

FeatureProgram::FeatureProgram(const Trace &trace, std::span<const uint32_t> wanted) {
  const std::vector<TraceNode> &nodes = trace.nodes();
  const std::vector<uint32_t> needed = neededFor(nodes, wanted);
  std::vector<uint32_t> places(needed.empty() ? 0 : needed.back() + 1);
  for (size_t at = 0; at < needed.size(); ++at)
    places[needed[at]] = uint32_t(at);
  auto placeOf = [&](uint32_t n) { return size_t(places[n]); };
  auto isLeaf = [&](uint32_t n) {
    return nodes[n].op == TraceOp::Input || nodes[n].op == TraceOp::Constant;
  };
  auto isReciprocal = [&](uint32_t n) {
    return nodes[n].op == TraceOp::Divide && nodes[nodes[n].b].op == TraceOp::Constant &&
           isPowerOfTwo(nodes[nodes[n].b].value);
  };
  // The last reader of each value, by position; requested values have none.
  constexpr size_t forEver = SIZE_MAX;
  std::vector<size_t> lastUse(needed.size(), 0);
  for (size_t at = 0; at < needed.size(); ++at)
    if (!isLeaf(needed[at])) {
      lastUse[placeOf(nodes[needed[at]].a)] = at;
      lastUse[placeOf(nodes[needed[at]].b)] = at;
    }
  for (uint32_t n : wanted)
    lastUse[placeOf(n)] = forEver;

  std::vector<uint32_t> slotOf(needed.size());
  auto constantSlot = [&](double value) {
    constants.push_back({uint32_t(slots), value});
    return uint32_t(slots++);
  };
  for (size_t at = 0; at < needed.size(); ++at) {
    const TraceNode &node = nodes[needed[at]];
    if (node.op == TraceOp::Constant) {
      slotOf[at] = constantSlot(node.value);
    } else if (node.op == TraceOp::Input) {
      slotOf[at] = uint32_t(slots);
      inputList.push_back({node.a, uint32_t(slots++)});
    }
  }
  std::vector<uint32_t> free;
  for (size_t at = 0; at < needed.size(); ++at) {
    const TraceNode &node = nodes[needed[at]];
    if (isLeaf(needed[at]))
      continue;
    const size_t a = placeOf(node.a), b = placeOf(node.b);
    Instruction i{node.op, 0, slotOf[a], slotOf[b]};
    if (isReciprocal(needed[at])) {
      i.op = TraceOp::Multiply;
      i.b = constantSlot(1 / nodes[node.b].value);
    }
    // An instruction reads all of its operands' lanes i before it writes lanes i.
    for (size_t operand : {a, b})
      if (lastUse[operand] == at && !isLeaf(needed[operand])) {
        free.push_back(slotOf[operand]);
        lastUse[operand] = forEver; // do not free it twice
      }
    if (free.empty()) {
      i.to = uint32_t(slots++);
    } else {
      i.to = free.back();
      free.pop_back();
    }
    slotOf[at] = i.to;
    code.push_back(i);
  }
  for (uint32_t n : wanted)
    outputSlots.push_back(slotOf[placeOf(n)]);
}

} // namespace tilewright
