#include "analysis/program/pass/copies.h"

#include "analysis/program/pass/layouts.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::program {

namespace {

constexpr int64_t bankBytes = 4, lineBytes = 128;

/// Why a copy has no pieces of at least four bytes; empty where it may have.
std::string whyNotAsync(const Program &p, const CopyOp &copy) {
  const Buffer &buffer = p[copy.buffer];
  const TensorInfo &tensor = p[copy.from.tensor];
  if (buffer.type != tensor.type)
    return fmt::format("it is converted from {} to {} on its way", toString(tensor.type),
                       toString(buffer.type));
  Expr along = contiguousIndex(p, copy.from);
  if (!along || !contains(p.axesOf(along), buffer.order.back()))
    return fmt::format("neighbours in {} are none in {}", buffer.name, tensor.name);
  constexpr int64_t unit = bankBytes * 8;
  auto bits = static_cast<int64_t>(bitWidth(tensor.type));
  if (Expr row = tensor.dims.back();
      tensor.dims.size() > 1 && row.isConstant() && row.constant() * bits % unit != 0)
    return fmt::format("rows of {} are {} elements of {}, no multiple of {} bytes", tensor.name,
                       row.constant(), toString(tensor.type), bankBytes);
  if (int64_t start = memoryRunOf(p, copy.from).start; start * bits % unit != 0)
    return fmt::format("it starts {} elements of {} into a row", start, toString(tensor.type));
  return "";
}

/// Chooses how the buffers of a program lie in the banks.
class BankSpreader {
public:
  BankSpreader(Program &p, const SizeValues &sizes) : p(p), sizes(sizes) {}

  bool run() {
    for (const Buffer &buffer : p.buffers)
      isTaken.push_back(buffer.swizzle != 0 || buffer.padElements != 0 || buffer.permute);
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      if (const auto *dot = op.as<DotOp>())
        for (const ScalarExpr *scalar : {&dot->left, &dot->right})
          for (const ScalarNode &node : scalar->nodes)
            if (node.kind == ScalarNode::Kind::Slot && p[node.buffer].order.size() >= 2) {
              isFound = true;
              spread(*dot, p.buffers[node.buffer.index], node.buffer,
                     scalar == &dot->right ? columnParts(*dot, op.results[0]) : 1);
            }
    });
    return isFound;
  }

private:
  /// `parts`: warpgroups beside each other that share its rows.
  void spread(const DotOp &dot, Buffer &buffer, BufferId id, int64_t parts) {
    if (isTaken[id.index])
      return;
    isTaken[id.index] = true;
    auto bits = static_cast<int64_t>(bitWidth(buffer.type));
    bool isKMinor = contains(dot.over, buffer.order.back());
    bool isWarpgroup = dot.way == DotWay::Wgmma;
    if (dot.way == DotWay::Fma) {
      if (isKMinor) // threads read rows and columns along one contracted element
        moveLast(buffer, dot, false);
      return;
    }
    if (!isKMinor && !isWarpgroup && bits == 8) {
      moveLast(buffer, dot, true);
      isKMinor = true;
    }
    // A warpgroup reads whole panels.
    int64_t row = rowBytes(buffer, bits) / (isKMinor ? 1 : parts);
    for (int64_t width : {int64_t(lineBytes), lineBytes / 2, lineBytes / 4})
      if (row > 0 && row % width == 0) {
        buffer.swizzle = width;
        return;
      }
  }

  int64_t columnParts(const DotOp &dot, ValueId result) const {
    const Layout &layout = p[result].tile.layout; // digits of a warpgroup's warps, r, c
    if (dot.way != DotWay::Wgmma || layout.warps.size() != 3)
      return 1;
    return std::max<int64_t>(numberOf(layout.warps[2].extent), 1);
  }

  int64_t rowBytes(const Buffer &buffer, int64_t bits) const {
    return numberOf(p.resolved(p[buffer.order.back()].extent) * bits) / 8;
  }

  /// An expression at the sizes; 0 where it has no number.
  int64_t numberOf(Expr expr) const {
    Assignment at;
    for (Expr size : p.sizes)
      if (auto found = sizes.find(p.context->info(size.variable()).name); found != sizes.end())
        at.set(size.variable(), found->second);
    return evaluate(p.resolved(expr), at).value_or(0);
  }

  /// A contracted axis last, or another one.
  void moveLast(Buffer &buffer, const DotOp &dot, bool isContracted) {
    auto at = std::find_if(buffer.order.rbegin(), buffer.order.rend(),
                           [&](AxisId axis) { return contains(dot.over, axis) == isContracted; });
    if (at == buffer.order.rend())
      return;
    AxisId axis = *at;
    std::erase(buffer.order, axis);
    buffer.order.push_back(axis);
  }

  Program &p;
  const SizeValues &sizes;
  std::vector<bool> isTaken; ///< by BufferId: laid out already
  bool isFound = false;
};

} // namespace

llvm::Expected<AsyncProgram> copyAsync(const Program &program) {
  AsyncProgram result{program, {}};
  Program &p = result.program;
  bool isDone = false;
  auto visit = [&](auto &&self, Region &ops) -> void {
    for (Op &op : ops) {
      for (Region *inner : regionsOf(op))
        self(self, *inner);
      auto *copy = op.as<CopyOp>();
      if (!copy || copy->way != CopyWay::Registers)
        continue;
      std::string text = printOp(program, op), why = whyNotAsync(p, *copy);
      if (!why.empty()) {
        result.others.push_back({text.substr(0, text.find(" via")), std::move(why)});
        continue;
      }
      copy->way = CopyWay::CpAsync;
      isDone = true;
    }
  };
  visit(visit, p.body);
  if (isDone)
    return result;
  std::string why;
  for (const NotAsync &other : result.others)
    why += fmt::format("; {}: {}", other.copy, other.reason);
  return makeError(DiagClass::Unsupported, "{}: no copy goes via cp.async{}", p.name, why);
}

llvm::Expected<Program> spreadOverBanks(const Program &program, const SizeValues &sizes) {
  Program p = program;
  if (!BankSpreader(p, sizes).run())
    return makeError(DiagClass::Unsupported, "{}: no dot reads shared memory", p.name);
  if (llvm::Error error = inferTypes(p))
    return error;
  return p;
}

} // namespace tilewright::program
