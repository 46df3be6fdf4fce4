// How often the scalar operations of a program run.
//
// A thread evaluates an operation once for each coordinate that it holds of the axes which the
// operation depends on, in each step of the innermost loop of several steps that changes what it
// reads: what is the same for several registers, or in all steps of a loop, is computed once. In
//
//   for u < 4
//     b = map pow(10000, f32(l)) @ flat(2) of i,l
//     c = map f32(i) * b
//
// with i = 4·p + u, a thread that holds two columns l of a row i makes two powers and eight
// products.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// By what a quotient or a remainder divides: a value for each element, one for several of them, a
/// number, or one of two's powers (of floats, whose quotients are products then).
enum class Divisor : uint8_t { Own, Shared, Number, PowerOfTwo };

struct Evaluations {
  Opcode opcode = Opcode::Add;
  DType type = DType::F32; ///< of the result
  Divisor divisor = Divisor::Own;
  bool isInSteps = false; ///< in a loop over what is reduced, not before or behind it
  int64_t operations = 1; ///< that are evaluated as often
  Expr times;             ///< each, by the threads of a CTA, over size variables
};

struct WorkOfThreads {
  std::vector<Evaluations> evaluations;
  Expr loads; ///< of all threads of a CTA: of vectors, where neighbours in memory are such
};

/// Of maps, stores, reductions and the like, and of the conditions of loads, comparisons of s32.
/// Products of dots are none, nor are coordinates. Of a program whose types are inferred.
WorkOfThreads workOfThreads(const Program &program);

} // namespace tilewright::program
