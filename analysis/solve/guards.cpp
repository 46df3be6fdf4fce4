#include "analysis/solve/guards.h"

#include <algorithm>
#include <bit>

namespace tilewright::detail {

Guards::Guards(const Program &program, std::span<const RegisterId> roots,
               std::span<const Abstract> box)
    : ofRegister(program.size(), never) {
  for (RegisterId root : roots)
    ofRegister[root] = always;
  for (auto id = static_cast<RegisterId>(program.size()); id-- > 0;)
    if (ofRegister[id] != never)
      visitReads(program, id, box);
}

uint32_t Guards::guard(RegisterId condition, bool isWhereZero, uint32_t outer) {
  auto [it, isNew] =
      interned.try_emplace({condition, isWhereZero, outer}, static_cast<uint32_t>(guards.size()));
  if (isNew)
    guards.push_back({condition, isWhereZero, outer, guards[outer].depth + 1});
  return it->second;
}

/// The innermost guard that both have.
uint32_t Guards::common(uint32_t a, uint32_t b) const {
  while (a != b) {
    uint32_t &deeper = guards[a].depth < guards[b].depth ? b : a;
    deeper = guards[deeper].outer;
  }
  return a;
}

/// Operands of a register are read where it is computed. Without a value of its own everywhere it
/// needs all operands, but for truths that one operand decides.
void Guards::visitReads(const Program &program, RegisterId reader, std::span<const Abstract> box) {
  const Register &reg = program[reader];
  if (reg.op <= Code::Undefined)
    return;
  const bool isTotal = !box[reader].mayBeUnknown;
  const uint32_t mine = isTotal ? ofRegister[reader] : always;
  auto read = [&](RegisterId operand, uint32_t where) {
    uint32_t &of = ofRegister[operand];
    of = of == never ? where : common(of, where);
  };
  if (reg.op == Code::Select && isTotal) {
    read(reg.c, mine);
    read(reg.a, guard(reg.c, false, mine));
    read(reg.b, guard(reg.c, true, mine));
    return;
  }
  if (reg.op == Code::And || reg.op == Code::Or) {
    auto key = [&](RegisterId id) {
      return std::make_tuple(box[id].mayBeUnknown, std::popcount(program[id].parameters), id);
    };
    const auto [first, second] =
        key(reg.b) < key(reg.a) ? std::pair(reg.b, reg.a) : std::pair(reg.a, reg.b);
    read(first, mine);
    read(second, box[first].mayBeUnknown ? mine : guard(first, reg.op == Code::Or, mine));
    return;
  }
  read(reg.a, mine);
  if (!isUnary(reg.op))
    read(reg.b, mine);
  if (reg.op == Code::Select)
    read(reg.c, mine);
}

/// The guards of a register, outermost first.
std::vector<uint32_t> Guards::chainOf(RegisterId id) const {
  std::vector<uint32_t> chain;
  if (ofRegister[id] != never)
    for (uint32_t at = ofRegister[id]; at != always; at = guards[at].outer)
      chain.push_back(at);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

std::vector<Step> Guards::withJumps(std::span<const Step> steps,
                                    llvm::function_ref<bool(RegisterId)> isKnown) const {
  // What of the guards of each step can be asked there.
  std::vector<std::vector<uint32_t>> chains;
  std::vector<bool> isBefore(ofRegister.size());
  for (const Step &step : steps) {
    chains.push_back(chainOf(step.result));
    std::erase_if(chains.back(), [&](uint32_t at) {
      const RegisterId condition = guards[at].condition;
      return !isBefore[condition] && !isKnown(condition);
    });
    isBefore[step.result] = true;
  }
  std::vector<Step> result;
  auto emit = [&](auto &&self, size_t first, size_t last, size_t depth) -> void {
    for (size_t at = first; at < last;) {
      size_t end = at + 1;
      if (chains[at].size() <= depth) {
        result.push_back(steps[at]);
        at = end;
        continue;
      }
      const uint32_t under = chains[at][depth];
      while (end < last && chains[end].size() > depth && chains[end][depth] == under)
        ++end;
      const size_t jump = result.size();
      if (end - at > 1) { // a single step costs as much as its jump
        Step over{};
        over.a = guards[under].condition;
        over.isJumpWhereZero = !guards[under].isWhereZero;
        result.push_back(over);
      }
      self(self, at, end, depth + 1);
      if (end - at > 1)
        result[jump].jump = static_cast<uint32_t>(result.size() - jump - 1);
      at = end;
    }
  };
  emit(emit, 0, steps.size(), 0);
  return result;
}

} // namespace tilewright::detail
