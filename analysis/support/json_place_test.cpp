#include "analysis/support/json_place.h"
#include "analysis/support/json_text.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

const std::string text = R"({ "a.b": 1, "list": [ 10, { "x" : "}]\"," , "y": [[3], {}] }, -2e5 ],
  "tail": true, "empty": {} })";

/// What stands where a path leads to, up to a blank.
std::string at(const std::string &path) {
  std::string rest = text.substr(jsonPlace(text, path));
  return rest.substr(0, rest.find(' '));
}

TEST(JsonPlace, EveryValueIsFoundByItsPath) {
  EXPECT_EQ(jsonPlace(text, ""), 0u);
  EXPECT_EQ(at("list[0]"), "10,");
  EXPECT_EQ(at("list[1].x"), R"("}]\",")");
  EXPECT_EQ(at("list[1].y[0][0]"), "3],");
  EXPECT_EQ(at("list[2]"), "-2e5");
  EXPECT_EQ(at("tail"), "true,");
}

TEST(JsonPlace, WhatIsMissingLeadsToWhatIsThere) {
  EXPECT_EQ(jsonPlace(text, "list[9]"), jsonPlace(text, "list"));
  EXPECT_EQ(jsonPlace(text, "list[1].z.q"), jsonPlace(text, "list[1]"));
  EXPECT_EQ(jsonPlace(text, "tail.deeper"), jsonPlace(text, "tail"));
  EXPECT_EQ(jsonPlace(text, "nothing"), 0u);
  for (const char *odd : {"[", "[x]", "list[", "list[1", "..", "a.b", "list[99999999999999999999]"})
    EXPECT_LE(jsonPlace(text, odd), text.size()) << odd;
  // Text that is no JSON gives some place, never a crash.
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_LE(jsonPlace(text.substr(0, length), "list[1].y[1].z"), length);
}

TEST(JsonPlace, SpaceOutsideOfStringsHasNoMeaning) {
  EXPECT_EQ(withoutSpace(" { \"a b\" :\t[ 1 ,\n 2 ] } \r\n"), R"({"a b":[1,2]})");
  EXPECT_EQ(withoutSpace(R"(["\" \\", " "])"), R"(["\" \\"," "])");
}

TEST(JsonText, ErrorsHaveALineAndAColumn) {
  struct Case {
    std::string text, expected;
  };
  for (const Case &each :
       {Case{"{\n  \"a\": 1,\n  \"b\": tru\n}", "f.json:3:11: error: this is not valid JSON"},
        Case{"{\n  \"a\": 1,\n  \"a\": 2\n}", "f.json:3:3: error: 'a' stands twice in this object"},
        Case{"{\n  \"a\": 1", "f.json:2:9: error: this is not valid JSON"},
        Case{"[[[[[1]]]]]", "f.json:1:5: error: brackets nest 5 deep, allowed are 4"},
        Case{"[1e999]", "f.json:1:1: error: not usable JSON: a number is too large"}}) {
    auto parsed = parseJson<nlohmann::json>("f.json", each.text, 4);
    ASSERT_FALSE(bool(parsed)) << each.text;
    std::string error = takeDiag(parsed.takeError()).str();
    EXPECT_EQ(error.find(each.expected), 0u) << error;
  }
  EXPECT_TRUE(bool(parseJson<nlohmann::json>("f.json", "{\"a\": [1]}", 4)));
}

} // namespace
