#include "analysis/program/op.h"

#include "analysis/program/monoid.h"

#include <cmath>
#include <limits>

namespace tilewright::program {

namespace {

constexpr std::string_view monoids[] = {"add", "mul", "max",    "min",
                                        "and", "or",  "argmax", "argmin"};
constexpr std::string_view copyWays[] = {"cp.async", "tma", "regs"};
constexpr std::string_view dotWays[] = {"fma", "mma.sync", "wgmma"};
// In order of OpAttributes.
constexpr std::string_view opKinds[] = {"load",  "store",      "atomic",      "copy", "read",
                                        "write", "map",        "reduce",      "scan", "dot",
                                        "full",  "relayout",   "select.axis", "join", "for",
                                        "if",    "sum.splits", "barrier",     "role"};
static_assert(std::size(opKinds) == std::variant_size_v<OpAttributes>);

constexpr ScalarFunction functions[] = {
    {"exp", Opcode::Exp, 1},
    {"exp2", Opcode::Power, 1},
    {"log", Opcode::Log, 1},
    {"sqrt", Opcode::Sqrt, 1},
    {"rsqrt", Opcode::Rsqrt, 1},
    {"tanh", Opcode::Tanh, 1},
    {"erf", Opcode::Erf, 1},
    {"abs", Opcode::Abs, 1},
    {"floor", Opcode::Floor, 1},
    {"ceil", Opcode::Ceil, 1},
    {"sign", Opcode::Sign, 1},
    {"sin", Opcode::Sine, 1},
    {"cos", Opcode::Cosine, 1},
    {"logistic", Opcode::Logistic, 1},
    {"max", Opcode::Maximum, 2},
    {"min", Opcode::Minimum, 2},
    {"where", Opcode::Select, 3},
    {"rem", Opcode::Remainder, 2},
    {"pow", Opcode::Power, 2},
    {"not", Opcode::Not, 1},
    {"expm1", Opcode::Expm1, 1},
    {"log1p", Opcode::Log1p, 1},
    {"cbrt", Opcode::Cbrt, 1},
    {"tan", Opcode::Tan, 1},
    {"acos", Opcode::Acos, 1},
    {"acosh", Opcode::Acosh, 1},
    {"asin", Opcode::Asin, 1},
    {"asinh", Opcode::Asinh, 1},
    {"atanh", Opcode::Atanh, 1},
    {"sinh", Opcode::Sinh, 1},
    {"cosh", Opcode::Cosh, 1},
    {"atan2", Opcode::Atan2, 2},
    {"round", Opcode::RoundNearestAfz, 1},
    {"round_even", Opcode::RoundNearestEven, 1},
    {"is_finite", Opcode::IsFinite, 1},
    {"clz", Opcode::Clz, 1},
    {"popcnt", Opcode::PopulationCount, 1},
    {"xor", Opcode::Xor, 2},
    {"shl", Opcode::ShiftLeft, 2},
    {"sra", Opcode::ShiftRightArithmetic, 2},
    {"srl", Opcode::ShiftRightLogical, 2},
    {"reduce_precision", Opcode::ReducePrecision, 3},
};

} // namespace

const ScalarFunction *findFunction(std::string_view name) {
  for (const ScalarFunction &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

const ScalarFunction *findFunction(Opcode opcode) {
  for (const ScalarFunction &function : functions)
    if (function.opcode == opcode && function.name != "exp2")
      return &function;
  return nullptr;
}

std::string_view toString(Monoid monoid) { return monoids[static_cast<size_t>(monoid)]; }

std::optional<Monoid> parseMonoid(std::string_view name) {
  for (size_t i = 0; i < std::size(monoids); ++i)
    if (monoids[i] == name)
      return static_cast<Monoid>(i);
  return std::nullopt;
}

std::optional<Opcode> opcodeOf(Monoid monoid) {
  switch (monoid) {
  case Monoid::Add:
    return Opcode::Add;
  case Monoid::Mul:
    return Opcode::Multiply;
  case Monoid::Max:
    return Opcode::Maximum;
  case Monoid::Min:
    return Opcode::Minimum;
  case Monoid::And:
    return Opcode::And;
  case Monoid::Or:
    return Opcode::Or;
  case Monoid::ArgMax:
  case Monoid::ArgMin:
    break;
  }
  return std::nullopt;
}

size_t resultCount(Monoid monoid) {
  return monoid == Monoid::ArgMax || monoid == Monoid::ArgMin ? 2 : 1;
}

double identityOf(Monoid monoid) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (monoid) {
  case Monoid::Add:
  case Monoid::Or:
    return 0;
  case Monoid::Mul:
  case Monoid::And:
    return 1;
  case Monoid::Max:
  case Monoid::ArgMax:
    return -inf;
  case Monoid::Min:
  case Monoid::ArgMin:
    return inf;
  }
  return 0;
}

double lowestOf(DType type) {
  if (isFloat(type))
    return -std::numeric_limits<double>::infinity();
  return dtypeClass(type) == DTypeClass::Signed ? -std::ldexp(1.0, int(bitWidth(type)) - 1) : 0;
}

double highestOf(DType type) {
  if (isFloat(type))
    return std::numeric_limits<double>::infinity();
  bool isSigned = dtypeClass(type) == DTypeClass::Signed;
  return std::ldexp(1.0, int(bitWidth(type)) - isSigned) - 1;
}

bool isIdentity(Monoid monoid, DType type, double number) {
  if (number == identityOf(monoid))
    return true;
  bool isInteger = !isFloat(type) && type != DType::Pred;
  bool isMax = monoid == Monoid::Max || monoid == Monoid::ArgMax;
  bool isMin = monoid == Monoid::Min || monoid == Monoid::ArgMin;
  return isInteger && ((isMax && number == lowestOf(type)) || (isMin && number == highestOf(type)));
}

std::string_view toString(CopyWay way) { return copyWays[static_cast<size_t>(way)]; }
std::string_view toString(DotWay way) { return dotWays[static_cast<size_t>(way)]; }
std::string_view kindName(const Op &op) { return opKinds[op.what.index()]; }

std::vector<const ScalarExpr *> scalarsOf(const Op &op) {
  if (const auto *o = op.as<StoreOp>())
    return {&o->value};
  if (const auto *o = op.as<AtomicOp>())
    return {&o->value};
  if (const auto *o = op.as<WriteOp>())
    return {&o->value};
  if (const auto *o = op.as<MapOp>())
    return {&o->value};
  if (const auto *o = op.as<ReduceOp>())
    return {&o->value};
  if (const auto *o = op.as<ScanOp>())
    return {&o->value};
  if (const auto *o = op.as<DotOp>())
    return {&o->left, &o->right};
  return {};
}

const std::vector<AxisId> &axesReadBy(const ReadOp &read, const std::vector<AxisId> &ofBuffer) {
  return read.axes.empty() ? ofBuffer : read.axes;
}

std::vector<SlotRead> slotReadsOf(const Op &op) {
  std::vector<SlotRead> result;
  if (const auto *read = op.as<ReadOp>())
    result.push_back({read->buffer, read->step});
  for (const ScalarExpr *scalar : scalarsOf(op))
    for (const ScalarNode &node : scalar->nodes)
      if (node.kind == ScalarNode::Kind::Slot)
        result.push_back({node.buffer, node.index});
  return result;
}

const Access *accessOf(const Op &op) {
  if (const auto *o = op.as<LoadOp>())
    return &o->from;
  if (const auto *o = op.as<StoreOp>())
    return &o->to;
  if (const auto *o = op.as<AtomicOp>())
    return &o->to;
  if (const auto *o = op.as<CopyOp>())
    return &o->from;
  return nullptr;
}

std::vector<Region *> regionsOf(Op &op) {
  if (auto *o = op.as<ForOp>())
    return {&o->issue, &o->body};
  if (auto *o = op.as<IfOp>())
    return {&o->then, &o->otherwise};
  if (auto *o = op.as<RoleOp>())
    return {&o->body};
  return {};
}

std::vector<const Region *> regionsOf(const Op &op) {
  std::vector<const Region *> result;
  for (Region *region : regionsOf(const_cast<Op &>(op)))
    result.push_back(region);
  return result;
}

} // namespace tilewright::program
