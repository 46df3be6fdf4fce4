// Reading a model file of any supported format.
#pragma once

#include "analysis/ir/graph.h"

#include "llvm/Support/Error.h"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

enum class ModelFormat {
  HloText,
  HloProto,
  HloProtoText,
  Mlir,
  MlirBytecode,
  Onnx,
  OnnxText,
  OtherBinary,
  Empty
};

/// How large the dims are that a file leaves open, by their names there (onnx/onnx_import.h).
using DimSizes = std::map<std::string, int64_t>;

/// The format by content; file names don't count.
ModelFormat detectFormat(std::string_view bytes);

/// Reads (gzip is unpacked), parses and verifies a model file. HLO text, HLO's
/// protocol buffers (proto/hlo_proto.h), StableHLO's MLIR text and ONNX (onnx/onnx_import.h) are
/// read; other formats are refused as Unsupported, other bytes as BadInput. A file may hold several
/// modules: `module` says which is wanted, by its name in moduleNames(). With an empty name it must
/// be the only one.
llvm::Expected<Module> importFile(const std::string &path, std::string_view module = {});

/// The same for text in memory; errors name `source->name()`. BadInput where `sizes` has a name
/// that is no open dim's.
llvm::Expected<Module> importBuffer(std::shared_ptr<const SourceBuffer> source,
                                    std::string_view module = {}, const DimSizes &sizes = {});

/// All modules of a text, at least one, or with a name that one.
llvm::Expected<std::vector<Module>> importModules(std::shared_ptr<const SourceBuffer> source,
                                                  std::string_view module = {},
                                                  const DimSizes &sizes = {});

/// What the modules of one file are called, each in its own way: by their names, a name's second
/// occurrence with ".2" behind it and so on; "module" where there is no name.
std::vector<std::string> moduleNames(std::span<const Module> modules);

} // namespace tilewright
