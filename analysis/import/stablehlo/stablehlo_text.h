// StableHLO text: reading to the op table.
//
// The reader takes MLIR's two forms, `stablehlo.add %a, %b : tensor<4xf32>` and
// `"stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>`, mixed as they come,
// in one pass that is linear in the text's length and bounded as the reader of HLO is (hlo_limits).
// Ops of the stablehlo and chlo dialects become ops of HLO, some several; `docs/ops.md` lists
// which.
#pragma once

#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace tilewright {

/// Reads the modules of a text; functions without a module form one. The entry is @main, else the
/// only public function, else the only one that no other calls. Functions that it doesn't reach are
/// read and dropped.
///
/// The first error is returned as a located BadInput; as Unsupported, with its name and the reason,
/// for an op or a type that has no counterpart. verify() checks the ops' shapes (ir/verifier.h).
llvm::Expected<std::vector<Module>>
parseStableHloModules(std::shared_ptr<const SourceBuffer> source);

} // namespace tilewright
