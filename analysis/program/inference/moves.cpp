#include "analysis/program/inference/moves.h"

#include <algorithm>
#include <array>

namespace tilewright::inference {

using layout::MoveClass;

namespace {

constexpr int64_t wordBits = 32, warpSize = 32, passBytes = 128;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

uint64_t keyOf(uint64_t a, uint64_t b, unsigned bits, uint64_t more) {
  return a << 40 | b << 16 | uint64_t(bits) << 4 | more;
}

/// Warps that a bound looks at.
std::vector<int64_t> someWarps(int64_t warps) {
  std::vector<int64_t> result = {0};
  for (int64_t w : {warps / 2, warps - 1})
    if (w != result.back())
      result.push_back(w);
  return result;
}

} // namespace

MoveClass MovePricer::leastClass(const LayoutEntry &from, const LayoutEntry &to) const {
  MoveClass result = MoveClass::Free;
  std::vector<int64_t> at(to.layout.rank());
  const int64_t step = std::max<int64_t>(1, to.registers / 16);
  for (int64_t w : someWarps(to.warps))
    for (int64_t lane : {0, 1, 2, 4, 8, 16, 31})
      for (int64_t r = 0; r < to.registers; r += step)
        for (int64_t reg : {r, std::min(r + 1, to.registers - 1)}) {
          to.coordinates.at({w, lane, reg}, at);
          if (!to.isInside(at) || from.isHeldBy(w, lane, at))
            continue;
          if (!from.isHeldBy(w, at))
            return MoveClass::Block;
          result = MoveClass::Warp;
        }
  return result;
}

MoveClass MovePricer::classOf(LayoutId from, LayoutId to) {
  auto [found, isNew] = classes.try_emplace(keyOf(from, to, 0, 0));
  if (!isNew)
    return found->second;
  const LayoutEntry &a = table[from], &b = table[to];
  if (a.view && b.view)
    found->second = layout::moveClass(*a.view, *b.view);
  else if (found->second = leastClass(a, b); found->second != MoveClass::Block)
    found->second = layout::moveClass(a.layout, b.layout);
  return found->second;
}

bool MovePricer::isFree(LayoutId from, LayoutId to) {
  if (from == to)
    return true;
  const LayoutEntry &a = table[from], &b = table[to];
  if (!(a.view && b.view) && leastClass(a, b) != MoveClass::Free)
    return false;
  return classOf(from, to) == MoveClass::Free;
}

Cost MovePricer::shuffleCost(int64_t shuffles, int64_t warps) const {
  return warps * shuffles * (prices.shuffle + prices.selectsOfShuffle * prices.alu);
}

/// Words that some lanes need and do not have.
int64_t MovePricer::leastShuffles(const LayoutEntry &from, const LayoutEntry &to,
                                  unsigned bits) const {
  int64_t most = 1;
  std::vector<int64_t> at(to.layout.rank());
  for (int64_t lane : {0, 1, 6}) {
    int64_t missing = 0;
    for (int64_t r = 0; r < to.registers; ++r) {
      to.coordinates.at({0, lane, r}, at);
      missing += to.isInside(at) && !from.isHeldBy(0, lane, at) ? 1 : 0;
    }
    missing /= to.registerCopies;
    most = std::max(most, ceilDiv(missing * bits, wordBits));
  }
  return most;
}

int64_t MovePricer::shuffles(const LayoutEntry &from, const LayoutEntry &to, unsigned bits) const {
  int64_t most = 0;
  std::vector<int64_t> at(to.layout.rank());
  for (int64_t w : someWarps(to.warps)) {
    std::array<std::array<int64_t, warpSize>, warpSize> sent{};
    for (int64_t lane = 0; lane < to.lanes; ++lane) {
      std::vector<int64_t> seen;
      for (int64_t r = 0; r < to.registers; ++r) {
        to.coordinates.at({w, lane, r}, at);
        if (!to.isInside(at) || from.isHeldBy(w, lane, at))
          continue;
        if (to.registerCopies > 1) {
          const int64_t number = to.layout.flatIndex(at);
          if (std::find(seen.begin(), seen.end(), number) != seen.end())
            continue;
          seen.push_back(number);
        }
        int64_t source = from.holderOf(at).lane, which = lane;
        for (auto [extent, place] : from.laneCopies) { // copies share the work
          source += which % extent * place;
          which /= extent;
        }
        ++sent[static_cast<size_t>(source)][static_cast<size_t>(lane)];
      }
    }
    std::array<int64_t, warpSize> out{}, in{};
    for (size_t a = 0; a < warpSize; ++a)
      for (size_t b = 0; b < warpSize; ++b) {
        const int64_t words = ceilDiv(sent[a][b] * bits, wordBits);
        out[a] += words;
        in[b] += words;
      }
    for (size_t a = 0; a < warpSize; ++a)
      most = std::max({most, out[a], in[a]});
  }
  return most;
}

/// Do the words of a thread hold other values together? Then each is packed anew.
int64_t MovePricer::packsOf(const LayoutEntry &from, const LayoutEntry &to, unsigned bits) const {
  const int64_t packed = wordBits / static_cast<int64_t>(bits);
  if (packed <= 1)
    return 0;
  auto first = [&](const LayoutEntry &entry) {
    const layout::Digits &digits = entry.layout.digits(layout::Hardware::Register);
    layout::Digit digit = digits.empty() ? layout::Digit{1, layout::Digit::noDim, 0} : digits[0];
    digit.extent = std::min(digit.extent, packed);
    return digit;
  };
  if (first(from) == first(to))
    return 0;
  return to.warps * ceilDiv(to.registers * static_cast<int64_t>(bits), wordBits);
}

Cost MovePricer::bound(LayoutId from, LayoutId to, unsigned bits) {
  if (from == to)
    return 0;
  auto [found, isNew] = bounds.try_emplace(keyOf(from, to, bits, 0), 0);
  if (!isNew)
    return found->second;
  const LayoutEntry &a = table[from], &b = table[to];
  if (a.warps != b.warps)
    return found->second = impossible;
  const MoveClass least = a.view && b.view ? classOf(from, to) : leastClass(a, b);
  if (least == MoveClass::Free)
    return found->second = a.view && b.view ? packsOf(a, b, bits) * prices.alu : 0;
  Cost shared = accessBound(from, bits, true) + accessBound(to, bits, false) + prices.barrier;
  if (least == MoveClass::Warp)
    shared = std::min(shared, shuffleCost(leastShuffles(a, b, bits), b.warps));
  return found->second = shared;
}

const Move &MovePricer::move(LayoutId from, LayoutId to, unsigned bits) {
  auto [found, isNew] = moves.try_emplace(keyOf(from, to, bits, 0));
  Move &result = found->second;
  if (!isNew || from == to)
    return result;
  const LayoutEntry &a = table[from], &b = table[to];
  result.cost = impossible;
  if (a.warps != b.warps)
    return result;
  const MoveClass least = classOf(from, to);
  if (least == MoveClass::Free) {
    result.way = Move::Way::Free;
    result.packs = packsOf(a, b, bits);
    result.cost = result.packs * prices.alu;
    return result;
  }
  if (least == MoveClass::Warp) {
    result.way = Move::Way::Shuffles;
    result.shuffles = shuffles(a, b, bits);
    result.cost = shuffleCost(result.shuffles, b.warps);
  }
  throughShared(result, from, to, bits);
  return result;
}

void MovePricer::throughShared(Move &best, LayoutId from, LayoutId to, unsigned bits) {
  const Cost least = accessBound(from, bits, true) + accessBound(to, bits, false) + prices.barrier;
  for (FormId form : table.formsOf(table[from].layout.dims(), bits)) {
    if (best.cost <= least)
      return;
    const FormAccess &store = access(from, form, bits, true);
    const FormAccess &load = access(to, form, bits, false);
    if (!store.isPossible || !load.isPossible)
      continue;
    const Cost cost = sumOf(costOf(store) + costOf(load), prices.barrier);
    if (cost >= best.cost)
      continue;
    best = Move{};
    best.way = Move::Way::Shared;
    best.cost = cost;
    best.barriers = 1;
    best.form = form;
    best.store = store;
    best.load = load;
    best.bytes = table.form(form).shared.bytes();
  }
}

} // namespace tilewright::inference
