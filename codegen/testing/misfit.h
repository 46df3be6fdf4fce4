// Plans whose recorded settings or layouts don't fit their program. Of tests.
#pragma once

#include "analysis/support/diag.h"
#include "codegen/lower.h"
#include "codegen/pack_manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

namespace tilewright {

/// Such a plan is bad input: read from a file, with what is wrong, where; as a program; and
/// lowered.
inline void expectMisfit(const KernelSpec &spec, const std::string &at, const std::string &words) {
  llvm::Expected<KernelSpec> read = parsePlan("plan", printPlan(spec));
  ASSERT_FALSE(bool(read)) << words;
  const Diag diag = takeDiag(read.takeError());
  EXPECT_EQ(diag.cls, DiagClass::BadInput) << diag.str();
  EXPECT_NE(diag.message.find(fmt::format("'{}' does not fit", at)), std::string::npos)
      << diag.message;
  EXPECT_NE(diag.message.find(words), std::string::npos) << diag.message;
  EXPECT_EQ(diag.str().rfind("plan:", 0), 0u) << diag.str(); // file:line:column
  llvm::Expected<program::PlanProgram> program = programOf(spec);
  EXPECT_FALSE(bool(program)) << words;
  llvm::consumeError(program.takeError());
  llvm::Expected<KernelModule> code = lowerKernel(spec, CodeMode::Device);
  ASSERT_FALSE(bool(code)) << words;
  EXPECT_EQ(takeDiag(code.takeError()).cls, DiagClass::BadInput);
}

} // namespace tilewright
