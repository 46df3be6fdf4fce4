#include "tools/tilewright/model_input.h"

#include "analysis/import/import_file.h"

#include <optional>

namespace tilewright::cli {

llvm::Expected<std::string> readModelText(const std::string &path) {
  if (path != "-")
    return readFile(path);
  // A batch asks twice: for the modules of a file, and for one of them.
  static std::optional<std::string> kept;
  if (!kept) {
    llvm::Expected<std::string> text = readFile("/dev/stdin");
    if (!text)
      return text.takeError();
    kept = std::move(*text);
  }
  return *kept;
}

llvm::Expected<Module> readModel(const std::string &path, std::string_view module) {
  llvm::Expected<std::string> text = readModelText(path);
  if (!text)
    return text.takeError();
  return importBuffer(std::make_shared<const SourceBuffer>(modelName(path), std::move(*text)),
                      module);
}

std::string modelName(const std::string &path) { return path == "-" ? "stdin" : path; }

} // namespace tilewright::cli
