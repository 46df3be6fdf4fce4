#include "analysis/support/diag.h"
#include "analysis/support/json_guard.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(JsonGuard, CountsTheDeepestBracket) {
  for (unsigned depth = 0; depth < 10; ++depth) {
    std::string text = std::string(depth, '[') + "1" + std::string(depth, ']');
    for (unsigned allowed = 0; allowed < 10; ++allowed) {
      llvm::Error error = checkJsonDepth(text, allowed, "d.json");
      EXPECT_EQ(static_cast<bool>(error), depth > allowed) << text << " with " << allowed;
      llvm::consumeError(std::move(error));
    }
  }
}

TEST(JsonGuard, SiblingsDoNotAddUp) {
  EXPECT_FALSE(static_cast<bool>(checkJsonDepth(R"([{"a":[]},{"b":[]},{"c":{}}])", 3, "d.json")));
}

TEST(JsonGuard, BracketsInStringsDoNotCount) {
  EXPECT_FALSE(static_cast<bool>(checkJsonDepth(R"(["[[[[", "\"[[[[", "\\", {}])", 2, "d.json")));
  // After an escaped backslash the quote does end the string.
  llvm::Error error = checkJsonDepth(R"(["\\", [[]]])", 2, "d.json");
  EXPECT_TRUE(static_cast<bool>(error));
  llvm::consumeError(std::move(error));
}

TEST(JsonGuard, PointsAtTheBracket) {
  Diag diag = takeDiag(checkJsonDepth("[\n  [\n    {\"a\": 1}]]", 2, "deep.json"));
  EXPECT_EQ(diag.cls, DiagClass::BadInput);
  EXPECT_EQ(diag.file, "deep.json");
  EXPECT_EQ(diag.line, 3u);
  EXPECT_EQ(diag.column, 5u);
  EXPECT_NE(diag.message.find("3 deep, allowed are 2"), std::string::npos) << diag.message;
}

TEST(JsonGuard, UnbalancedAndHugeTextsAreSafe) {
  EXPECT_FALSE(static_cast<bool>(checkJsonDepth("]]]]}}}}[[", 2, "d.json")));
  EXPECT_FALSE(static_cast<bool>(checkJsonDepth("\"\\", 2, "d.json")));
  llvm::Error error = checkJsonDepth(std::string(5'000'000, '['), 64, "d.json");
  Diag diag = takeDiag(std::move(error));
  EXPECT_EQ(diag.column, 65u);
}
