#include "codegen/emit/emit.h"

#include "analysis/program/grid.h"
#include "analysis/program/substitute.h"
#include "analysis/program/threads_at_work.h"
#include "analysis/program/verify.h"
#include "analysis/support/checked.h"
#include "codegen/emit/emission.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace emit {

namespace {

constexpr int64_t mostThreads = 1024, mostSharedBytes = 232448, mostPartialBytes = int64_t(1) << 34;
constexpr const char *specificTarget = "sm_90a";

bool fitsIn32Bits(const Program &p) {
  for (const program::TensorInfo &tensor : p.tensors) {
    int64_t bits = bitWidth(tensor.type);
    for (Expr dim : tensor.dims)
      if (__builtin_mul_overflow(bits, std::max<int64_t>(dim.constant(), 1), &bits))
        return false;
    if (bits / 8 >= (int64_t(1) << 30))
      return false;
  }
  return true;
}

/// What a program asks of its target.
struct Needs {
  bool isSpecific = false; ///< wgmma, TMA
  bool hasFp8 = false, hasBf16Atomics = false;
};

Needs needsOf(const Program &p) {
  Needs needs;
  forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
    if (const auto *dot = op.as<DotOp>()) {
      needs.isSpecific |= dot->way == DotWay::Wgmma;
      DType type = dot->left.type();
      needs.hasFp8 |= dot->way == DotWay::MmaSync && isFloat(type) && bitWidth(type) == 8;
    }
    if (const auto *copy = op.as<CopyOp>())
      needs.isSpecific |= copy->way == CopyWay::Tma;
    if (const auto *atomic = op.as<AtomicOp>())
      needs.hasBf16Atomics |= p[atomic->to.tensor].type == DType::BF16;
  });
  return needs;
}

/// One program in the making: what the kernel is launched with, then its code.
class ProgramEmitter {
public:
  ProgramEmitter(const Program &p, CodeMode mode, const Graph *graph)
      : p(p), mode(mode), graph(graph) {}

  llvm::Expected<KernelModule> run() {
    if (llvm::Error error = prepare())
      return error;
    KernelSignature signature;
    for (const program::TensorInfo &tensor : p.tensors)
      signature.isOutput.push_back(tensor.isResult);
    signature.workspaces = static_cast<unsigned>(workspaces.size());
    signature.tensorMaps = static_cast<unsigned>(tensorMaps.size());
    KernelBuilder k(entryName(), mode, threads(), signature);
    if (llvm::Error error = emitKernel(k))
      return error;
    KernelModule kernel = std::move(k).finish();
    describe(kernel);
    return kernel;
  }

private:
  int64_t threads() const { return (warps + producerWarps) * 32; }

  std::string entryName() const {
    std::string name = p.name;
    for (char &c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)))
        c = '_';
    return name;
  }

  llvm::Error prepare() {
    if (!p.sizes.empty())
      return makeError(DiagClass::BadInput,
                       "{} has sizes without a number, {} among them: set them", p.name,
                       p.context->info(p.sizes[0].variable()).name);
    if (llvm::Error error = verify(p).error(p))
      return error;
    if (llvm::Error error = checkNumbers())
      return error;
    llvm::Expected<program::GridMap> map = gridMapOf(p, *p.context);
    if (!map)
      return map.takeError();
    grid = std::move(*map);
    warps = p.warps.constant();
    producerWarps = p.producerWarps ? p.producerWarps.constant() : 0;
    if (threads() > mostThreads)
      return makeError(DiagClass::Unsupported,
                       "{}: {} threads, a CTA has at most {}: use less warps", p.name, threads(),
                       mostThreads);
    if (p.grid.clusterX || p.grid.clusterY)
      return makeError(DiagClass::Unsupported, "{}: there is no code for clusters", p.name);
    if (!p.roles.empty())
      return makeError(DiagClass::Unsupported, "{}: there is no code for roles", p.name);
    llvm::Expected<SharedPlan> plan = planShared(p);
    if (!plan)
      return plan.takeError();
    shared = std::move(*plan);
    if (shared.bytes > mostSharedBytes)
      return makeError(DiagClass::Unsupported,
                       "{}: {} bytes of shared memory, a CTA has at most {}: use less stages",
                       p.name, shared.bytes, mostSharedBytes);
    llvm::Expected<std::vector<TensorMap>> planned = planMaps(p, shared, maps);
    if (!planned)
      return planned.takeError();
    tensorMaps = std::move(*planned);
    if (llvm::Error error = checkProducedRings())
      return error;
    return planSplits();
  }

  /// Extents, stages and steps ahead are the same in all CTAs; a slot is filled once a step.
  llvm::Error checkNumbers() const {
    auto check = [&](Expr e, const std::string &what) -> llvm::Error {
      if (!e || e.isConstant())
        return llvm::Error::success();
      return makeError(DiagClass::Unsupported, "{}: {} is no number: {}", p.name, what, e.str());
    };
    llvm::Error error = llvm::joinErrors(check(p.warps, "the number of warps"),
                                         check(p.producerWarps, "the number of producer warps"));
    auto also = [&](llvm::Error other) {
      error = llvm::joinErrors(std::move(error), std::move(other));
    };
    for (const Axis &axis : p.axes)
      also(check(axis.extent, "the extent of " + axis.name));
    for (const Buffer &buffer : p.buffers)
      also(check(buffer.stages, "the number of stages of " + buffer.name));
    for (const program::TensorInfo &tensor : p.tensors)
      for (Expr dim : tensor.dims)
        also(check(dim, "a dim of " + tensor.name));
    forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
      const auto *loop = op.as<ForOp>();
      if (!loop)
        return;
      also(check(loop->ahead, "steps ahead"));
      also(check(loop->unroll, "a loop's unrolling"));
      std::set<BufferId> filled;
      for (const Op &copy : loop->issue)
        if (const auto *c = copy.as<CopyOp>(); c && !filled.insert(c->buffer).second)
          also(p.errorAt(copy.where, fmt::format("{} is filled twice in a step", p[c->buffer].name),
                         DiagClass::Unsupported));
    });
    return error;
  }

  /// A producer is ahead of the consumers: what lies in the memory of its rings is used behind its
  /// last loop alone, in the only turn. Copies outside of loops have one phase.
  llvm::Error checkProducedRings() {
    bool isInTurns = grid.map.ctas < grid.map.items;
    if (isInTurns && !shared.copies.empty())
      return makeError(DiagClass::Unsupported,
                       "{}: there is no code for tma copies outside of loops in turns", p.name);
    for (uint32_t b = 0; b < p.buffers.size(); ++b) {
      for (uint32_t h = 0; h < p.buffers.size(); ++h) {
        BufferId host{h};
        if (!liesIn(p.buffers[b], host) ||
            (!shared.rings.count(host) && !shared.rings.count(BufferId{b})))
          continue;
        const Op *early = isInTurns ? nullptr : usedBeforeLoops(BufferId{b}, host);
        if (isInTurns || early || shared.rings.count(BufferId{b}))
          return p.errorAt(early ? early->where : SourceLoc(),
                           fmt::format("{} lies in the memory of {}, which a producer fills ahead "
                                       "of the warps that use it: give it memory of its own",
                                       p.buffers[b].name, p[host].name),
                           DiagClass::Unsupported);
      }
    }
    return llvm::Error::success();
  }

  /// The op of the body that uses a buffer before or in the last one that fills a ring.
  const Op *usedBeforeLoops(BufferId buffer, BufferId ring) const {
    const Op *used = nullptr, *found = nullptr;
    for (const Op &op : p.body) {
      auto look = [&](const Op &inner) {
        bool uses = inner.as<WriteOp>() && inner.as<WriteOp>()->buffer == buffer;
        uses = uses || (inner.as<CopyOp>() && inner.as<CopyOp>()->buffer == buffer);
        used = uses && !used ? &op : used;
        const auto *loop = inner.as<ForOp>();
        if (loop && isProduced(p, *loop))
          for (const Op &copy : loop->issue)
            found = copy.as<CopyOp>()->buffer == ring && used ? used : found;
      };
      look(op);
      for (const Region *region : regionsOf(op))
        forEachOp(*region, [&](const Op &inner, const program::LoopNest &) { look(inner); });
      // What both use and fill in a loop of steps come round again.
      if (used == &op && fills(op, ring))
        found = used;
    }
    return found;
  }

  bool fills(const Op &op, BufferId ring) const {
    bool result = false;
    for (const Region *region : regionsOf(op))
      forEachOp(*region, [&](const Op &inner, const program::LoopNest &) {
        result = result || (inner.as<CopyOp>() && inner.as<CopyOp>()->buffer == ring);
      });
    return result;
  }

  llvm::Error planSplits() {
    const SumSplitsOp *sum = nullptr;
    for (const Op &op : p.body)
      if (const auto *o = op.as<SumSplitsOp>())
        sum = o;
    if (!sum)
      return llvm::Error::success();
    splits = p.gridVariableOf(sum->splitVar.variable())->count.constant();
    if (splits == 1)
      return llvm::Error::success();
    int64_t slot = 0;
    for (ValueId value : sum->values) {
      const Tile &tile = p[value].tile;
      slot += tile.layout.registerCount(*p.context).constant() * warps * 32 *
              std::max<int64_t>(bitWidth(tile.type), 32) / 8;
    }
    std::optional<int64_t> bytes = checkedMul(grid.map.items, slot);
    if (!bytes || *bytes > mostPartialBytes)
      return makeError(DiagClass::Unsupported, "{}: partial sums of more than {} bytes", p.name,
                       mostPartialBytes);
    workspaces = {{"partial sums", *bytes, false},
                  {"arrival counters", grid.map.items / splits * 4, true}};
    return llvm::Error::success();
  }

  llvm::Error emitKernel(KernelBuilder &k) {
    IndexEmitter index(k, *p.context, fitsIn32Bits(p) ? k.i32 : k.i64);
    ScalarOps ops(k);
    Emission e(p, index, ops, shared, maps);
    e.graph = graph;
    e.warps = warps;
    if (!workspaces.empty()) {
      e.partials = static_cast<unsigned>(p.tensors.size());
      e.counters = *e.partials + 1;
    }
    Expr thread = p.context->freshVariable(VarKind::Step, "thread");
    index.bind(thread, Interval::ofExtent(warps * 32), k.threadId());
    e.lane = index.simplify(thread.mod(32));
    e.warp = index.simplify(thread.floorDiv(32));
    index.bind(grid.map.cta, Interval::ofExtent(grid.map.ctas), k.ctaId());
    if (!p.producerWarps)
      return emitTurns(e, false);
    return emitParts(e);
  }

  /// Consumers, and the producer's first thread.
  llvm::Error emitParts(Emission &e) {
    KernelBuilder &k = e.k;
    k.ifThen(k.b.CreateICmpEQ(k.threadId(), k.c32(0)), [&] {
      for (unsigned map = 0; map < tensorMaps.size(); ++map)
        k.prefetchTensorMap(map);
      for (const auto &[buffer, ring] : shared.rings)
        if (leaderOf(p, buffer) == buffer)
          ring.init(k, warps);
      for (const Op &op : p.body)
        if (auto copy = shared.copies.find(&op); copy != shared.copies.end())
          k.initBarrier(k.c32(copy->second), 1);
      k.fenceBarrierInit();
    });
    k.barrier();
    llvm::Value *warp = k.uniform(k.b.CreateLShr(k.threadId(), 5));
    llvm::Error error = llvm::Error::success();
    auto take = [&](llvm::Error result) {
      error = llvm::joinErrors(std::move(error), std::move(result));
    };
    k.ifThenElse(
        k.b.CreateICmpSGE(warp, k.c32(warps)),
        [&] {
          IndexEmitter::Scope scope(e.index);
          moveRegisters(k, false);
          k.ifThen(k.b.CreateICmpEQ(k.threadId(), k.c32(warps * 32)), [&] {
            IndexEmitter::Scope inner(e.index);
            startRings(e, 1);
            take(emitTurns(e, true));
          });
        },
        [&] {
          IndexEmitter::Scope scope(e.index);
          moveRegisters(k, true);
          e.warpgroup = k.b.CreateLShr(warp, 2);
          startRings(e, 0);
          take(emitTurns(e, false));
        });
    return error;
  }

  /// A whole warpgroup of producers gives its registers to the consumers.
  bool movesRegisters() const { return producerWarps == 4 && warps % 4 == 0; }
  void moveRegisters(KernelBuilder &k, bool isConsumer) {
    if (!movesRegisters())
      return;
    // Only registers that the CTA was launched with can move.
    int64_t all = std::min<int64_t>(255, 65536 / threads() / 8 * 8) * (warps / 4 + 1);
    int64_t each = std::min<int64_t>((all - copyingWarpRegisters) / (warps / 4) / 8 * 8, 240);
    k.setMaxRegisters(isConsumer ? each : copyingWarpRegisters, isConsumer);
  }

  void startRings(Emission &e, int64_t parity) {
    for (const auto &[buffer, ring] : shared.rings)
      e.rings[buffer.index] = {e.k.c32(0), e.k.c32(parity), Expr()};
  }

  llvm::Error emitTurns(Emission &e, bool isProducer) {
    const ProgramMap &map = grid.map;
    int64_t turns = ceilDiv(map.items, map.ctas);
    auto emitTurn = [&](llvm::Value *turn) {
      e.index.bind(map.turn, Interval::ofExtent(turns), turn);
      bindGrid(e);
      return isProducer ? emitProducerRegion(e, p.body) : emitBody(e);
    };
    e.isInTurns = turns > 1;
    if (turns == 1)
      return emitTurn(e.k.c32(0));
    llvm::Error error = llvm::Error::success();
    bool failed = false;
    Carried carried(e, {}, producedIn(p, p.body));
    // A turn ends with what another begins with.
    PendingReads behind = e.pending;
    for (int round = 0; round < 2; ++round)
      behind.pass(p.body);
    e.pending.unite(behind);
    e.k.forLoop(e.k.c32(0), e.k.c32(turns), e.k.c32(1), carried.get(),
                [&](llvm::Value *turn, const Values &from) -> Values {
                  IndexEmitter::Scope scope(e.index);
                  carried.set(from, {});
                  e.index.bind(map.turn, Interval::ofExtent(turns), turn);
                  llvm::Value *hasWork = e.index.holds(
                      {e.index.simplify(map.item), Interval::ofExtent(map.items), 1, 0});
                  auto work = [&]() -> Values {
                    IndexEmitter::Scope inner(e.index);
                    if (llvm::Error problem = emitTurn(turn)) {
                      failed = true;
                      error = llvm::joinErrors(std::move(error), std::move(problem));
                    }
                    return failed ? from : carried.get();
                  };
                  if (!hasWork)
                    return work();
                  return e.k.choose(hasWork, work, [&] { return from; });
                });
    return error;
  }

  /// Threads that have nothing to store and for whom nobody waits are done.
  llvm::Error emitBody(Emission &e) {
    llvm::Value *stores = program::ThreadsAtWork(p).othersEnd() ? hasElement(e) : nullptr;
    if (!stores)
      return emitRegion(e, p.body);
    llvm::Error error = llvm::Error::success();
    e.k.ifThen(stores, [&] {
      IndexEmitter::Scope scope(e.index);
      error = llvm::joinErrors(std::move(error), emitRegion(e, p.body));
    });
    return error;
  }

  /// An i1: the thread has an element of a store. Null where each may have one.
  llvm::Value *hasElement(Emission &e) {
    llvm::Value *any = nullptr;
    bool mayAll = false;
    forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
      const auto *store = op.as<StoreOp>();
      if (!store || mayAll)
        return;
      AxisSet axes = p.axesOf(store->to);
      unite(axes, p.axesOf(store->value));
      std::vector<MapConstraint> conditions;
      if (auto held = HeldLayout::of(heldAs(p, store->value, axes, store->layout), warps))
        requireInside(e, conditions, *held, axes, 0);
      llvm::Value *inside = holdAll(e, conditions);
      mayAll = !inside;
      any = any && inside ? e.b.CreateOr(any, inside) : inside;
    });
    return mayAll ? nullptr : any;
  }

  void bindGrid(Emission &e) {
    const ProgramMap &map = grid.map;
    Expr tile = p.number(0);
    e.isKnown.resize(p.context->variableCount());
    auto bind = [&](VarId var, Expr at, int64_t count) {
      e.index.bind(p.context->variableExpr(var), Interval::ofExtent(count), e.index.index(at));
      e.isKnown[var.index] = true;
    };
    for (size_t i = 0; i < grid.tileVariables.size(); ++i) {
      VarId var = grid.tileVariables[i];
      int64_t count = p.gridVariableOf(var)->count.constant();
      bind(var, map.tile[i], count);
      tile = tile * count + p.context->variableExpr(var);
    }
    if (!grid.splitVariable)
      return;
    bind(*grid.splitVariable, map.split, p.gridVariableOf(*grid.splitVariable)->count.constant());
    auto word = [&](Expr expr) { return e.b.CreateSExtOrTrunc(e.index.index(expr), e.k.i32); };
    e.tileNumber = word(tile);
    e.splitNumber = word(p.context->variableExpr(*grid.splitVariable));
  }

  void describe(KernelModule &kernel) {
    kernel.kind = "program";
    kernel.launch = {grid.map.ctas, threads(), shared.bytes};
    kernel.workspaces = workspaces;
    kernel.tensorMaps = tensorMaps;
    if (splits > 1 && grid.map.ctas == grid.map.items)
      kernel.ctasTogether = splits;
    for (const program::TensorInfo &tensor : p.tensors) {
      std::vector<int64_t> dims;
      for (Expr dim : tensor.dims)
        dims.push_back(dim.constant());
      kernel.parameters.push_back({tensor.name, Shape::tensor(tensor.type, dims), tensor.isResult});
    }
    forEachOp(p.body, [&](const Op &op, const program::LoopNest &) {
      if (const auto *atomic = op.as<AtomicOp>())
        kernel.initialValues.push_back(initialValue(*atomic));
    });
    Needs needs = needsOf(p);
    if (needs.isSpecific)
      kernel.target = specificTarget;
    if (needs.hasFp8) {
      kernel.oldestArchitecture = 89;
      kernel.oldestPtx = {8, 4};
    }
    if (needs.hasBf16Atomics) {
      kernel.oldestArchitecture = 90;
      kernel.oldestPtx = {7, 8};
    }
    if (movesRegisters())
      kernel.setMinCtasPerSm(1);
  }

  InitialValue initialValue(const AtomicOp &atomic) const {
    DType type = p[atomic.to.tensor].type;
    double value = program::identityOf(atomic.monoid);
    bool isSigned = dtypeClass(type) == DTypeClass::Signed;
    if (!isFloat(type) && std::isinf(value)) { // the least or the largest number
      auto bits = static_cast<int>(bitWidth(type));
      value = value < 0 ? (isSigned ? -std::ldexp(1.0, bits - 1) : 0)
                        : std::ldexp(1.0, isSigned ? bits - 1 : bits) - 1;
    }
    return {atomic.to.tensor.index, value};
  }

  const Program &p;
  CodeMode mode;
  const Graph *graph;
  program::GridMap grid;
  int64_t warps = 1, producerWarps = 0, splits = 1;
  SharedPlan shared;
  std::map<const Op *, PlannedMap> maps;
  std::vector<TensorMap> tensorMaps;
  std::vector<KernelWorkspace> workspaces;
};

} // namespace

} // namespace emit

llvm::Expected<KernelModule> emitProgram(const program::Program &program, CodeMode mode,
                                         const Graph *graph) {
  if (program.lets.empty())
    return emit::ProgramEmitter(program, mode, graph).run();
  llvm::Expected<program::Program> numbers = substituteSizes(program, {});
  if (!numbers)
    return numbers.takeError();
  return emit::ProgramEmitter(*numbers, mode, graph).run();
}

} // namespace tilewright
