// Reading a layout by itself, as it stands behind an op.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// "@ mma(2, 2)", "@ flat(4) of i,j" for axes that the program has; sizes are numbers. BadInput
/// with the place of the error.
llvm::Expected<LayoutSpec> parseLayoutSpec(const Program &program,
                                           std::shared_ptr<const SourceBuffer> text);

} // namespace tilewright::program
