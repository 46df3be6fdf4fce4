// Reading a model file of any supported format.
#pragma once

#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace tilewright {

enum class ModelFormat { HloText, Mlir, MlirBytecode, Onnx, OtherBinary, Empty };

/// What the bytes look like; names and suffixes of files don't count.
ModelFormat detectFormat(std::string_view bytes);

/// Reads (gzip is unpacked), parses and verifies a model file. HLO text is read; other formats are
/// refused as Unsupported, other bytes as BadInput.
llvm::Expected<Module> importFile(const std::string &path);

/// The same for text that is in memory already; `source->name()` stands in errors.
llvm::Expected<Module> importBuffer(std::shared_ptr<const SourceBuffer> source);

} // namespace tilewright
