#include "codegen/index_emitter.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright {

IndexEmitter::IndexEmitter(KernelBuilder &builder, ExprContext &context, llvm::Type *type)
    : k(builder), b(builder.b), exprs(context), numbers(type),
      simplifier(std::make_unique<Simplifier>(exprs, bounds)), memos(1) {}

IndexEmitter::~IndexEmitter() = default;

void IndexEmitter::bind(Expr var, Interval domain, llvm::Value *value) {
  size_t number = var.variable().index;
  bounds.set(var, domain);
  simplifier = std::make_unique<Simplifier>(exprs, bounds);
  if (values.size() <= number)
    values.resize(number + 1);
  values[number] = value ? b.CreateSExtOrTrunc(value, numbers) : nullptr;
}

llvm::Value *IndexEmitter::holds(const MapConstraint &condition) {
  llvm::Value *result = nullptr;
  auto require = [&](llvm::Value *other) { result = result ? b.CreateAnd(result, other) : other; };
  auto number = [&](int64_t value) { return llvm::ConstantInt::getSigned(numbers, value); };
  Interval reach = range(condition.expr);
  if (condition.range.lo > reach.lo)
    require(b.CreateICmpSGE(index(condition.expr), number(condition.range.lo)));
  if (condition.range.hi < reach.hi)
    require(b.CreateICmpSLE(index(condition.expr), number(condition.range.hi)));
  Expr rest = condition.modulus == 1 ? Expr() : simplify(condition.expr.mod(condition.modulus));
  if (rest && !rest.isConstant(condition.residue))
    require(b.CreateICmpEQ(index(rest), number(condition.residue)));
  return result;
}

llvm::Value *IndexEmitter::emit(Expr expr) {
  if (expr.isConstant())
    return llvm::ConstantInt::getSigned(numbers, expr.constant());
  if (expr.isVariable())
    return values[expr.variable().index];
  for (const auto &memo : llvm::reverse(memos))
    if (auto known = memo.find(expr.id()); known != memo.end())
      return known->second;
  llvm::Value *x = emit(expr.lhs()), *y = emit(expr.rhs());
  bool isNatural = range(expr.lhs()).lo >= 0;
  bool isNaturalRight = range(expr.rhs()).lo >= 0;
  // Flags let LLVM move constants and loop-invariant parts out of extensions.
  bool fits = Interval{INT32_MIN, INT32_MAX}.contains(range(expr));
  auto one = llvm::ConstantInt::get(numbers, 1), zero = llvm::ConstantInt::get(numbers, 0);
  llvm::Value *result = nullptr;
  switch (expr.kind()) {
  case ExprKind::Add:
    result = b.CreateAdd(x, y, "", isNatural && isNaturalRight && fits, fits);
    break;
  case ExprKind::Mul:
    result = b.CreateMul(x, y, "", isNatural && isNaturalRight && fits, fits);
    break;
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
  case ExprKind::Mod:
    result = emitDivision(expr, x, y);
    break;
  case ExprKind::Min:
    result = k.intrinsic(llvm::Intrinsic::smin, {numbers}, {x, y});
    break;
  case ExprKind::Max:
    result = k.intrinsic(llvm::Intrinsic::smax, {numbers}, {x, y});
    break;
  case ExprKind::IsAtLeast:
    result = b.CreateZExt(b.CreateICmpSGE(x, y), numbers);
    break;
  case ExprKind::IsEqual:
    result = b.CreateZExt(b.CreateICmpEQ(x, y), numbers);
    break;
  case ExprKind::Select:
    result = b.CreateSelect(b.CreateICmpNE(emit(expr.third()), zero), x, y);
    break;
  case ExprKind::Pow2Ceil: { // 1 << (width - leading zeros of x - 1), and 1 up to 1
    llvm::Value *isSmall = b.CreateICmpSLE(x, one);
    llvm::Value *less = b.CreateSelect(isSmall, zero, b.CreateSub(x, one));
    llvm::Value *zeros = k.intrinsic(llvm::Intrinsic::ctlz, {numbers}, {less, b.getFalse()});
    llvm::Value *width = llvm::ConstantInt::get(numbers, numbers->getIntegerBitWidth());
    result = b.CreateShl(one, b.CreateSub(width, zeros));
    break;
  }
  case ExprKind::Pow2Divisor:
    result = b.CreateAnd(x, b.CreateNeg(x));
    break;
  case ExprKind::Log2: {
    llvm::Value *zeros = k.intrinsic(llvm::Intrinsic::ctlz, {numbers}, {x, b.getTrue()});
    llvm::Value *top = llvm::ConstantInt::get(numbers, numbers->getIntegerBitWidth() - 1);
    result = b.CreateSub(top, zeros);
    break;
  }
  default: // poison: nothing sensible reads it
    result = zero;
  }
  memos.back()[expr.id()] = result;
  return result;
}

/// Rounded towards minus infinity; divisors are positive.
llvm::Value *IndexEmitter::emitDivision(Expr expr, llvm::Value *x, llvm::Value *y) {
  if (expr.kind() == ExprKind::CeilDiv)
    x = b.CreateAdd(x, b.CreateSub(y, llvm::ConstantInt::get(numbers, 1)));
  bool isMod = expr.kind() == ExprKind::Mod;
  if (range(expr.lhs()).lo >= 0)
    return isMod ? b.CreateURem(x, y) : b.CreateUDiv(x, y);
  llvm::Value *rest = b.CreateSRem(x, y);
  llvm::Value *isBelow = b.CreateICmpSLT(rest, llvm::ConstantInt::get(numbers, 0));
  if (isMod)
    return b.CreateSelect(isBelow, b.CreateAdd(rest, y), rest);
  return b.CreateSub(b.CreateSDiv(x, y), b.CreateZExt(isBelow, numbers));
}

} // namespace tilewright
