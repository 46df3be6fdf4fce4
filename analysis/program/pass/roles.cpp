#include "analysis/program/pass/roles.h"

#include "analysis/program/box.h"
#include "analysis/program/pass/edit.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/resources.h"

#include <fmt/format.h>

namespace tilewright::program {

namespace {

constexpr int64_t registersPerSm = 65536, mostRegisters = 255;

/// Registers of a thread of the consumers that hold a tile.
Expr registersOf(const Program &p, const AxisSet &axes, DType type) {
  Expr bits = p.number(bitWidth(type));
  for (AxisId axis : axes)
    bits = bits * p[axis].extent;
  return bits.ceilDiv(p.warps * 32 * 32);
}

/// Registers that a thread of the consumers needs: its sums, left operands that it holds, and what
/// stands beside them.
Expr neededRegisters(const Program &p) {
  Expr needed = p.number(0);
  std::vector<ValueId> known;
  forEachOp(p.body, [&](const Op &op, const LoopNest &) {
    const auto *dot = op.as<DotOp>();
    if (!dot || std::find(known.begin(), known.end(), op.results[0]) != known.end())
      return;
    known.push_back(op.results[0]);
    const Tile &tile = p[op.results[0]].tile;
    needed = needed + registersOf(p, tile.axes, tile.type);
    if (dot->left.root().kind != ScalarNode::Kind::Slot)
      needed = needed + registersOf(p, p.axesOf(dot->left), dot->left.type());
  });
  return needed + (known.size() > 1 ? chainRegistersBesideSums : warpgroupRegistersBesideSums);
}

/// A copy by TMA; the reason why not, empty where it is one.
std::string copyByTma(Program &p, Op &op) {
  auto &copy = *op.as<CopyOp>();
  copy.way = CopyWay::Tma;
  llvm::Expected<std::vector<BoxDim>> box = boxOf(p, copy);
  return box ? "" : fmt::format("{}: {}", printOp(p, op), takeDiag(box.takeError()).message);
}

/// Makes the copies of a loop those of a producer; the reason why not, empty where it does.
std::string produceLoop(Program &p, ForOp &loop, Expr stages) {
  for (Op &op : loop.issue) {
    auto *copy = op.as<CopyOp>();
    if (!copy)
      continue;
    p.buffers[copy->buffer.index].stages = stages;
    if (std::string why = copyByTma(p, op); !why.empty())
      return why;
  }
  loop.ahead = Expr();
  for (Op &op : loop.body)
    if (auto *dot = op.as<DotOp>(); dot && dot->way == DotWay::Wgmma && dot->isAdded)
      dot->wait = 1;
  return "";
}

} // namespace

llvm::Expected<Program> produce(const Program &program) {
  auto refuse = [&](const std::string &why) {
    return makeError(DiagClass::Unsupported, "{}: {}", program.name, why);
  };
  if (program.producerWarps || !program.roles.empty())
    return refuse("it has roles already");
  Program p = program;
  Expr stages; // nothing has them where no step copies
  bool isFound = false;
  std::string why;
  auto visit = [&](auto &&self, Region &ops) -> void {
    for (Op &op : ops) {
      for (Region *inner : regionsOf(op))
        self(self, *inner);
      auto *loop = op.as<ForOp>();
      if (!loop || loop->issue.empty() || !why.empty())
        continue;
      isFound = true;
      if (!stages) {
        llvm::Expected<Expr> added = addSize(p, "stages");
        if (!added) {
          why = takeDiag(added.takeError()).message;
          return;
        }
        stages = *added;
      }
      why = produceLoop(p, *loop, stages);
    }
  };
  visit(visit, p.body);
  for (Op &op : p.body) { // what no step moves
    if (!op.as<CopyOp>() || !why.empty())
      continue;
    isFound = true;
    why = copyByTma(p, op);
  }
  if (!isFound)
    return refuse("nothing is copied");
  if (!why.empty())
    return refuse(why);
  Expr share = p.number(registersPerSm).floorDiv((p.warps + 1).ceilDiv(p.number(4)) * 128);
  share = (share.floorDiv(8) * 8).min(mostRegisters);
  std::string name = freeName(p, "NP");
  Expr producers = p.context->variable(VarKind::TileParam, name);
  p.lets.push_back(
      {name, producers, select(share.isAtLeast(neededRegisters(p)), p.number(1), p.number(4))});
  p.producerWarps = producers;
  if (llvm::Error error = inferTypes(p))
    return error;
  return p;
}

} // namespace tilewright::program
