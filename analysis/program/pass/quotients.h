// Quotients by what is the same along an axis are products with its reciprocal.
//
//   z = map c * …             z = map c * …; r = map 1 / z
//   a1 = map a / z       →    a1 = map a * r
//
// A quotient takes about ten instructions for each element, a product one; the product is rounded
// twice.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// Of f32, behind the loops of dots. Unsupported: nothing is divided so.
llvm::Expected<Program> quickQuotients(const Program &program);

} // namespace tilewright::program
