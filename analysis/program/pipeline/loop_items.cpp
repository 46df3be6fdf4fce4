#include "analysis/program/pipeline/loop_items.h"

#include "analysis/program/produced_loop.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::pipeline {

using program::ForOp;
using program::Op;
using program::Program;
using program::ValueId;

bool readsAnyOf(const Op &op, const std::vector<ValueId> &values) {
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId value) { return program::readsValue(op, value); });
}

namespace {

class ItemReader {
public:
  ItemReader(const Program &p, const ForOp &loop) : p(p), loop(loop) {}

  llvm::Expected<std::vector<LoopItem>> run() {
    for (const Op &op : loop.body)
      if (const auto *dot = op.as<program::DotOp>(); dot && dot->isAdded)
        sums.push_back(op.results[0]);
    for (size_t i = 0; i < loop.body.size(); ++i) {
      const Op &op = loop.body[i];
      if (const auto *dot = op.as<program::DotOp>()) {
        items.push_back({LoopItem::Kind::Dot, "dot " + p[op.results[0]].name, {i}, false, dot});
        continue;
      }
      bool hasDot = false;
      program::forEachOpOf(op,
                           [&](const Op &inner) { hasDot = hasDot || inner.as<program::DotOp>(); });
      if (hasDot)
        return p.errorAt(op.where,
                         fmt::format("loop {}: products in a {} of a step are not scheduled",
                                     loop.name, program::kindName(op)),
                         DiagClass::Unsupported);
      if (op.as<program::ReadOp>())
        items.push_back({LoopItem::Kind::Read, "read " + p[op.results[0]].name, {i}});
      else
        addRest(op, i);
    }
    return std::move(items);
  }

private:
  bool isLate(const Op &op) const {
    if (readsAnyOf(op, sums))
      return true;
    for (ValueId value : op.results)
      if (std::find(sums.begin(), sums.end(), value) != sums.end())
        return true;
    for (const LoopItem &item : items)
      for (size_t before : item.places)
        if (item.isLate && readsAnyOf(op, loop.body[before].results))
          return true;
    return false;
  }

  /// Joins an op with what stands between the same products.
  void addRest(const Op &op, size_t place) {
    const bool late = isLate(op);
    const std::string name =
        op.results.empty() ? std::string(program::kindName(op)) : p[op.results[0]].name;
    for (size_t n = items.size(); n-- > 0 && items[n].kind == LoopItem::Kind::Rest;)
      if (items[n].isLate == late) {
        items[n].places.push_back(place);
        items[n].name = items[n].name.substr(0, items[n].name.find("…")) + "…" + name;
        return;
      }
    auto at = items.end(); // nothing that is late makes what the others read
    while (!late && at != items.begin() && std::prev(at)->isLate)
      --at;
    items.insert(at, {LoopItem::Kind::Rest, name, {place}, late});
  }

  const Program &p;
  const ForOp &loop;
  std::vector<ValueId> sums; ///< that products of this body add to
  std::vector<LoopItem> items;
};

} // namespace

llvm::Expected<std::vector<LoopItem>> itemsOf(const Program &program, const ForOp &loop) {
  return ItemReader(program, loop).run();
}

} // namespace tilewright::pipeline
