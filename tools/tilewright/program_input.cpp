#include "tools/tilewright/program_input.h"

#include "analysis/program/text.h"
#ifdef TILEWRIGHT_HAS_CODEGEN
#include "codegen/pack_manifest.h"
#endif

#include <charconv>

namespace tilewright::cli {

llvm::Expected<program::SizeValues> numbersByName(const std::vector<std::string> &pairs,
                                                  const std::string &option) {
  program::SizeValues numbers;
  for (const std::string &pair : pairs) {
    size_t equal = pair.find('=');
    int64_t value = 0;
    std::string number = equal == std::string::npos ? "" : pair.substr(equal + 1);
    auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (equal == 0 || number.empty() || status != std::errc() ||
        end != number.data() + number.size())
      return makeError(DiagClass::BadInput, "{}: '{}' is not NAME=NUMBER", option, pair);
    if (!numbers.emplace(pair.substr(0, equal), value).second)
      return makeError(DiagClass::BadInput, "{}: {} is given twice", option, pair.substr(0, equal));
  }
  return numbers;
}

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
  llvm::Expected<KernelPlan> plan = planOf(*spec);
  if (!plan)
    return plan.takeError();
  return program::programOfPlan(*plan);
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
  llvm::Expected<program::SizeValues> sizes = numbersByName(lets, "--let");
  if (!sizes)
    return sizes.takeError();
  made.sizes = std::move(*sizes);
  made.stages.push_back({"read", std::move(*read), {}});
  return made;
}

} // namespace tilewright::cli
