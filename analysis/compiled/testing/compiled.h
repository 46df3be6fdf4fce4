// Helpers of tests of compiled modules.
#pragma once

#include "analysis/compiled/places.h"
#include "analysis/import/hlo_text.h"
#include "analysis/import/testing/models.h"
#include "analysis/ir/verifier.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright {

/// The module of a text that is known to be valid.
inline Module compiledModule(std::string text) {
  auto module = parseHlo(std::make_shared<SourceBuffer>("test", std::move(text)));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  if (llvm::Error error = verify(*module))
    ADD_FAILURE() << takeDiag(std::move(error)).str();
  return std::move(*module);
}

/// A scheduled module with one fusion, of the body's lines; its operands are the entry's
/// parameters. `kind`: kLoop, kInput.
inline std::string fusionText(const std::string &body, const std::vector<std::string> &operands,
                              const std::string &result, const std::string &kind = "kLoop",
                              const std::string &moduleAttributes = "") {
  std::string text = "HloModule m, is_scheduled=true" + moduleAttributes + "\nbody {\n", entry;
  std::string arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    text += fmt::format("  p{} = {} parameter({})\n", i, operands[i], i);
    entry += fmt::format("  a{} = {} parameter({})\n", i, operands[i], i);
    arguments += fmt::format("{}a{}", i ? ", " : "", i);
  }
  return text + body + "}\nENTRY e {\n" + entry +
         fmt::format("  ROOT f = {} fusion({}), kind={}, calls=body\n}}\n", result, arguments,
                     kind);
}

inline CompiledSchedule scheduleOf(const Module &module) {
  auto schedule = compiledSchedule(module);
  if (!schedule) {
    ADD_FAILURE() << takeDiag(schedule.takeError()).str();
    return {};
  }
  return std::move(*schedule);
}

/// Dumps of modules that XLA has compiled.
inline std::vector<std::string> compiledDumps() {
  std::vector<std::string> paths;
  for (const std::string &path : bundledModels())
    if (path.find(".xla_optimized.") != std::string::npos)
      paths.push_back(path);
  return paths;
}

} // namespace tilewright
