// Names from files never reach a terminal raw, cut in the middle of a character, or whole where
// they have megabytes.
#include "analysis/support/diag.h"
#include "analysis/support/printable.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright;

namespace {

bool isValidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t bytes = characterBytes(text, at);
    if (!bytes)
      return false;
    at += bytes;
  }
  return true;
}

/// Valid, and without anything that a terminal obeys.
bool isHarmless(std::string_view text) {
  if (!isValidUtf8(text))
    return false;
  for (size_t at = 0; at < text.size(); at += characterBytes(text, at)) {
    auto byte = static_cast<unsigned char>(text[at]);
    bool isC1 = byte == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f || isC1)
      return false;
  }
  return true;
}

std::string randomBytes(std::mt19937 &random, size_t size) {
  const std::string_view pieces[] = {"a",  " ",        "\x1b[31m",     "é",        "語",
                                     "😀",  "\xc3",     "\xe8\xaa",     "\xf0\x9f", "\xff",
                                     "\n", "\xc2\x9b", "\xe2\x80\xae", "\x7f"};
  std::string text;
  while (text.size() < size)
    text += random() % 4 ? std::string(pieces[random() % std::size(pieces)])
                         : std::string(1, static_cast<char>(random()));
  return text;
}

} // namespace

TEST(Printable, WhatATerminalObeysIsSpeltOut) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("bell\a, line\n, tab\t"), "bell\\x07, line\\x0a, tab\\x09");
  EXPECT_EQ(printable("line\n, tab\t", true), "line\n, tab\t");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J"); // CSI as one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "gpj"),
            "\\xe2\\x80\\xaegpj"); // right to left
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("é 語 😀"), "é 語 😀");
}

TEST(Printable, CharactersAreThoseOfTheStandard) {
  EXPECT_EQ(characterBytes("é", 0), 2u);
  EXPECT_EQ(characterBytes("é", 1), 0u);
  EXPECT_EQ(characterBytes("\xc0\xaf", 0), 0u);         // a longer form of '/'
  EXPECT_EQ(characterBytes("\xe0\x80\x80", 0), 0u);     // of 0
  EXPECT_EQ(characterBytes("\xed\xa0\x80", 0), 0u);     // half of a pair
  EXPECT_EQ(characterBytes("\xf4\x90\x80\x80", 0), 0u); // past the last
  EXPECT_EQ(characterBytes("\xf4\x8f\xbf\xbf", 0), 4u);
}

TEST(Printable, NothingIsCutInsideACharacter) {
  std::string text = "naïve 語語語語 😀😀";
  for (size_t most = 0; most < 40; ++most) {
    EXPECT_TRUE(isValidUtf8(clipped(text, most))) << most;
    EXPECT_TRUE(isValidUtf8(excerpt(text, most))) << most;
    EXPECT_TRUE(isValidUtf8(shortened(text, most))) << most;
  }
  EXPECT_EQ(clipped("語語語", 3), "語語語");
  EXPECT_EQ(clipped("語語語語", 3), "語語~");
  EXPECT_EQ(excerpt("語語語", 3), "語語語");
  EXPECT_EQ(excerpt("語語語語", 3), "語語…");
  EXPECT_EQ(excerpt("", 3), "");
  std::string big(5'000'000, 'x');
  EXPECT_EQ(shortened(big, 60).size(), 60u);
  EXPECT_NE(shortened(big, 60).find("(5,000,000 bytes)"), std::string::npos);
}

TEST(Printable, AnyBytesInAnyPartOfADiagnosticAreHarmlessAndShort) {
  std::mt19937 random(14);
  for (unsigned i = 0; i < 2000; ++i) {
    std::string text = randomBytes(random, random() % 600);
    SourceLoc where{static_cast<uint32_t>(random() % (text.size() + 1))};
    Diag diag = diagAt(SourceBuffer(randomBytes(random, random() % 30), text), where,
                       "no " + randomBytes(random, random() % 600));
    diag.notes.push_back(randomBytes(random, random() % 600));
    ASSERT_TRUE(isHarmless(diag.str())) << i;
  }
  std::string name(5'000'000, 'n');
  Diag diag =
      diagAt(SourceBuffer(name, name), SourceLoc{4'000'000}, "unknown '" + name + "'; stop");
  diag.notes = {name, std::string(5'000'000, ' ')};
  EXPECT_LT(diag.str().size(), 12'000u);
  EXPECT_NE(diag.str().find("; stop"), std::string::npos);
}

TEST(Printable, TheCaretStandsUnderTheCharacter) {
  SourceBuffer buffer("m", "a = 語語 \x1b oops");
  SourceLoc where{static_cast<uint32_t>(buffer.text().find("oops"))};
  EXPECT_EQ(diagAt(buffer, where, "x").str(),
            "m:1:14: error: x\n  a = 語語 ? oops\n           ^\n");
}
