// Documents that tests write.
#pragma once

#include "analysis/support/diag.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace tilewright {

/// Expects that a file of the repository says this; TILEWRIGHT_UPDATE_DOCS=1 writes it instead
/// (scripts/update_docs.sh).
inline void expectDocument(const std::string &path, const std::string &text) {
  if (const char *update = std::getenv("TILEWRIGHT_UPDATE_DOCS"); update && *update == '1') {
    std::ofstream(path) << text;
    return;
  }
  llvm::Expected<std::string> committed = readFile(path);
  ASSERT_TRUE(static_cast<bool>(committed)) << takeDiag(committed.takeError()).str();
  EXPECT_EQ(*committed, text) << "scripts/update_docs.sh writes it";
}

} // namespace tilewright
