// Helpers of this folder's tests.
#pragma once

#include "analysis/import/hlo_text.h"
#include "analysis/ir/verifier.h"

#include <gtest/gtest.h>
#include <string>

namespace tilewright {

/// The module of a text that is known to be valid.
inline Module parseVerified(std::string text) {
  auto module = parseHlo(std::make_shared<SourceBuffer>("test", std::move(text)));
  if (!module) {
    ADD_FAILURE() << takeDiag(module.takeError()).str();
    return {};
  }
  if (llvm::Error error = verify(*module))
    ADD_FAILURE() << takeDiag(std::move(error)).str();
  return std::move(*module);
}

} // namespace tilewright
