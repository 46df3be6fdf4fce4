// Values of constants, from the text that HLO prints between the parentheses.
#pragma once

#include "analysis/ir/tensor.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// The tensor of a literal: "1e-05", "{ { 1, 2 }, { 3, 4 } }", "-inf", "{true, false}",
/// "{(1, 2), (0, -1)}" for complex. Braces nest as deeply as the shape has dims, with as many
/// entries as each dim; comments /* … */ are skipped. Floats are rounded to the type.
/// BadInput for anything else and for integers out of range; Unsupported for "{...}", where the
/// dump left the values out, and for tuple shapes. Errors count columns from the literal's start.
llvm::Expected<Tensor> parseLiteral(const Shape &shape, std::string_view text);

/// The text that parseLiteral() reads back: "{{1, 2}, {3, 4}}". Floats with as many digits as their
/// type needs.
std::string literalText(const Tensor &tensor);

/// One element: "0.1", "(1, -2)", "true".
std::string elementText(const Tensor &tensor, int64_t i);

/// A real number with the digits that give it back in its type.
std::string realText(DType type, double value);

} // namespace tilewright
