#include "analysis/program/layout/program_layouts.h"

#include "analysis/program/layout/legality.h"
#include "analysis/program/layout/tensor_places.h"
#include "analysis/program/pending_reads.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"
#include "analysis/program/warp_grid.h"
#include "analysis/support/diag.h"

#include <bit>
#include <numeric>
#include <set>

namespace tilewright::layout {

using program::AxisId;
using program::AxisSet;
using program::Buffer;
using program::Op;
using program::Program;
using program::RoleId;
using program::ScalarExpr;
using program::ScalarNode;

namespace {

llvm::Expected<TileDims> dimsOf(const Program &program, std::span<const AxisId> axes) {
  TileDims dims;
  for (AxisId axis : axes) {
    Expr extent = program.resolved(program[axis].extent);
    if (!extent.isConstant())
      return makeError(DiagClass::Unsupported,
                       "axis {} has no number of elements: give one for "
                       "each size",
                       program[axis].name);
    dims.emplace_back(program[axis].name, extent.constant());
  }
  return dims;
}

int64_t numberOf(Expr e, int64_t otherwise) {
  return e && e.isConstant() ? e.constant() : otherwise;
}

} // namespace

llvm::Expected<TileLayout> tileLayoutOf(const Program &program, const program::Layout &layout,
                                        std::span<const AxisId> axes) {
  llvm::Expected<TileDims> dims = dimsOf(program, axes);
  if (!dims)
    return dims.takeError();
  return TileLayout::of(layout, axes, std::move(*dims));
}

llvm::Expected<SharedLayout> sharedLayoutOf(const Program &program, const Buffer &buffer) {
  llvm::Expected<TileDims> dims = dimsOf(program, buffer.order);
  if (!dims)
    return dims.takeError();
  const unsigned bits = bitWidth(buffer.type);
  if (buffer.swizzle != 0)
    return SharedLayout::panels(std::move(*dims), bits, buffer.swizzle,
                                bits == 32 && !program.producerWarps);
  const int64_t step = numberOf(buffer.permute, 0);
  const int64_t row = dims->empty() ? 0 : (dims->back().extent + buffer.padElements) * bits;
  if (step < 1 || dims->size() < 2 || row % 32 != 0 ||
      !std::has_single_bit(static_cast<uint64_t>(step)))
    return SharedLayout::rows(std::move(*dims), bits, buffer.padElements);
  const int64_t rows = (*dims)[dims->size() - 2].extent;
  return SharedLayout::permuted(std::move(*dims), bits, buffer.padElements,
                                permutationOf(rows, row / 8, step));
}

namespace {

/// What an error says, for a row of a result.
std::string wordsOf(llvm::Error error) { return takeDiag(std::move(error)).message; }

class LayoutReader {
public:
  explicit LayoutReader(const Program &program) : p(program) {}

  llvm::Expected<ProgramLayouts> run() {
    if (std::vector<std::string> open = program::freeSizes(p); !open.empty())
      return makeError(DiagClass::BadInput, "size {} has no number: --let {}=NUMBER", open.front(),
                       open.front());
    if (llvm::Error error = readRegion(p.body, {}))
      return error;
    return std::move(result);
  }

private:
  llvm::Error readRegion(const program::Region &region, RoleId role) {
    for (const Op &op : region) {
      if (llvm::Error error = readValues(op))
        return error;
      std::visit([&](const auto &what) { use(op, what, role); }, op.what);
      const auto *inRole = op.as<program::RoleOp>();
      for (const program::Region *inner : program::regionsOf(op))
        if (llvm::Error error = readRegion(*inner, inRole ? inRole->role : role))
          return error;
    }
    return llvm::Error::success();
  }

  llvm::Error readValues(const Op &op) {
    for (program::ValueId id : op.results) {
      const program::Value &value = p[id];
      if (value.tile.axes.empty() || seen.count(id) != 0)
        continue;
      seen.insert(id);
      llvm::Expected<TileLayout> layout = tileLayoutOf(p, value.tile.layout, value.tile.axes);
      if (!layout) {
        Diag diag = takeDiag(layout.takeError());
        return p.errorAt(op.where, fmt::format("{}: {}", value.name, diag.message), diag.cls);
      }
      result.values.push_back(
          {value.name, program::printTile(p, value.tile), value.tile.type, std::move(*layout)});
    }
    return llvm::Error::success();
  }

  template <typename T> void use(const Op &op, const T &what, RoleId role) {
    if constexpr (std::is_same_v<T, program::ReadOp>)
      useSlot(op, what.buffer, "read", p[op.results[0]].tile.layout, what);
    else if constexpr (std::is_same_v<T, program::WriteOp>)
      useWritten(op, what, role);
    else if constexpr (std::is_same_v<T, program::DotOp>)
      useOperands(op, what);
    else if constexpr (std::is_same_v<T, program::LoadOp>)
      useTensor(op, what.from, p[op.results[0]].tile.axes, p[op.results[0]].tile.layout);
    else if constexpr (std::is_same_v<T, program::StoreOp>)
      useStored(op, what, role);
    else if constexpr (std::is_same_v<T, program::CopyOp>)
      useCopy(op, what);
  }

  SharedUse &addShared(const Op &op, program::BufferId buffer, std::string way) {
    SharedUse use;
    use.op = program::printOp(p, op);
    use.buffer = p[buffer].name;
    use.way = std::move(way);
    result.shared.push_back(std::move(use));
    return result.shared.back();
  }

  void fill(SharedUse &use, llvm::Expected<SharedAccess> access) {
    if (access)
      use.access = std::move(*access);
    else
      use.reason = wordsOf(access.takeError());
  }

  /// A register layout over the buffer's dims, with the buffer's.
  struct Meeting {
    TileLayout registers;
    SharedLayout shared;
  };
  llvm::Expected<Meeting> meet(const program::Layout &layout, const Buffer &buffer) {
    llvm::Expected<TileLayout> registers = tileLayoutOf(p, layout, buffer.order);
    if (!registers)
      return registers.takeError();
    llvm::Expected<SharedLayout> shared = sharedLayoutOf(p, buffer);
    if (!shared)
      return shared.takeError();
    return Meeting{std::move(*registers), std::move(*shared)};
  }

  void useSlot(const Op &op, program::BufferId id, std::string way, const program::Layout &layout,
               const program::ReadOp &read) {
    SharedUse &use = addShared(op, id, std::move(way));
    if (!read.axes.empty()) {
      use.reason = "it takes a part of the buffer, whose start is known at run time";
      return;
    }
    llvm::Expected<Meeting> both = meet(layout, p[id]);
    if (!both) {
      use.reason = wordsOf(both.takeError());
      return;
    }
    use.place = both->shared.str();
    auto is = [&](program::LayoutFamily family) {
      return read.layout && read.layout->family == family;
    };
    if (is(program::LayoutFamily::MmaA) || is(program::LayoutFamily::MmaB)) {
      const bool isContiguous = p[op.results[0]].tile.axes.back() == p[id].order.back();
      useMatrix(use, *both, !isContiguous);
      return;
    }
    fill(use, accessOf(both->registers, both->shared, plainOrder));
  }

  /// By ldmatrix where that is legal, else in vectors, with the reason why not.
  void useMatrix(SharedUse &use, const Meeting &both, bool isTransposed) {
    MatrixAccess access;
    access.isTransposed = isTransposed;
    llvm::Expected<SharedAccess> matrices = matrixAccessOf(both.registers, both.shared, access);
    if (matrices) {
      use.way = isTransposed ? "ldmatrix.trans" : "ldmatrix";
      use.access = std::move(*matrices);
      return;
    }
    std::string why = wordsOf(matrices.takeError());
    fill(use, accessOf(both.registers, both.shared, plainOrder));
    use.reason = "not by ldmatrix: " + why;
  }

  void useWritten(const Op &op, const program::WriteOp &write, RoleId role) {
    SharedUse &use = addShared(op, write.buffer, "write");
    const Buffer &buffer = p[write.buffer];
    AxisSet axes(buffer.order.begin(), buffer.order.end());
    std::sort(axes.begin(), axes.end());
    llvm::Expected<Meeting> both =
        meet(program::heldAs(p, write.value, axes, std::nullopt, role), buffer);
    if (!both) {
      use.reason = wordsOf(both.takeError());
      return;
    }
    use.place = both->shared.str();
    fill(use, accessOf(both->registers, both->shared, plainOrder));
  }

  /// Operands of mma.sync that stand in buffers are read as fragments.
  void useOperands(const Op &op, const program::DotOp &dot) {
    if (dot.way != program::DotWay::MmaSync)
      return;
    for (bool isLeft : {true, false}) {
      const ScalarExpr &scalar = isLeft ? dot.left : dot.right;
      if (scalar.nodes.size() != 1 || scalar.root().kind != ScalarNode::Kind::Slot)
        continue;
      const program::BufferId id = scalar.root().buffer;
      SharedUse &use = addShared(op, id, "fragments");
      std::optional<program::WarpGrid> grid =
          program::warpGridOf(p[op.results[0]].tile.layout, false);
      AxisSet axes = p.axesOf(scalar), free = program::without(axes, dot.over);
      if (!grid || free.size() != 1 || dot.over.size() != 1) {
        use.reason = "its operand is no matrix";
        continue;
      }
      program::FragmentShape shape;
      shape.rows = {free[0], p.resolved(p[free[0]].extent)};
      shape.contracted = {dot.over[0], p.resolved(p[dot.over[0]].extent)};
      shape.r = grid->r;
      shape.c = grid->c;
      shape.isLeft = isLeft;
      llvm::Expected<Meeting> both =
          meet(program::operandFragment(shape, bitWidth(scalar.type())), p[id]);
      if (!both) {
        use.reason = wordsOf(both.takeError());
        continue;
      }
      use.place = both->shared.str();
      useMatrix(use, *both, p[id].order.back() != dot.over[0]);
    }
  }

  void useStored(const Op &op, const program::StoreOp &store, RoleId role) {
    AxisSet axes = p.axesOf(store.value);
    program::unite(axes, p.axesOf(store.to));
    useTensor(op, store.to, axes, program::heldAs(p, store.value, axes, store.layout, role));
  }

  void useTensor(const Op &op, const program::Access &access, const AxisSet &axes,
                 const program::Layout &layout) {
    result.global.push_back({program::printOp(p, op), p[access.tensor].name, 0, 0, 0, 0, ""});
    GlobalUse &use = result.global.back();
    llvm::Expected<TileLayout> held = tileLayoutOf(p, layout, axes);
    if (!held) {
      use.reason = wordsOf(held.takeError());
      return;
    }
    constexpr int64_t mostPlaces = int64_t(1) << 20;
    if (held->threads() > mostPlaces / held->registers()) {
      use.reason = "it has too many elements to look at one by one";
      return;
    }
    llvm::Expected<TensorPlaces> places = TensorPlaces::of(p, access, axes);
    if (!places) {
      use.reason = wordsOf(places.takeError());
      return;
    }
    std::vector<int64_t> warps(static_cast<size_t>(held->count(Hardware::Warp)));
    std::iota(warps.begin(), warps.end(), 0);
    const int64_t vector = places->vectorOf(*held, warps);
    use.bytesPerLane = std::max<int64_t>(1, vector * places->elementBits() / 8);
    places->forEachAccess(*held, vector, warps, [&](const Sectors &sectors) {
      use.instructions += sectors.touched > 0 ? 1 : 0;
      use.sectors += sectors.touched;
      use.leastSectors += sectors.least;
    });
  }

  void useCopy(const Op &op, const program::CopyOp &copy) {
    result.copies.push_back({program::printOp(p, op),
                             p[copy.buffer].name,
                             std::string(program::toString(copy.way)),
                             0,
                             {}});
    CopyUse &use = result.copies.back();
    if (copy.way != program::CopyWay::CpAsync)
      return;
    llvm::Expected<SharedLayout> shared = sharedLayoutOf(p, p[copy.buffer]);
    if (!shared) {
      use.reasons.push_back(wordsOf(shared.takeError()));
      return;
    }
    GlobalRows rows;
    rows.elementBits = bitWidth(p[copy.from.tensor].type);
    program::MemoryRun run = program::memoryRunOf(p, copy.from);
    if (run.axis != p[copy.buffer].order.back()) {
      use.reasons.push_back("neighbours in the buffer are no neighbours in the tensor");
      return;
    }
    const std::vector<Expr> &dims = p[copy.from.tensor].dims;
    int64_t bits = rows.elementBits;
    for (size_t d = dims.size(); d-- > 1;) {
      bits *= numberOf(p.resolved(dims[d]), 1);
      rows.strideBytes.push_back(bits / 8);
    }
    AsyncCopyPieces pieces = asyncCopyPieces(*shared, rows);
    use.bytes = pieces.bytes;
    use.reasons = std::move(pieces.reasons);
  }

  static constexpr AccessChoices plainOrder{0, 0}; ///< as code generation emits it

  const Program &p;
  ProgramLayouts result;
  std::set<program::ValueId> seen;
};

} // namespace

llvm::Expected<ProgramLayouts> layoutsOf(const Program &program) {
  return LayoutReader(program).run();
}

} // namespace tilewright::layout
