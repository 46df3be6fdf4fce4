#include "analysis/support/diag.h"
#include "analysis/support/json_guard.h"

#include <gtest/gtest.h>

using namespace tilewright;

TEST(JsonGuard, CountsTheDeepestBracket) {
  for (unsigned depth = 0; depth < 10; ++depth) {
    std::string text = std::string(depth, '[') + "1" + std::string(depth, ']');
    for (unsigned allowed = 0; allowed < 10; ++allowed) {
      llvm::Error error = checkJson(text, allowed, "d.json");
      EXPECT_EQ(static_cast<bool>(error), depth > allowed) << text << " with " << allowed;
      llvm::consumeError(std::move(error));
    }
  }
}

TEST(JsonGuard, SiblingsDoNotAddUp) {
  EXPECT_FALSE(static_cast<bool>(checkJson(R"([{"a":[]},{"b":[]},{"c":{}}])", 3, "d.json")));
}

TEST(JsonGuard, BracketsInStringsDoNotCount) {
  EXPECT_FALSE(static_cast<bool>(checkJson(R"(["[[[[", "\"[[[[", "\\", {}])", 2, "d.json")));
  // After an escaped backslash the quote does end the string.
  llvm::Error error = checkJson(R"(["\\", [[]]])", 2, "d.json");
  EXPECT_TRUE(static_cast<bool>(error));
  llvm::consumeError(std::move(error));
}

TEST(JsonGuard, PointsAtTheBracket) {
  Diag diag = takeDiag(checkJson("[\n  [\n    {\"a\": 1}]]", 2, "deep.json"));
  EXPECT_EQ(diag.cls, DiagClass::BadInput);
  EXPECT_EQ(diag.file, "deep.json");
  EXPECT_EQ(diag.line, 3u);
  EXPECT_EQ(diag.column, 5u);
  EXPECT_NE(diag.message.find("3 deep, allowed are 2"), std::string::npos) << diag.message;
}

TEST(JsonGuard, UnbalancedAndHugeTextsAreSafe) {
  EXPECT_FALSE(static_cast<bool>(checkJson("]]]]}}}}[[", 2, "d.json")));
  EXPECT_FALSE(static_cast<bool>(checkJson("\"\\", 2, "d.json")));
  llvm::Error error = checkJson(std::string(5'000'000, '['), 64, "d.json");
  Diag diag = takeDiag(std::move(error));
  EXPECT_EQ(diag.column, 65u);
}

namespace {

/// The line at which a duplicate is reported, or 0.
unsigned duplicateAt(std::string_view text) {
  llvm::Error error = checkJson(text, 8, "d.json");
  if (!error)
    return 0;
  Diag diag = takeDiag(std::move(error));
  EXPECT_NE(diag.message.find("stands twice"), std::string::npos) << diag.message;
  return diag.line;
}

} // namespace

TEST(JsonGuard, AKeyStandsOnceInAnObject) {
  EXPECT_EQ(duplicateAt("{\"a\": 1,\n \"b\": 2,\n \"a\": 3}"), 3u);
  EXPECT_EQ(duplicateAt("{\"o\": {\"a\": [1, {\"b\": 1}],\n \"a\": 2}}"), 2u);
  EXPECT_EQ(duplicateAt("[{\"a\": 1}, {\"a\": 1}]"), 0u);
  EXPECT_EQ(duplicateAt("{\"a\": {\"a\": {\"a\": \"a\"}}}"), 0u);
}

TEST(JsonGuard, ValuesAreNoKeys) {
  EXPECT_EQ(duplicateAt("{\"a\": \"b\", \"b\": \"a\", \"c\": [\"c\", \"c\"]}"), 0u);
}

TEST(JsonGuard, KeysAreComparedAsTheySpell) {
  EXPECT_EQ(duplicateAt("{\"a\": 1,\n \"\\u0061\": 2}"), 2u);
  EXPECT_EQ(duplicateAt("{\"a\\\"\": 1,\n \"a\": 2}"), 0u);
  EXPECT_EQ(duplicateAt("{\"\\\"\": 1,\n \"\\\"\": 2}"), 2u);
}

TEST(JsonGuard, BrokenTextIsLeftToTheParser) {
  for (std::string_view text : {"{\"a", "{\"a\" \"a\"}", "{,,,\"a\"", "}{\"a\":", "{\"\\", "{\""})
    EXPECT_EQ(duplicateAt(text), 0u) << text;
}
