#include "analysis/program/fold/live.h"

#include <set>

namespace tilewright::program {

Expr registerWords(const Program &program, ValueId id) {
  const Tile &tile = program[id].tile;
  // A truth takes a register of its own.
  int64_t bits = tile.type == DType::Pred ? 32 : static_cast<int64_t>(bitWidth(tile.type));
  return (tile.layout.registerCount(*program.context) * bits).ceilDiv(32);
}

namespace {

using LiveSet = std::set<ValueId>;

class Liveness {
public:
  explicit Liveness(const Program &program) : peak(program.number(0)), p(program) {}

  /// Live before a region, given what is live behind it. Records the points if asked to.
  LiveSet region(const Region &ops, LiveSet live, bool isRecording) {
    for (size_t i = ops.size(); i-- > 0;)
      live = before(ops[i], std::move(live), isRecording);
    return live;
  }

  Expr peak;
  std::vector<RoleRegisters> roles;

private:
  LiveSet before(const Op &op, LiveSet live, bool isRecording) {
    if (const auto *loop = op.as<ForOp>()) {
      LiveSet around = live;
      constexpr int rounds = 2; // what the next step uses is live at the end of this one
      for (int i = 0; i < rounds; ++i) {
        LiveSet first = region(loop->body, around, false);
        around.insert(first.begin(), first.end());
      }
      LiveSet first = region(loop->body, around, isRecording);
      first.insert(live.begin(), live.end()); // no trip
      return first;
    }
    if (const auto *branch = op.as<IfOp>()) {
      LiveSet then = region(branch->then, live, isRecording);
      LiveSet otherwise = region(branch->otherwise, std::move(live), isRecording);
      then.insert(otherwise.begin(), otherwise.end());
      return then;
    }
    if (const auto *role = op.as<RoleOp>()) {
      Expr outside = std::exchange(peak, p.number(0));
      LiveSet first = region(role->body, std::move(live), isRecording);
      if (isRecording)
        roles.push_back({p[role->role].name, peak});
      peak = outside;
      return first;
    }
    LiveSet here = live;
    here.insert(op.results.begin(), op.results.end());
    if (isRecording)
      record(here);
    for (ValueId id : op.results)
      live.erase(id);
    use(op, live);
    return live;
  }

  void use(const Op &op, LiveSet &live) {
    auto index = [&](Expr e) {
      if (!e)
        return;
      for (VarId var : variablesOf(e))
        if (ValueId id = p.valueOf(var); id.isValid())
          live.insert(id);
    };
    for (const ScalarExpr *scalar : scalarsOf(op))
      for (const ScalarNode &node : scalar->nodes) {
        if (node.kind == ScalarNode::Kind::Value)
          live.insert(node.value);
        index(node.index);
      }
    if (const Access *access = accessOf(op))
      for (Expr e : access->index)
        index(e);
    if (const auto *o = op.as<DotOp>(); o && o->isAdded)
      live.insert(op.results[0]);
    if (const auto *o = op.as<RelayoutOp>())
      live.insert(o->value);
    if (const auto *o = op.as<SelectAxisOp>())
      live.insert(o->value);
    if (const auto *o = op.as<JoinOp>())
      live.insert(o->parts.begin(), o->parts.end());
    if (const auto *o = op.as<SumSplitsOp>())
      live.insert(o->values.begin(), o->values.end());
  }

  void record(const LiveSet &live) {
    Expr sum = p.number(0);
    for (ValueId id : live)
      sum = sum + registerWords(p, id);
    peak = peak.max(sum);
  }

  const Program &p;
};

} // namespace

std::vector<RoleRegisters> liveRegisters(const Program &program) {
  Liveness liveness(program);
  liveness.region(program.body, {}, true);
  std::vector<RoleRegisters> result{{"", liveness.peak}};
  result.insert(result.end(), liveness.roles.begin(), liveness.roles.end());
  return result;
}

} // namespace tilewright::program
