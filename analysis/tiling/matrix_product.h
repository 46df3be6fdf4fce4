// Which dots and convolutions matrix instructions take, by their types and by what they ask for.
//
//   operands                   sum   asked for
//   two of f16, of bf16        f32   anything: products are exact
//   two of f8e4m3fn, f8e5m2    f32   anything
//   two of f32, as TF32        f32   nothing or one product of TF32 or less; mma.sync also what
//   three
//                                    products of parts make (`operand_precision` high)
//   two of s8, u8              s32   anything
#pragma once

#include "analysis/ir/graph.h"
#include "analysis/tiling/plan.h"

#include <string>

namespace tilewright {

/// Products of TF32 that stand for one of the op's f32 operands in what it asks for: 1; 3, of which
/// two take the bits that TF32 leaves out of one operand; 0: no such products are exact enough.
int tf32Products(const Graph &graph, const Op &op);

/// Why our code does not make the op of the products of a matrix instruction, as the end of a
/// sentence on that ("takes …, not …"); empty where it does.
std::string whyNoMatrixProduct(const Graph &graph, const Op &op, Instruction instruction);

} // namespace tilewright
