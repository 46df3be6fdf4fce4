// Selection tables as code: a C++ header and a Python module, each without dependencies, with a
// function from the size to the plan.
#pragma once

#include "tools/select/selection.h"

#include <string>

namespace tilewright {

/// What the code says of itself.
struct SelectionTitle {
  std::string function;  ///< an identifier: "selectGemm" is made of "gemm"
  std::string dimension; ///< of the open size: "m"
  std::string about;     ///< one line: the family, its arguments, the device
};

/// A word as an identifier: other characters become "_", and a digit in front gets one.
std::string identifierOf(std::string_view word);

/// `constexpr const NAME::Plan *NAME::select(int64_t size)`, null outside of all ranges, in
/// namespace `tiles`.
std::string selectionHeader(const SelectionTable &table, const SelectionTitle &title);
/// `def select(size)`: a dict, None outside of all ranges.
std::string selectionPython(const SelectionTable &table, const SelectionTitle &title);

} // namespace tilewright
