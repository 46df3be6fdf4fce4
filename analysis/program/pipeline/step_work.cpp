#include "analysis/program/pipeline/step_work.h"

#include "analysis/program/pending_reads.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tilewright::pipeline {

using program::AxisId;
using program::AxisSet;
using program::Digit;
using program::DotOp;
using program::DotWay;
using program::Layout;
using program::Op;
using program::Program;
using program::ScalarExpr;
using program::ScalarNode;

StepWork &StepWork::operator+=(const StepWork &other) {
  alu += other.alu;
  half += other.half;
  sfu += other.sfu;
  shuffles += other.shuffles;
  shuffleRounds += other.shuffleRounds;
  sharedBytes += other.sharedBytes;
  tensorClocks += other.tensorClocks;
  exchanges += other.exchanges;
  directLoads += other.directLoads;
  barriers += other.barriers;
  return *this;
}

int64_t numberAt(const Program &p, Expr expr) {
  if (!expr)
    return 1;
  Assignment middle;
  for (const program::GridVariable &variable : p.grid.variables)
    middle.set(variable.var, evaluate(p.resolved(variable.count), {}).value_or(1) / 2);
  return evaluate(p.resolved(expr), middle).value_or(1);
}

int64_t bytesOf(const Program &p, const program::CopyOp &copy) {
  int64_t bits = bitWidth(p[copy.buffer].type);
  for (AxisId axis : p[copy.buffer].order)
    bits *= numberAt(p, p[axis].extent);
  return bits / 8;
}

namespace {

class Worker {
public:
  Worker(const Program &p, const InstructionTimes &times) : p(p), times(times) {}

  StepWork of(const Op &op) {
    StepWork work = std::visit([&](const auto &what) { return kind(op, what); }, op.what);
    return work;
  }

private:
  double elements(const AxisSet &axes) const {
    double product = 1;
    for (AxisId axis : axes)
      product *= static_cast<double>(numberAt(p, p[axis].extent));
    return product;
  }
  double product(const std::vector<Digit> &digits) const {
    double result = 1;
    for (const Digit &digit : digits)
      result *= static_cast<double>(numberAt(p, digit.extent));
    return result;
  }
  double threads() const { return 32 * static_cast<double>(numberAt(p, p.warps)); }

  /// Lanes that compute what a layout of some axes has of a part of them.
  double lanesOf(const Layout &held, const AxisSet &axes, const AxisSet &part) const {
    return product(held.withoutAxes(program::without(axes, part)).registers) * threads();
  }

  /// A scalar expression's ops, each for the axes of its own operands.
  StepWork scalar(const ScalarExpr &scalar, const Layout &held, const AxisSet &axes) const {
    StepWork work;
    std::vector<AxisSet> reached(scalar.nodes.size());
    for (size_t n = 0; n < scalar.nodes.size(); ++n) {
      const ScalarNode &node = scalar.nodes[n];
      if (node.kind == ScalarNode::Kind::Value)
        reached[n] = p[node.value].tile.axes;
      else if (node.kind == ScalarNode::Kind::Slot)
        for (AxisId axis : p[node.buffer].order)
          program::insert(reached[n], axis);
      else if (node.kind == ScalarNode::Kind::Index)
        reached[n] = p.axesOf(node.index);
      for (uint32_t operand : node.operands)
        program::unite(reached[n], reached[operand]);
      if (node.kind != ScalarNode::Kind::Operation)
        continue;
      const double lanes = lanesOf(held, axes, reached[n]);
      LaneWork each =
          node.isApproximate ? LaneWork{1, 0, 1} : times.lanesOf(node.opcode, node.type);
      work.alu += each.alu * lanes;
      work.half += each.half * lanes;
      work.sfu += each.sfu * lanes;
    }
    return work;
  }

  StepWork mapped(const Op &op, const ScalarExpr &value) const {
    const program::Tile &tile = p[op.results[0]].tile;
    return scalar(value, tile.layout, tile.axes);
  }

  StepWork kind(const Op &op, const program::MapOp &o) { return mapped(op, o.value); }
  StepWork kind(const Op &op, const program::ReduceOp &o) {
    const AxisSet axes = p.axesOf(o.value);
    const Layout held = program::heldAs(p, o.value, axes, std::nullopt);
    StepWork work = scalar(o.value, held, axes);
    const double registers = product(held.registers);
    double kept = 1, lanes = 1, warps = 1;
    auto isOver = [&](const Digit &digit) {
      return digit.axis.isValid() && program::contains(o.over, digit.axis) && !digit.isCopy();
    };
    for (const Digit &digit : held.registers)
      kept *= isOver(digit) ? 1 : static_cast<double>(numberAt(p, digit.extent));
    for (const Digit &digit : held.lanes)
      lanes *= isOver(digit) ? static_cast<double>(numberAt(p, digit.extent)) : 1;
    for (const Digit &digit : held.warps)
      warps *= isOver(digit) ? static_cast<double>(numberAt(p, digit.extent)) : 1;
    const double doublings = std::ceil(std::log2(lanes));
    work.alu += (registers + kept * doublings) * threads();
    work.shuffles += kept * doublings * threads() / 32;
    work.shuffleRounds += doublings;
    work.exchanges += warps > 1;
    (void)op;
    return work;
  }
  StepWork kind(const Op &op, const program::ReadOp &) {
    const program::Tile &tile = p[op.results[0]].tile;
    StepWork work;
    work.sharedBytes = product(tile.layout.registers) * threads() * bitWidth(tile.type) / 8;
    return work;
  }
  StepWork kind(const Op &, const program::WriteOp &o) {
    const AxisSet axes = p.axesOf(o.value);
    StepWork work = scalar(o.value, program::heldAs(p, o.value, axes, std::nullopt), axes);
    work.sharedBytes = elements(axes) * bitWidth(p[o.buffer].type) / 8;
    work.barriers = 1;
    return work;
  }
  StepWork kind(const Op &op, const DotOp &o) {
    const program::Tile &tile = p[op.results[0]].tile;
    const AxisSet left = p.axesOf(o.left), right = p.axesOf(o.right);
    AxisSet all = left;
    program::unite(all, right);
    const double products = elements(all) * o.products;
    StepWork work;
    double besideColumns = 1, besideRows = 1; // warps that share a left, a right operand
    for (const Digit &digit : tile.layout.warps) {
      if (digit.isCopy() || !digit.axis.isValid())
        continue;
      const auto extent = static_cast<double>(numberAt(p, digit.extent));
      besideColumns *= program::contains(left, digit.axis) ? 1 : extent;
      besideRows *= program::contains(right, digit.axis) ? 1 : extent;
    }
    if (o.way == DotWay::Wgmma) // 64 rows at a time
      besideRows = std::ceil(elements(program::without(left, o.over)) / 64);
    operand(work, o.left, left, besideColumns);
    operand(work, o.right, right, besideRows);
    const double flops = o.way == DotWay::Fma ? 0 : times.tensorFlopsPerClock(o.left.type());
    if (flops > 0)
      work.tensorClocks =
          2 * products /
          (flops * (o.way == DotWay::Wgmma ? times.wgmmaRate : times.mmaSyncRate).value);
    else
      work.alu += products;
    return work;
  }
  /// What a dot reads of an operand itself, and computes of it.
  void operand(StepWork &work, const ScalarExpr &scalar, const AxisSet &axes, double times_) const {
    for (const ScalarNode &node : scalar.nodes) {
      if (node.kind == ScalarNode::Kind::Slot)
        work.sharedBytes += elements(axes) * bitWidth(p[node.buffer].type) / 8 * times_;
      if (node.kind != ScalarNode::Kind::Operation)
        continue;
      const LaneWork each = times.lanesOf(node.opcode, node.type);
      const double lanes = elements(axes) * times_;
      work.alu += each.alu * lanes;
      work.half += each.half * lanes;
      work.sfu += each.sfu * lanes;
    }
  }
  StepWork kind(const Op &, const program::LoadOp &) {
    StepWork work;
    work.directLoads = 1;
    return work;
  }
  StepWork kind(const Op &, const program::RelayoutOp &) {
    StepWork work;
    work.exchanges = 1;
    return work;
  }
  StepWork kind(const Op &, const program::BarrierOp &) {
    StepWork work;
    work.barriers = 1;
    return work;
  }
  /// Of branches the one that does more; loops as often as they go round.
  StepWork kind(const Op &, const program::IfOp &o) {
    StepWork a = region(o.then), b = region(o.otherwise);
    return a.alu + a.half + a.sfu >= b.alu + b.half + b.sfu ? a : b;
  }
  StepWork kind(const Op &, const program::ForOp &o) {
    StepWork once = region(o.body), all;
    const int64_t trips = std::min<int64_t>(numberAt(p, o.trips), 4096);
    for (int64_t t = 0; t < trips; ++t)
      all += once;
    return all;
  }
  template <typename Other> StepWork kind(const Op &, const Other &) { return {}; }

  StepWork region(const program::Region &ops) {
    StepWork work;
    for (const Op &op : ops)
      work += of(op);
    return work;
  }

  const Program &p;
  const InstructionTimes &times;
};

} // namespace

StepWork workOf(const Program &program, const Op &op, const InstructionTimes &times) {
  return Worker(program, times).of(op);
}

std::vector<InstructionTimes::Row> InstructionTimes::rows() const {
  return {{"wgmma, share of the peak", "1", &wgmmaRate},
          {"mma.sync, share of the peak", "1", &mmaSyncRate},
          {"wgmma, behind the last product", "clk", &wgmmaLatency},
          {"wgmma, issue of a step", "clk", &wgmmaIssue},
          {"copies", "B/clk", &copyBytesPerClock},
          {"copies, first byte", "clk", &copyLatency},
          {"TMA, issue of a box", "clk", &tmaIssue},
          {"load into registers", "clk", &directLoad},
          {"shared memory", "B/clk", &sharedBytesPerClock},
          {"arithmetic", "lanes/clk", &aluLanesPerClock},
          {"special functions", "lanes/clk", &sfuLanesPerClock},
          {"shuffle", "clk", &shuffle},
          {"shuffle, result", "clk", &shuffleLatency},
          {"exchange between warps", "clk", &exchange},
          {"instructions of a step", "1", &stepInstructions},
          {"barrier of a step", "clk", &stepBarrier}};
}

} // namespace tilewright::pipeline
