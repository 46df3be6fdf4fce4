#include "tools/tilewright/program_input.h"

#include "analysis/program/text.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "codegen/pack_manifest.h"
#endif

namespace tilewright::cli {

bool isPlan(const std::string &text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

namespace {

llvm::Expected<program::PlanProgram> programOfPlanText(const std::string &file,
                                                       const std::string &text) {
#ifdef TILEWRIGHT_HAS_CODEGEN
  llvm::Expected<KernelSpec> spec = parsePlan(file, text);
  if (!spec)
    return spec.takeError();
  return programOf(*spec);
#else
  return makeError(DiagClass::Unsupported,
                   "{}: plans are read by code generation, which this program was built without",
                   file);
#endif
}

} // namespace

llvm::Expected<program::PlanProgram> programOfText(const std::string &file, std::string text,
                                                   const std::vector<std::string> &lets) {
  if (isPlan(text)) {
    if (!lets.empty())
      return makeError(DiagClass::BadInput, "{}: --let {}: a plan has numbers for all sizes", file,
                       lets.front());
    return programOfPlanText(file, text);
  }
  program::PlanProgram made;
  llvm::Expected<program::Program> read = program::parseProgram(std::move(text), file);
  if (!read)
    return read.takeError();
  llvm::Expected<std::map<std::string, int64_t>> sizes = namedNumbers("--let", lets);
  if (!sizes)
    return sizes.takeError();
  made.sizes.insert(sizes->begin(), sizes->end());
  made.stages.push_back({"read", std::move(*read), {}});
  return made;
}

} // namespace tilewright::cli
