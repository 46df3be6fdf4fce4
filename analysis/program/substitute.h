// Numbers put into a symbolic program.
#pragma once

#include "analysis/program/program.h"

#include <map>
#include <span>
#include <string>

namespace tilewright::program {

/// Numbers by size name.
using SizeValues = std::map<std::string, int64_t, std::less<>>;

/// The same program with sizes replaced by numbers. Lets that become numbers go; where all sizes
/// are given the result has neither. BadInput: a name that is no size of the program, a size that
/// is negative, a number that leaves 64 bits.
llvm::Expected<Program> substituteSizes(const Program &program, const SizeValues &values);

/// Loops of one step become what stands in them; those that copy or are split stay.
void inlineSingleSteps(Program &program);

/// Accesses and copies name tensors by new ids: place[old].
void renumberTensors(Program &program, std::span<const uint32_t> place);

/// Calls rewrite(expr) on every integer expression of a program; null ones are left out. Types have
/// to be inferred again.
void rewriteExprs(Program &program, const std::function<void(Expr &)> &rewrite);

/// Sizes that have no number yet, by name.
std::vector<std::string> freeSizes(const Program &program);

} // namespace tilewright::program
