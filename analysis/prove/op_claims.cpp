#include "analysis/prove/op_claims.h"

#include "analysis/affine/simplify.h"
#include "analysis/indexing/recorded_reads.h"
#include "analysis/support/diag.h"
#include "analysis/tiling/propagate.h"

#include <fmt/format.h>

namespace tilewright::prove {

namespace {

using Status = ClaimResult::Status;
using Kind = ClaimResult::Kind;

struct Incoming {
  const char *name;
  bool isRoot;
  bool isNonEmpty = true;
  int64_t stride = 1;
};
constexpr Incoming incomingKinds[] = {{"root", true},
                                      {"any", false},
                                      {"masked", false, false},
                                      {"strided", false, true, 3},
                                      {"backwards", false, true, -1}};

/// One example of an op, with the data that all of its claims share.
class ExampleClaims {
public:
  ExampleClaims(Opcode opcode, const Example &example, const ProveOptions &options)
      : opcode(opcode), example(example), options(options) {}

  std::vector<ClaimResult> run();

private:
  ClaimResult claim(Kind kind) const {
    ClaimResult result;
    result.opcode = opcode;
    result.example = example.title;
    result.kind = kind;
    return result;
  }
  void refuse(Kind kind, std::string incoming, Status status, std::string reason) {
    ClaimResult result = claim(kind);
    result.incoming = std::move(incoming);
    result.status = status;
    result.reason = std::move(reason);
    results.push_back(std::move(result));
  }
  void checkMaps();
  void proveTiles(const Incoming &incoming);
  void proveReverse(const Incoming &incoming, unsigned operand);
  FactoredTile incomingTile(const Incoming &incoming, TilePropagator &rules,
                            const std::vector<int64_t> &extents, TileRelation &relation);
  void addLoop(const TileParameter &parameter, TileRelation &relation) const;
  void trySizes(TileRelation &relation, const Incoming &incoming,
                const std::vector<int64_t> &extents) const;
  void decide(const TileRelation &relation, bool isExact, ClaimResult base);

  const Opcode opcode;
  const Example &example;
  const ProveOptions &options;
  Module module;
  OpId id;
  ResultPath path;
  std::vector<ClaimResult> results;
};

/// Sizes to try for a dim.
std::vector<int64_t> sizesOf(int64_t extent) {
  std::vector<int64_t> out;
  for (int64_t size = 1; size <= std::max<int64_t>(extent, 1); ++size)
    // For long dims: all small sizes, divisors and powers of two, and one over half.
    if (extent <= 32 || size <= 4 || extent % size == 0 || (size & (size - 1)) == 0 ||
        size == extent / 2 + 1)
      out.push_back(size);
  return out;
}

void ExampleClaims::addLoop(const TileParameter &p, TileRelation &relation) const {
  ExprContext &ctx = p.size.context();
  relation.variables.push_back({p.size, {1, p.largest()}, sizesOf(p.extent)});
  relation.variables.push_back({p.index, {0, p.extent}, {}});
  relation.facts.push_back(Formula::lessEqual(p.index * p.size + 1, ctx.constant(p.extent)));
}

FactoredTile ExampleClaims::incomingTile(const Incoming &incoming, TilePropagator &rules,
                                         const std::vector<int64_t> &extents,
                                         TileRelation &relation) {
  ExprContext &ctx = rules.ctx;
  FactoredTile tile;
  relation.isNonEmpty = incoming.isNonEmpty;
  for (size_t i = 0; i < extents.size(); ++i) {
    const int64_t extent = extents[i];
    if (incoming.isRoot) {
      TileParameter p{TileParameter::Role::Parallel,
                      fmt::format("t{}", i),
                      ctx.variable(VarKind::TileParam, fmt::format("t{}", i)),
                      ctx.variable(VarKind::ProgramId, fmt::format("pid{}", i)),
                      extent,
                      id,
                      static_cast<unsigned>(i)};
      addLoop(p, relation);
      tile.dims.push_back(rules.factory.rootDim(p.index, p.size, extent));
      continue;
    }
    const Expr offset = ctx.variable(VarKind::ProgramId, fmt::format("offset{}", i));
    const Expr lower = ctx.variable(VarKind::ProgramId, fmt::format("lower{}", i));
    const Expr upper = ctx.variable(VarKind::ProgramId, fmt::format("upper{}", i));
    const Expr size = ctx.variable(VarKind::TileParam, fmt::format("size{}", i));
    relation.variables.push_back({offset, {}, {}});
    relation.variables.push_back({size, {1, INT64_MAX}, {}});
    relation.variables.push_back({lower, {0, extent}, {}});
    relation.variables.push_back({upper, {0, extent}, {}});
    FactoredDim dim =
        rules.factory.opaqueDim({offset, size, ctx.constant(incoming.stride), lower, upper}, extent,
                                !incoming.isNonEmpty, tile);
    tile.dims.push_back(std::move(dim));
  }
  return tile;
}

void ExampleClaims::checkMaps() {
  const Graph &graph = module.entry();
  const Op &op = graph.op(id);
  const OpClass cls = opClass(opcode);
  for (OpId operand : op.operands)
    if (graph.op(operand).shape.isTuple) {
      refuse(Kind::Maps, "", Status::None, "moves no data");
      return;
    }
  if (cls == OpClass::Collective || cls == OpClass::Tuple) {
    refuse(Kind::Maps, "", Status::None,
           cls == OpClass::Tuple ? "moves no data" : "the evaluator has one replica");
    return;
  }
  llvm::Expected<Recording> recording = recordReads(module, 1);
  if (!recording) {
    refuse(Kind::Maps, "", Status::None, takeDiag(recording.takeError()).message);
    return;
  }
  ExprContext ctx;
  llvm::Expected<OpIndexing> forward = outputToOperands(graph, id, ctx, path);
  if (!forward) {
    refuse(Kind::Maps, "", Status::Refuted, takeDiag(forward.takeError()).message);
    return;
  }
  for (unsigned k = 0; k < op.operands.size(); ++k) {
    ClaimResult result = claim(Kind::Maps);
    result.operand = static_cast<int>(k);
    llvm::Expected<OperandMaps> back = operandToOutput(graph, id, k, ctx, path);
    if (!back) {
      result.reason = takeDiag(back.takeError()).message;
    } else if (opcode == Opcode::Scan && k > 0) {
      result.reason = "carries are not recorded";
    } else {
      result.reason = differenceFromReads(graph, *recording, id, k, forward->operands[k], *back);
      result.status = result.reason.empty() ? Status::Checked : Status::Refuted;
    }
    results.push_back(std::move(result));
  }
}

void ExampleClaims::decide(const TileRelation &relation, bool isExact, ClaimResult base) {
  for (Kind kind : {Kind::Covers, Kind::NoExtra}) {
    if (kind == Kind::NoExtra && !isExact)
      continue;
    base.kind = kind;
    const Outcome outcome = kind == Kind::Covers ? proveCovers(relation, options.proof)
                                                 : proveNoExtra(relation, options.proof);
    base.status = outcome.status == Outcome::Status::Proved    ? Status::Proved
                  : outcome.status == Outcome::Status::Refuted ? Status::Refuted
                                                               : Status::Unknown;
    base.reason = outcome.reason;
    base.spent = outcome.spent;
    base.queries = outcome.queries;
    if (base.status == Status::Proved && outcome.queries > 0 && outcome.isVacuous) {
      base.status = Status::None;
      base.reason = "the rule's constraints allow no such tile";
    }
    results.push_back(base);
  }
}

/// Sizes that a stride depends on are tried one by one.
void ExampleClaims::trySizes(TileRelation &relation, const Incoming &incoming,
                             const std::vector<int64_t> &extents) const {
  const bool isOpen = std::any_of(relation.to.begin(), relation.to.end(),
                                  [](const TileDim &dim) { return !dim.stride.isConstant(); });
  for (TileRelation::Known &known : relation.variables)
    for (size_t i = 0; i < extents.size() && isOpen && !incoming.isRoot; ++i) {
      ExprContext &ctx = known.variable.context();
      if (known.variable == ctx.variable(VarKind::TileParam, fmt::format("size{}", i)))
        known.values = sizesOf(extents[i] + 1);
    }
}

void ExampleClaims::proveTiles(const Incoming &incoming) {
  const Graph &graph = module.entry();
  const Op &op = graph.op(id);
  ExprContext ctx;
  llvm::Expected<OpIndexing> maps = outputToOperands(graph, id, ctx, path);
  if (!maps) {
    refuse(Kind::Rule, incoming.name, Status::Refuted, takeDiag(maps.takeError()).message);
    return;
  }
  TilePropagator rules(graph, ctx);
  TileRelation shared;
  const std::vector<int64_t> &extents = resultDims(op);
  const FactoredTile tile = incomingTile(incoming, rules, extents, shared);
  ConditionSink sink = [&](TileCondition condition) { shared.given.push_back(condition.formula); };
  shared.from = rules.factory.plainTile(tile, extents, sink).dims;
  shared.fromExtents = extents;
  llvm::Expected<OperandTiles> wanted = rules.operands(id, tile);
  if (!wanted) {
    refuse(Kind::Rule, incoming.name, Status::None, takeDiag(wanted.takeError()).message);
    return;
  }
  std::vector<Tile> tiles;
  for (size_t k = 0; k < wanted->tiles.size(); ++k)
    tiles.push_back(
        rules.factory.plainTile(wanted->tiles[k].tile, resultDims(graph[op.operands[k]]), sink));
  for (const Constraint &constraint : rules.constraints)
    shared.given.push_back(constraint.formula);
  shared.runtime = rules.runtime;
  for (size_t i = 0; i < rules.sequential.size(); ++i)
    addLoop(rules.sequential[i], shared);
  // Loops walk the op's range variables in order, but for those of a convolution's window, which is
  // read whole in every step.
  const unsigned loops = static_cast<unsigned>(wanted->reduces.size());
  unsigned firstLoop = 0;
  if (opcode == Opcode::Convolution)
    for (const WindowDim &window : op.attrs.window)
      firstLoop += window.size != 1;
  for (unsigned i = 0; i < loops; ++i) {
    const TileParameter &p = rules.sequential[wanted->reduces[i]];
    shared.walks.push_back(
        {ctx.range(firstLoop + i),
         {p.index * p.size, p.size, ctx.constant(1), ctx.constant(0), ctx.constant(p.extent)}});
  }
  for (const Tile &one : tiles)
    shared.to.insert(shared.to.end(), one.dims.begin(), one.dims.end());
  trySizes(shared, incoming, extents);
  for (size_t k = 0; k < wanted->tiles.size(); ++k) {
    const std::vector<int64_t> &operandDims = resultDims(graph[op.operands[k]]);
    if (k >= maps->operands.size() || (operandDims.empty() && tiles[k].dims.empty()))
      continue; // a scalar is read or it is not
    if (wanted->tiles[k].exactness == Exactness::Unknown) {
      refuse(Kind::Rule, incoming.name, Status::None, wanted->tiles[k].why);
      results.back().operand = static_cast<int>(k);
      continue;
    }
    TileRelation relation = shared;
    relation.maps = maps->operands[k].maps;
    relation.toExtents = operandDims;
    relation.to = tiles[k].dims;
    if (relation.maps.empty())
      relation.maps.push_back(
          IndexMap::knownEmpty(ctx, extents, static_cast<unsigned>(operandDims.size())));
    ClaimResult base = claim(Kind::Covers);
    base.operand = static_cast<int>(k);
    base.incoming = incoming.name;
    decide(relation, wanted->tiles[k].exactness == Exactness::Exact, std::move(base));
  }
}

void ExampleClaims::proveReverse(const Incoming &incoming, unsigned operand) {
  const Graph &graph = module.entry();
  const Op &op = graph.op(id);
  const Shape &in = graph.op(op.operands[operand]).shape, &out = *resultShape(op, path);
  if (in.isTuple || in.dims.empty())
    return; // a scalar has one tile
  ExprContext ctx;
  llvm::Expected<OperandMaps> back = operandToOutput(graph, id, operand, ctx, path);
  TilePropagator rules(graph, ctx);
  TileRelation relation;
  const FactoredTile tile = incomingTile(incoming, rules, in.dims, relation);
  auto finish = [&](Status status, std::string reason) {
    refuse(Kind::Rule, incoming.name, status, std::move(reason));
    results.back().operand = static_cast<int>(operand);
    results.back().isReverse = true;
  };
  if (!back) {
    finish(Status::None, takeDiag(back.takeError()).message);
    return;
  }
  llvm::Expected<OperandTile> touched = rules.resultTouched(id, operand, tile, path);
  if (!touched) {
    finish(Status::None, takeDiag(touched.takeError()).message);
    return;
  }
  ConditionSink sink = [&](TileCondition condition) {
    relation.given.push_back(condition.formula);
  };
  relation.from = rules.factory.plainTile(tile, in.dims, sink).dims;
  relation.fromExtents = in.dims;
  relation.to = rules.factory.plainTile(touched->tile, out.dims, sink).dims;
  relation.toExtents = out.dims;
  for (const Constraint &constraint : rules.constraints)
    relation.given.push_back(constraint.formula);
  relation.runtime = rules.runtime;
  relation.maps = back->maps;
  if (relation.maps.empty())
    relation.maps.push_back(
        IndexMap::knownEmpty(ctx, in.dims, static_cast<unsigned>(out.dims.size())));
  trySizes(relation, incoming, in.dims);
  ClaimResult base = claim(Kind::Covers);
  base.operand = static_cast<int>(operand);
  base.incoming = incoming.name;
  base.isReverse = true;
  decide(relation, touched->exactness == Exactness::Exact, std::move(base));
}

std::vector<ClaimResult> ExampleClaims::run() {
  llvm::Expected<Module> made = moduleOf(example);
  if (!made) {
    refuse(Kind::Rule, "", Status::Refuted, takeDiag(made.takeError()).str());
    return results;
  }
  module = std::move(*made);
  id = module.entry().find("r");
  path = resultPathOf(module.entry().op(id));
  checkMaps();
  for (const Incoming &incoming : incomingKinds)
    proveTiles(incoming);
  const OpClass cls = opClass(opcode);
  if (cls == OpClass::Structured || cls == OpClass::Opaque || cls == OpClass::Collective ||
      opcode == Opcode::BitcastConvert || opcode == Opcode::Add || opcode == Opcode::Select)
    for (unsigned k = 0; k < module.entry().op(id).operands.size(); ++k)
      for (const Incoming &incoming : incomingKinds)
        if (std::string_view(incoming.name) != "backwards")
          proveReverse(incoming, k);
  return results;
}

} // namespace

std::string_view toString(ClaimResult::Status status) {
  switch (status) {
  case Status::Proved:
    return "proved";
  case Status::Checked:
    return "checked";
  case Status::Refuted:
    return "refuted";
  case Status::Unknown:
    return "unknown";
  case Status::None:
    return "none";
  }
  return "";
}

std::string describe(const ClaimResult &result) {
  std::string text;
  switch (result.kind) {
  case Kind::Maps:
    text = "maps agree with recorded reads";
    break;
  case Kind::Covers:
    text = "tile holds all that is read";
    break;
  case Kind::NoExtra:
    text = "tile holds nothing else";
    break;
  case Kind::Rule:
    text = "has a rule";
    break;
  }
  if (result.operand >= 0)
    text = fmt::format("operand {}: {}", result.operand, text);
  if (!result.incoming.empty())
    text += fmt::format(", {} tile", result.incoming);
  return result.isReverse ? "reverse, " + text : text;
}

ResultPath resultPathOf(const Op &op) {
  const bool isStart =
      op.opcode == Opcode::AllGatherStart || op.opcode == Opcode::CollectivePermuteStart;
  if (isStart && op.shape.isTuple)
    return {1}; // (operand, result)
  return op.shape.isTuple ? ResultPath{0} : ResultPath{};
}

std::vector<ClaimResult> proveOp(Opcode opcode, const ProveOptions &options) {
  std::vector<ClaimResult> out;
  for (const Example &example : examplesOf(opcode, options.grid))
    for (ClaimResult &result : ExampleClaims(opcode, example, options).run())
      out.push_back(std::move(result));
  return out;
}

std::vector<ClaimResult> proveAll(const ProveOptions &options) {
  std::vector<Opcode> opcodes;
#define TILEWRIGHT_OPCODE(name, text, cls) opcodes.push_back(Opcode::name);
#include "analysis/ir/opcodes.def"
  std::vector<ClaimResult> out;
  for (size_t i = 0; i < opcodes.size(); ++i) {
    if (options.onProgress)
      options.onProgress(i, opcodes.size());
    if (options.only && *options.only != opcodes[i])
      continue;
    for (ClaimResult &result : proveOp(opcodes[i], options))
      out.push_back(std::move(result));
  }
  return out;
}

} // namespace tilewright::prove
