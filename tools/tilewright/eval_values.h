// Tensors that `eval` is given: inputs, and results that are expected.
#pragma once

#include "analysis/ir/tensor.h"
#include "tools/tilewright/command.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::cli {

/// A place that a value may be given for.
struct ValueSlot {
  std::string name; ///< of a parameter; "0" of a result; "0.1" of a part of a tuple
  Shape shape;
};

struct GivenValue {
  Tensor tensor;
  std::string source; ///< "x.npy", "literal"
};

/// Values of the slots by what a user gave, each text being
///   NAME=FILE.npy, NAME=FILE.npz:KEY, NAME=LITERAL   NAME: a slot's name or number
///   FILE.npy                                         the first slot that has no value yet
///   FILE.npz                                         its arrays by their names, or arr_0, arr_1, …
/// BadInput for names that are no slot's, slots that are given twice and values that don't fit.
llvm::Expected<std::vector<std::optional<GivenValue>>>
givenValues(const std::vector<ValueSlot> &slots, const std::vector<std::string> &texts);

/// Elements as JSON: numbers, "nan" and "inf" as text, complex numbers as pairs.
Json elementsJson(const Tensor &tensor, int64_t most);

} // namespace tilewright::cli
