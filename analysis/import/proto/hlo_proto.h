// HLO modules as protocol buffers: what `--xla_dump_hlo_as_proto` writes and `HloModuleProto`.
#pragma once

#include "analysis/support/diag.h"

#include "llvm/Support/Error.h"

#include <string>

namespace tilewright {

/// The module as HLO text, which reads to the same graph: an HloModuleProto, or one in an HloProto
/// or an HloSnapshot. Shardings, original values and statistics are left out; constants of more
/// than four million elements in all are `{...}`, as in XLA's text. Errors name the byte and, where
/// one is known, the instruction.
llvm::Expected<std::string> hloTextOfProto(const SourceBuffer &source);

} // namespace tilewright
