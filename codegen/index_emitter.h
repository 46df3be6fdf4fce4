// IndexEmitter: code for integer expressions over a kernel's own variables (CTA and thread number,
// loop counters, indices that were loaded).
//
// Numbers are of one integer type that is wide enough for all of them. Expressions are simplified
// with the intervals of their variables first, and one that was emitted before is not emitted again
// in the same scope.
#pragma once

#include "analysis/affine/index_map.h"
#include "codegen/kernel_builder.h"

#include <map>

namespace tilewright {

class IndexEmitter {
public:
  /// `type`: i32 or i64.
  IndexEmitter(KernelBuilder &builder, ExprContext &context, llvm::Type *type);
  ~IndexEmitter();

  KernelBuilder &builder() { return k; }
  ExprContext &context() { return exprs; }
  llvm::Type *type() const { return numbers; }
  Expr constant(int64_t value) { return exprs.constant(value); }

  /// Says what values a variable can have, and its value as an integer of any width (null: none, it
  /// stands in no expression that is emitted).
  void bind(Expr var, Interval domain, llvm::Value *value);
  Expr simplify(Expr expr) { return simplifier->simplify(expr); }
  Interval range(Expr expr) { return simplifier->range(expr); }
  int64_t knownDivisor(Expr expr) { return simplifier->knownDivisor(expr); }

  /// The number, of type().
  llvm::Value *index(Expr expr) { return emit(simplify(expr)); }
  /// An i1: whether the condition holds; null if it is certain to.
  llvm::Value *holds(const MapConstraint &condition);

  /// RAII for code inside a loop or a branch: what is emitted in it is not used behind its end.
  class Scope {
  public:
    explicit Scope(IndexEmitter &emitter) : emitter(emitter) { emitter.memos.emplace_back(); }
    ~Scope() { emitter.memos.pop_back(); }

  private:
    IndexEmitter &emitter;
  };

private:
  llvm::Value *emit(Expr expr);
  llvm::Value *emitDivision(Expr expr, llvm::Value *x, llvm::Value *y);

  KernelBuilder &k;
  llvm::IRBuilder<> &b;
  ExprContext &exprs;
  llvm::Type *numbers;
  Bounds bounds;
  std::unique_ptr<Simplifier> simplifier;
  std::vector<llvm::Value *> values;                    ///< by VarId
  std::vector<std::map<uint32_t, llvm::Value *>> memos; ///< by expression, innermost scope last
};

} // namespace tilewright
