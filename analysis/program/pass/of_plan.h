// The program of a plan: built, then one pass after the other.
#pragma once

#include "analysis/program/substitute.h"
#include "analysis/tiling/plan.h"

#include <string>
#include <vector>

namespace tilewright::program {

/// The program after one step of the way.
struct PlanStage {
  /// "build", "hand over", "online", "clip", "exponents", "unmask", "chunk", "stage", "vectorise",
  /// "split", "banks", …
  std::string name;
  Program program; ///< symbolic; of a pass that does not apply the one before it
  /// What the pass did not do, and why, a line each: "load x[j, i]: …".
  std::vector<std::string> reasons;
  bool isConcrete = false; ///< numbers are put in: the plan's sizes are none of its own
};

struct PlanProgram {
  std::vector<PlanStage> stages; ///< in order; the last one is what runs
  SizeValues sizes;              ///< that the plan gives the program's sizes

  const Program &last() const { return stages.back().program; }
  /// Numbers for the sizes of the last one.
  SizeValues lastSizes() const { return stages.back().isConcrete ? SizeValues() : sizes; }
};

/// Errors: those of variantOf() and buildProgram(): Unsupported, naming the op, for what has no
/// program yet.
/// `isByLoops`: reductions and dots are loops of the thread that makes an element.
llvm::Expected<PlanProgram> programOfPlan(const KernelPlan &plan, bool isByLoops = false);

/// The program of one variant of a group, over the sizes that are left open.
struct GroupProgram {
  Program program;
  Expr when;           ///< which tile sizes take it: not 0 there, over the group's parameters
  std::string refusal; ///< why there is none
};
/// All programs of a group that reduces, or has several dots: those of programOfPlan(), without
/// passes that only change how they read and copy. Errors of frameOf().
/// Of the variants that are asked for; null: all of them.
llvm::Expected<std::vector<GroupProgram>>
programsOf(const Module &module, const Graph &graph, const TiledGroup &group,
           Instruction instruction = Instruction::Fma,
           llvm::function_ref<bool(Expr when)> isAsked = nullptr);

/// The last program with the plan's sizes put in, without loops of one step: what runs.
/// Errors: those of substituteSizes().
llvm::Expected<Program> concreteProgram(const PlanProgram &plan);

} // namespace tilewright::program
