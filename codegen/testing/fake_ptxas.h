// A ptxas of our making, for tests.
#pragma once

#include "analysis/support/diag.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace tilewright {

/// A folder with a ptxas of our making, first on PATH.
class FakePtxas {
public:
  explicit FakePtxas(const std::string &script) {
    EXPECT_FALSE(bool(llvm::sys::fs::createUniqueDirectory("tilewright-fake", folder)));
    std::string path = (folder + "/ptxas").str();
    llvm::cantFail(writeFileAtomically(path, "#!/bin/sh\n" + script));
    EXPECT_FALSE(bool(llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all)));
    oldPath = std::getenv("PATH");
    setenv("PATH", (folder.str() + ":" + oldPath).str().c_str(), 1);
  }
  ~FakePtxas() {
    setenv("PATH", oldPath.c_str(), 1);
    llvm::sys::fs::remove_directories(folder);
  }

private:
  llvm::SmallString<128> folder;
  std::string oldPath;
};

} // namespace tilewright
