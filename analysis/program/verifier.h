// What the files of the verifier share. Not for other folders.
//
//   verify.cpp         driver, deciding formulas, V1–V4
//   verify_memory.cpp  rings, aliases, copies, swizzles: V5, V6, V10, V11
//   verify_layout.cpp  layouts and instructions: V8, V9, V12
//   verify_digits.cpp  layouts that the text gives digit by digit: V8
//   verify_flow.cpp    barriers, splits, atomics, indices, limits: V13–V18
//   pads.cpp           V7
#pragma once

#include "analysis/affine/simplify.h"
#include "analysis/program/infer.h"
#include "analysis/program/text.h"
#include "analysis/program/verify.h"

namespace tilewright::program {

/// Sizes are at least 1.
Bounds sizeBounds(const Program &program);

class Verifier {
public:
  Verifier(const Program &program, const DeviceLimits *limits);
  Verification run();

  void violate(unsigned rule, SourceLoc where, std::string message);
  /// Decides, or leaves a requirement.
  void require(unsigned rule, SourceLoc where, Formula formula, std::string message);
  std::optional<bool> decide(const Formula &formula);
  std::string text(Expr expr) const { return printExpr(p, expr); }
  Expr resolved(Expr expr) { return simplifier.simplify(p.resolved(expr)); }

  const Program &p;

private:
  struct Place {
    LoopNest loops;
    bool isIssue = false, isInIf = false;
    RoleId role; ///< invalid: outside of roles
  };
  bool checkReferences();
  void visit(const Region &region, const Place &place);
  void checkShape(const Op &op);
  void checkStore(const Op &op, const Place &place);
  std::vector<int64_t> storedBeside(const StoreOp &store, size_t dim) const;
  void checkStoreIndex(const Op &op, const StoreOp &store, size_t dim, std::vector<VarId> &used);
  void checkLoop(const Op &op, const ForOp &loop);
  void checkReadPlace(const Op &op, BufferId buffer, Expr step, const Place &place);
  void checkReadAxes(const Op &op, const ReadOp &read);
  void checkCopy(const Op &op, const CopyOp &copy, const Place &place);
  void checkAliases();
  void checkCopyIntoOthers(BufferId id);
  void checkSwizzles();
  void checkMap(const Op &op, const Place &place);
  void checkHolders(const Op &op, const Place &place);
  void checkDigits(const Op &op, const Place &place);
  void checkDot(const Op &op, const DotOp &dot);
  void requirePanels(const Op &op, const DotOp &dot, Expr warpgroups);
  void checkFmaOperands(const Op &op, const DotOp &dot);
  bool checkOperand(const Op &op, const DotOp &dot, const ScalarExpr &scalar, bool isLeft,
                    Expr rows, Expr columns);
  void checkTypes(const Op &op, const DotOp &dot);
  void checkRoles();
  void checkBarrier(const Op &op, const Place &place);
  void checkPair(const Op &op, const SumSplitsOp &sum);
  void checkSplits(const Op &op, const SumSplitsOp &sum, const Place &place);
  void checkAtomic(const Op &op, const AtomicOp &atomic);
  void checkIndices(const Op &op);
  void checkSizes();
  void checkLimits();
  bool isSequential(VarId var) const;

  const DeviceLimits *limits;
  Simplifier simplifier;
  Verification result;
  bool isBehindSplits = false;
  std::vector<RoleId> madeBy; ///< by value: the role of the op that made it
  std::vector<bool> isLoaded; ///< by value: by the op that made it
  unsigned sumsOfSplits = 0;
};

/// V7: lanes that do not count hold the identity where a reduction or a scan goes over them, and
/// zero where a dot does.
void checkPads(Verifier &verifier);

} // namespace tilewright::program
