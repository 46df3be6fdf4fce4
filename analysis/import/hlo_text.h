// XLA's HLO text: reading and printing.
//
// The reader is one pass, hand-written, bounded in depth and counts (hlo_limits in hlo_lexer.h),
// and linear in the text's length. It keeps every attribute verbatim, so that printing loses
// nothing: parseHlo(printHlo(m)) equals m (module_equal.h).
#pragma once

#include "analysis/import/import_file.h"
#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// Reads the modules of a text, one or more, each after the other. The first error is returned as a
/// located BadInput (Unsupported for ranks over the limit). Checks the syntax, names, literals,
/// layouts and computation signatures; verify() checks the ops' meaning (ir/verifier.h). An op may
/// be written without its shape where that follows from its operands.
///
/// The first `HloModule` line may be missing (the name is then empty). Without an ENTRY the last
/// computation is the entry, without a ROOT the last op of a computation is its root. Computations
/// may be called before they are defined; operands must be defined before they are used.
llvm::Expected<std::vector<Module>> parseHloModules(std::shared_ptr<const SourceBuffer> source);

/// The same for a text of one module; BadInput where a second begins.
llvm::Expected<Module> parseHlo(std::shared_ptr<const SourceBuffer> source);

/// HLO text that reads back to an equal module. Ops without verbatim attributes (made by hand or
/// read from another format) get theirs from the typed ones.
std::string printHlo(const Module &module);

} // namespace tilewright
