#include "analysis/support/checked.h"
#include "analysis/support/csv.h"
#include "analysis/support/diag.h"
#include "analysis/support/digest.h"

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

using namespace tilewright;

TEST(Checked, FloorAndCeilRoundTowardsTheirSide) {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b = -6; b <= 6; ++b) {
      if (b == 0) {
        EXPECT_FALSE(checkedFloorDiv(a, b));
        continue;
      }
      int64_t floor = *checkedFloorDiv(a, b), ceil = *checkedCeilDiv(a, b);
      // floor ≤ a/b < floor + 1 and ceil - 1 < a/b ≤ ceil, multiplied by b with its sign.
      int64_t sign = b < 0 ? -1 : 1;
      EXPECT_LE(floor * b * sign, a * sign);
      EXPECT_GT((floor + 1) * b * sign, a * sign);
      EXPECT_GE(ceil * b * sign, a * sign);
      EXPECT_LT((ceil - 1) * b * sign, a * sign);
      if (b > 0) {
        EXPECT_EQ(*checkedMod(a, b), a - floor * b);
      }
    }
}

TEST(Checked, OverflowGivesNothing) {
  EXPECT_FALSE(checkedAdd(INT64_MAX, 1));
  EXPECT_FALSE(checkedSub(INT64_MIN, 1));
  EXPECT_FALSE(checkedMul(INT64_MAX / 2 + 1, 2));
  EXPECT_FALSE(checkedFloorDiv(INT64_MIN, -1));
  EXPECT_FALSE(checkedCeilDiv(INT64_MIN, -1));
  EXPECT_FALSE(checkedMod(5, 0));
  EXPECT_FALSE(checkedMod(5, -3));
}

TEST(Diag, PointsAtLineAndColumn) {
  SourceBuffer buffer("model.hlo", "first\nsecond line\nthird");
  Diag diag = diagAt(buffer, SourceLoc{13}, "no such word");
  EXPECT_EQ(diag.line, 2u);
  EXPECT_EQ(diag.column, 8u);
  EXPECT_EQ(diag.str(), "model.hlo:2:8: error: no such word\n  second line\n         ^\n");
}

TEST(Diag, AtTheEndOfTheBufferAndPastIt) {
  SourceBuffer buffer("m", "ab");
  EXPECT_EQ(diagAt(buffer, SourceLoc{2}, "x").column, 3u);
  EXPECT_EQ(diagAt(buffer, SourceLoc{99}, "x").column, 3u);
  EXPECT_EQ(diagAt(SourceBuffer("m", ""), SourceLoc{0}, "x").line, 1u);
}

TEST(Diag, LongLinesAreCutAroundTheCaret) {
  std::string text(100000, 'a');
  Diag diag = diagAt(SourceBuffer("m", text), SourceLoc{50000}, "x");
  EXPECT_LT(diag.str().size(), 500u);
}

TEST(Diag, TravelsThroughError) {
  Diag diag = takeDiag(makeError(DiagClass::Unsupported, "rank {} is over {}", 9, 8));
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_EQ(diag.message, "rank 9 is over 8");
}

TEST(Digest, IsFnv1a) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325u); // the vectors of the draft
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hexDigits(fnv1a("foobar")), "85944171f73967e8");
  EXPECT_EQ(fnv1a("foobar"), fnv1a("bar", fnv1a("foo")));
  EXPECT_EQ(hexDigits(1), "0000000000000001");
  EXPECT_NE(fnv1a("\xff"), fnv1a("\x7f"));
}

TEST(Digest, TextsCannotRunTogether) {
  auto of = [](std::initializer_list<std::string_view> texts) {
    Digest digest;
    for (std::string_view text : texts)
      digest.add(text);
    return digest.str();
  };
  EXPECT_EQ(of({"ab", "c"}), of({"ab", "c"}));
  EXPECT_NE(of({"ab", "c"}), of({"a", "bc"}));
  EXPECT_NE(of({"ab", ""}), of({"ab"}));
}

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(csvCell("plain text"), "plain text");
  EXPECT_EQ(csvCell(""), "");
  EXPECT_EQ(csvCell("a,b"), "\"a,b\"");
  EXPECT_EQ(csvCell("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csvCell("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csvRow({"a", "b,c", ""}), "a,\"b,c\",\n");
}

TEST(File, ReadsPlainAndGzipAndRefusesTheRest) {
  auto folder =
      std::filesystem::temp_directory_path() / fmt::format("tilewright_support_test_{}", getpid());
  std::filesystem::create_directories(folder);
  std::string plain = folder / "plain.txt", packed = folder / "packed.txt.gz";
  std::string text(200000, 'x');
  ASSERT_FALSE(writeFileAtomically(plain, text));
  EXPECT_EQ(*readFile(plain), text);

  gzFile out = gzopen(packed.c_str(), "wb");
  gzwrite(out, text.data(), text.size());
  gzclose(out);
  EXPECT_EQ(*readFile(packed), text);
  EXPECT_NE(takeDiag(readFile(packed, 1000).takeError()).message.find("more than 1000 bytes"),
            std::string::npos);

  // A gzip file cut short must be refused, never read as if it were whole.
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 8);
  auto cut = readFile(packed);
  EXPECT_FALSE(static_cast<bool>(cut));
  llvm::consumeError(cut.takeError());

  auto folderRead = readFile(folder);
  ASSERT_FALSE(static_cast<bool>(folderRead));
  EXPECT_EQ(takeDiag(folderRead.takeError()).cls, DiagClass::BadInput);
  auto missing = readFile(folder / "missing");
  ASSERT_FALSE(static_cast<bool>(missing));
  EXPECT_EQ(takeDiag(missing.takeError()).cls, DiagClass::BadInput);
  std::filesystem::remove_all(folder);
}
