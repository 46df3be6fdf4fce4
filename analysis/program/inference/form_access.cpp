// Passes of a layout's registers in a form of shared memory.
#include "analysis/program/inference/moves.h"
#include "analysis/program/layout/access.h"
#include "analysis/program/layout/banks.h"
#include "analysis/program/layout/images.h"
#include "analysis/program/layout/legality.h"

#include <algorithm>
#include <bit>

namespace tilewright::inference {

using layout::Digit;
using layout::Digits;
using layout::Hardware;

namespace {

constexpr int64_t mostBits = 128, laneBits = 5; ///< a lane takes at once; of a lane's number

int64_t wordsOf(const LayoutEntry &entry, unsigned bits) {
  return (entry.registers / entry.registerCopies * static_cast<int64_t>(bits) + 31) / 32;
}

} // namespace

Cost MovePricer::costOf(const FormAccess &access) const {
  return access.isPossible ? access.passes * prices.pass + access.packs * prices.alu : impossible;
}

Cost MovePricer::accessBound(LayoutId id, unsigned bits, bool isStore) const {
  const LayoutEntry &entry = table[id];
  const int64_t elements = entry.elements * (isStore ? 1 : entry.warpCopies);
  constexpr int64_t passBits = 1024;
  return (elements * static_cast<int64_t>(bits) + passBits - 1) / passBits * prices.pass;
}

const FormAccess &MovePricer::access(LayoutId id, FormId formId, unsigned bits, bool isStore) {
  const uint64_t key =
      uint64_t(id) << 40 | uint64_t(formId) << 16 | uint64_t(bits) << 4 | (isStore ? 1 : 0);
  auto [found, isNew] = accesses.try_emplace(key);
  if (!isNew)
    return found->second;
  const LayoutEntry &entry = table[id];
  const SharedForm &form = table.form(formId);
  FormAccess result = entry.view && form.isLinear ? linearAccess(entry, form, bits, isStore)
                                                  : countedAccess(entry, form, bits, isStore);
  if (!isStore)
    preferMatrix(result, entry, form, bits);
  return found->second = result;
}

/// By ranks: the address is linear in the bits of registers, lanes and warps.
FormAccess MovePricer::linearAccess(const LayoutEntry &entry, const SharedForm &form, unsigned bits,
                                    bool isStore) const {
  auto addressOf = [&](uint64_t column) {
    return column == 0 ? 0 : form.addressOfBit[static_cast<size_t>(std::countr_zero(column))];
  };
  const std::vector<uint64_t> &registers = entry.view->of(Hardware::Register);
  FormAccess result;
  int64_t vectorBits = bits;
  size_t inOrder = 0; // the first registers are these
  auto hasBit = [&](int64_t address) {
    for (size_t n = 0; n < registers.size(); ++n)
      if (registers[n] != 0 && addressOf(registers[n]) == static_cast<uint64_t>(address)) {
        inOrder += n == inOrder ? 1 : 0;
        return true;
      }
    return false;
  };
  int64_t steps = 0;
  while (vectorBits * 2 <= mostBits && hasBit(vectorBits)) {
    vectorBits *= 2;
    ++steps;
  }
  const bool isPart = vectorBits < 8; // of a byte: it is read and shifted, but not written
  if (isPart && isStore)
    return result;
  result.isPossible = true;
  result.bytesPerLane = std::max<int64_t>(1, vectorBits / 8);
  result.instructions = entry.registers / entry.registerCopies * static_cast<int64_t>(bits) /
                        vectorBits * (entry.warps / (isStore ? entry.warpCopies : 1));
  std::vector<uint64_t> lanes;
  for (uint64_t column : entry.view->of(Hardware::Lane))
    lanes.push_back(addressOf(column) / 8);
  lanes.resize(laneBits, 0);
  result.degree = layout::conflictDegree(lanes, result.bytesPerLane);
  const int64_t groups = std::max<int64_t>(1, result.bytesPerLane / 4);
  result.passes = result.instructions * groups * result.degree;
  const int64_t subword = steps - static_cast<int64_t>(inOrder);
  if (bits < 32 && subword > 0)
    result.packs = wordsOf(entry, bits) * entry.warps;
  if (isPart)
    result.packs += entry.registers * entry.warps;
  return result;
}

/// By counting, with the registers in the order that suits the form: the digit that lies in one
/// piece first.
FormAccess MovePricer::countedAccess(const LayoutEntry &entry, const SharedForm &form,
                                     unsigned bits, bool isStore) const {
  const auto inner = static_cast<int32_t>(form.order.empty() ? -1 : form.order.back());
  Digits registers = entry.layout.digits(Hardware::Register);
  std::erase_if(registers, [](const Digit &digit) { return digit.isCopy(); });
  auto first = std::find_if(registers.begin(), registers.end(), [&](const Digit &digit) {
    return digit.dim == inner && digit.stride == 1;
  });
  const bool isMoved = first != registers.end() && first != registers.begin();
  if (isMoved)
    std::rotate(registers.begin(), first, first + 1);
  FormAccess result;
  llvm::Expected<TileLayout> ordered =
      TileLayout::make(entry.layout.dims(), std::move(registers),
                       entry.layout.digits(Hardware::Lane), entry.layout.digits(Hardware::Warp));
  if (!ordered) {
    llvm::consumeError(ordered.takeError());
    return result;
  }
  layout::AccessChoices choices;
  choices.mostStaggeredBits = 0;
  llvm::Expected<layout::SharedAccess> counted =
      layout::accessOf(layout::transposed(*ordered, form.order), form.shared, choices);
  if (!counted) {
    llvm::consumeError(counted.takeError());
    return result;
  }
  const int64_t share = isStore ? entry.warpCopies : 1; // one of several holders stores
  result.isPossible = true;
  result.passes = counted->passes / share;
  result.instructions = counted->instructions / share;
  result.bytesPerLane = counted->bytesPerLane;
  result.degree = counted->degree;
  if (bits < 32 && isMoved)
    result.packs = wordsOf(entry, bits) * entry.warps;
  return result;
}

/// ldmatrix, where the registers are fragments and it has fewer passes.
void MovePricer::preferMatrix(FormAccess &access, const LayoutEntry &entry, const SharedForm &form,
                              unsigned bits) const {
  const Digits &lanes = entry.layout.digits(Hardware::Lane);
  const bool isFragment = bits <= 32 && form.order.size() >= 2 && lanes.size() == 2 &&
                          lanes[0].extent == 4 && lanes[1].extent == 8 && !lanes[0].isCopy() &&
                          !lanes[1].isCopy();
  if (!isFragment)
    return;
  layout::MatrixAccess how;
  how.isTransposed = lanes[0].dim != static_cast<int32_t>(form.order.back());
  llvm::Expected<layout::SharedAccess> matrices =
      layout::matrixAccessOf(layout::transposed(entry.layout, form.order), form.shared, how);
  if (!matrices) {
    llvm::consumeError(matrices.takeError());
    return;
  }
  if (access.isPossible && costOf(access) < matrices->passes * prices.pass)
    return;
  access = FormAccess{};
  access.isPossible = access.isMatrix = true;
  access.passes = matrices->passes;
  access.instructions = matrices->instructions;
  access.bytesPerLane = matrices->bytesPerLane;
  access.degree = matrices->degree;
}

} // namespace tilewright::inference
