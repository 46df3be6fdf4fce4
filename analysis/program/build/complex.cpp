// Complex numbers as two real ones: a tensor of them has a dim of 2 more, and what is asked for is
// one part of a value (Builder::part). Quotients and magnitudes are scaled by the larger part
// first, so that they overflow or lose digits only where they must.
#include "analysis/program/build/builder.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>
#include <limits>
#include <utility>

namespace tilewright::program {

bool isComplex(DType type) { return dtypeClass(type) == DTypeClass::Complex; }

namespace {

/// Scalar arithmetic in one type; the first failure stays.
class Arithmetic {
public:
  using Leaf = ScalarNode;
  using Pointwise = std::function<llvm::Expected<Leaf>(const tilewright::Op &, std::vector<Leaf>,
                                                       std::vector<DType>)>;
  Arithmetic(DType type, Pointwise pointwise) : type(type), pointwise(std::move(pointwise)) {}
  Arithmetic(const Arithmetic &) = delete;
  Arithmetic &operator=(const Arithmetic &) = delete;
  ~Arithmetic() {
    if (error)
      llvm::consumeError(std::move(*error));
  }

  Leaf take(llvm::Expected<Leaf> made) {
    if (made)
      return *made;
    if (error)
      llvm::consumeError(made.takeError());
    else
      error = made.takeError();
    return Leaf();
  }
  Leaf apply(Opcode opcode, std::vector<Leaf> operands) {
    std::vector<DType> types(operands.size(), type);
    return take(pointwise(scalarOp(opcode, type), std::move(operands), std::move(types)));
  }
  Leaf compare(Comparison comparison, const Leaf &a, const Leaf &b) {
    return take(pointwise(compareOp(comparison), {a, b}, {type, type}));
  }
  Leaf logic(Opcode opcode, std::vector<Leaf> operands) {
    std::vector<DType> types(operands.size(), DType::Pred);
    return take(pointwise(scalarOp(opcode, DType::Pred), std::move(operands), std::move(types)));
  }
  Leaf where(const Leaf &condition, const Leaf &yes, const Leaf &no) {
    return take(
        pointwise(scalarOp(Opcode::Select, type), {condition, yes, no}, {DType::Pred, type, type}));
  }
  static Leaf number(double value) {
    Leaf leaf;
    leaf.number = value;
    return leaf;
  }
  llvm::Expected<Leaf> result(const Leaf &leaf) {
    if (error)
      return std::move(*error);
    return leaf;
  }

private:
  DType type;
  Pointwise pointwise;
  std::optional<llvm::Error> error;
};

using Leaf = ScalarNode;

struct Complex {
  Leaf real, imaginary;
};

Leaf productOf(Arithmetic &of, const Complex &x, const Complex &y, unsigned part) {
  auto times = [&](const Leaf &a, const Leaf &b) { return of.apply(Opcode::Multiply, {a, b}); };
  if (part == 0)
    return of.apply(Opcode::Subtract, {times(x.real, y.real), times(x.imaginary, y.imaginary)});
  return of.apply(Opcode::Add, {times(x.real, y.imaginary), times(x.imaginary, y.real)});
}

/// Smith's way: with the divisor's larger part taken out, its square is never made.
Leaf quotientOf(Arithmetic &of, const Complex &x, const Complex &y, unsigned part) {
  auto times = [&](const Leaf &a, const Leaf &b) { return of.apply(Opcode::Multiply, {a, b}); };
  Leaf isRealLarger = of.compare(Comparison::Ge, of.apply(Opcode::Abs, {y.real}),
                                 of.apply(Opcode::Abs, {y.imaginary}));
  Leaf large = of.where(isRealLarger, y.real, y.imaginary);
  Leaf small = of.where(isRealLarger, y.imaginary, y.real);
  Leaf ratio = of.apply(Opcode::Divide, {small, large});
  Leaf divisor = of.apply(Opcode::Add, {large, times(small, ratio)});
  Leaf top = of.where(isRealLarger, x.real, x.imaginary);
  Leaf other = of.where(isRealLarger, x.imaginary, x.real);
  if (part == 0)
    return of.apply(Opcode::Divide, {of.apply(Opcode::Add, {top, times(other, ratio)}), divisor});
  Leaf second = of.apply(Opcode::Subtract, {other, times(top, ratio)});
  second = of.where(isRealLarger, second, of.apply(Opcode::Negate, {second}));
  return of.apply(Opcode::Divide, {second, divisor});
}

/// An infinite part wins over one that is not a number, which wins over the rest.
Leaf magnitude(Arithmetic &of, const Complex &z) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Leaf x = of.apply(Opcode::Abs, {z.real}), y = of.apply(Opcode::Abs, {z.imaginary});
  Leaf isXLarger = of.compare(Comparison::Ge, x, y);
  Leaf large = of.where(isXLarger, x, y), small = of.where(isXLarger, y, x);
  Leaf isPlain = of.logic(Opcode::And, {of.compare(Comparison::Gt, large, of.number(0)),
                                        of.compare(Comparison::Lt, large, of.number(inf))});
  Leaf ratio = of.apply(Opcode::Divide, {small, of.where(isPlain, large, of.number(1))});
  Leaf root =
      of.apply(Opcode::Sqrt,
               {of.apply(Opcode::Add, {of.apply(Opcode::Multiply, {ratio, ratio}), of.number(1)})});
  Leaf plain = of.where(isPlain, of.apply(Opcode::Multiply, {large, root}), large);
  Leaf isInfinite = of.logic(Opcode::Or, {of.compare(Comparison::Eq, x, of.number(inf)),
                                          of.compare(Comparison::Eq, y, of.number(inf))});
  Leaf isNan =
      of.logic(Opcode::Or, {of.compare(Comparison::Ne, x, x), of.compare(Comparison::Ne, y, y)});
  Leaf odd = of.where(isInfinite, of.number(inf), of.apply(Opcode::Add, {x, y}));
  return of.where(of.logic(Opcode::Or, {isInfinite, isNan}), odd, plain);
}

/// exp of a real number is real, whatever infinity times zero would be.
Leaf exponential(Arithmetic &of, const Complex &z, unsigned part) {
  Leaf size = of.apply(Opcode::Exp, {z.real});
  if (part == 0)
    return of.apply(Opcode::Multiply, {size, of.apply(Opcode::Cosine, {z.imaginary})});
  Leaf isReal = of.compare(Comparison::Eq, z.imaginary, of.number(0));
  return of.where(isReal, z.imaginary,
                  of.apply(Opcode::Multiply, {size, of.apply(Opcode::Sine, {z.imaginary})}));
}

} // namespace

/// Part `of` of an operand.
Builder::Made Builder::partOf(unsigned of, OpId id, unsigned operand, const IndexMap &map,
                              const Coordinates &at, const Guard &guard, Guard *conditions,
                              const std::vector<Binding> &ranges) {
  const unsigned outer = std::exchange(part, of);
  Made made = throughMap(id, operand, map, at, guard, conditions, ranges);
  part = outer;
  return made;
}

/// An elementwise op with a complex operand or result: the part that is asked for.
Builder::Made Builder::complexPointwise(OpId id, const OpIndexing &maps, const Coordinates &at,
                                        const Guard &guard) {
  const tilewright::Op &op = graph[id];
  auto typeOf = [&](unsigned i) { return graph[op.operands[i]].shape.dtype; };
  DType type = partType(op.shape.dtype);
  for (unsigned i = 0; i < op.operands.size(); ++i) {
    if (maps.operands[i].maps.size() != 1)
      return unsupported(id, "an operand is read at several places");
    if (isComplex(typeOf(i)))
      type = partType(typeOf(i));
  }
  Arithmetic of(
      type, [&](const tilewright::Op &each, std::vector<Leaf> operands, std::vector<DType> types) {
        return pointwise(each, std::move(operands), std::move(types));
      });
  auto read = [&](unsigned i, unsigned p) {
    return of.take(partOf(p, id, i, maps.operands[i].maps[0], at, guard, nullptr));
  };
  auto whole = [&](unsigned i) { return Complex{read(i, 0), read(i, 1)}; };
  switch (op.opcode) {
  case Opcode::Copy:
    return of.result(read(0, part));
  case Opcode::Add:
  case Opcode::Subtract:
    return of.result(of.apply(op.opcode, {read(0, part), read(1, part)}));
  case Opcode::Negate:
    return of.result(of.apply(op.opcode, {read(0, part)}));
  case Opcode::Multiply:
    return of.result(productOf(of, whole(0), whole(1), part));
  case Opcode::Divide:
    return of.result(quotientOf(of, whole(0), whole(1), part));
  case Opcode::Complex:
    return of.result(read(part, 0));
  case Opcode::Real:
    return of.result(read(0, 0));
  case Opcode::Imag:
    return isComplex(typeOf(0)) ? of.result(read(0, 1)) : numberOf(0);
  case Opcode::Abs:
    return of.result(magnitude(of, whole(0)));
  case Opcode::Sign: {
    Leaf size = magnitude(of, whole(0));
    Leaf isZero = of.compare(Comparison::Eq, size, of.number(0));
    return of.result(
        of.apply(Opcode::Divide, {read(0, part), of.where(isZero, of.number(1), size)}));
  }
  case Opcode::Exp:
    return of.result(exponential(of, whole(0), part));
  case Opcode::Select:
    return of.result(of.where(read(0, 0), read(1, part), read(2, part)));
  case Opcode::Convert: {
    if (!isComplex(typeOf(0)) && part == 1)
      return numberOf(0);
    const unsigned from = isComplex(op.shape.dtype) && isComplex(typeOf(0)) ? part : 0;
    auto x = of.result(read(0, from));
    return x ? converted(*x, partType(typeOf(0)), partType(op.shape.dtype)) : std::move(x);
  }
  case Opcode::Compare: {
    if (op.attrs.comparison != Comparison::Eq && op.attrs.comparison != Comparison::Ne)
      break;
    Complex a = whole(0), b = whole(1);
    Leaf isEqual = of.logic(Opcode::And, {of.compare(Comparison::Eq, a.real, b.real),
                                          of.compare(Comparison::Eq, a.imaginary, b.imaginary)});
    if (op.attrs.comparison == Comparison::Ne)
      isEqual = of.logic(Opcode::Not, {isEqual});
    return of.result(isEqual);
  }
  default:
    break;
  }
  return unsupported(id, fmt::format("elements of type {}", toString(typeOf(0))));
}

/// The part of a product of two operands that is asked for.
Builder::Made Builder::complexProduct(OpId id, const OpIndexing &maps, const Coordinates &at,
                                      const Guard &guard, Guard *conditions,
                                      const std::vector<Binding> &bound) {
  Arithmetic of(
      partType(graph[id].shape.dtype),
      [&](const tilewright::Op &each, std::vector<Leaf> operands, std::vector<DType> types) {
        return pointwise(each, std::move(operands), std::move(types), false);
      });
  auto whole = [&](unsigned i) {
    const IndexMap &map = maps.operands[i].maps[0];
    return Complex{of.take(partOf(0, id, i, map, at, guard, conditions, bound)),
                   of.take(partOf(1, id, i, map, at, guard, conditions, bound))};
  };
  Complex x = whole(0), y = whole(1);
  return of.result(productOf(of, x, y, part));
}

} // namespace tilewright::program
