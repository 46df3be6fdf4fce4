#include "analysis/support/digest.h"
#include "costmodel/measurements.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

std::string tableErrorOf(std::string text, size_t maxRows = 1000) {
  auto table = Table::parse("t.csv", std::move(text), maxRows);
  return table ? "" : takeDiag(table.takeError()).str();
}

TEST(Table, ReadsRowsByColumnName) {
  auto table = Table::parse("t.csv", "a,b,c\n1,x,\n2.5,\"y,\"\"z\"\"\",7\r\n\n3,,9");
  ASSERT_TRUE(static_cast<bool>(table));
  ASSERT_EQ(table->rowCount(), 3u);
  TableRow first(*table, 0), second(*table, 1), third(*table, 2);
  EXPECT_EQ(first.text("b"), "x");
  EXPECT_EQ(first.text("nothing"), "");
  EXPECT_EQ(second.text("b"), "y,\"z\"");
  EXPECT_EQ(*llvm::cantFail(second.number("a")), 2.5);
  EXPECT_EQ(llvm::cantFail(first.number("c")), std::nullopt);
  EXPECT_EQ(*llvm::cantFail(third.integer("c")), 9);
  EXPECT_EQ(third.line(), 5u);
}

TEST(Table, ErrorsAreLocated) {
  EXPECT_NE(tableErrorOf("").find("an empty file"), std::string::npos);
  EXPECT_NE(tableErrorOf("a,b\n1,2\n3\n").find("t.csv:3:1: error: 1 fields, but the header has 2"),
            std::string::npos);
  EXPECT_NE(tableErrorOf("a,a\n").find("two columns are called 'a'"), std::string::npos);
  EXPECT_NE(tableErrorOf("a\n\"open\n\n").find("t.csv:2:1"), std::string::npos);
  EXPECT_NE(tableErrorOf("a\nx\"y\n").find("a quote inside"), std::string::npos);
  EXPECT_NE(tableErrorOf(std::string("a\n\0\n", 4)).find("zero byte"), std::string::npos);
  EXPECT_NE(tableErrorOf("a\n\"x\"y\n").find("expected a comma"), std::string::npos);
  EXPECT_NE(tableErrorOf("a\n1\n2\n3\n", 2).find("more than 2 rows"), std::string::npos);
}

TEST(Table, AByteOrderMarkIsNoPartOfTheFirstColumn) {
  auto table = llvm::cantFail(Table::parse("t.csv", "\xef\xbb\xbfkernel,b\nx,1\n"));
  EXPECT_EQ(TableRow(table, 0).text("kernel"), "x");
  EXPECT_NE(tableErrorOf("\xef\xbb\xbf").find("an empty file"), std::string::npos);
}

/// A file of the runner's, as it stands when the runner is killed at any byte.
TEST(Table, ARowThatIsNotWholeIsLeftOut) {
  auto lineOf = [](std::string cells) { return cells + "," + rowCheck(cells) + "\n"; };
  const std::string whole = "a,b,row_check\n" + lineOf("1,x") + lineOf("2,\"y,z\"");
  const size_t second = whole.rfind("2,\"y"), header = whole.find('\n') + 1;
  for (size_t length = header; length <= whole.size(); ++length) {
    auto table = Table::parse("t.csv", whole.substr(0, length));
    ASSERT_TRUE(static_cast<bool>(table)) << length << takeDiag(table.takeError()).str();
    const size_t rows = length == whole.size() ? 2 : length >= second ? 1 : 0;
    EXPECT_EQ(table->rowCount(), rows) << length;
    const bool isTorn = length > header && length != second && length != whole.size();
    EXPECT_EQ(table->tornLine() != 0, isTorn) << length;
    for (size_t i = 0; i < rows; ++i)
      EXPECT_TRUE(TableRow(*table, i).hasFittingCheck());
  }
  // A table of another tool may end without a line end.
  EXPECT_EQ(llvm::cantFail(Table::parse("t.csv", "a\n1\n2")).rowCount(), 2u);
}

TEST(Table, AChangedRowIsSeen) {
  const std::string cells = "2,\"y,z\"", line = cells + "," + rowCheck(cells);
  for (size_t i = 0; i < line.size(); ++i) {
    std::string changed = line;
    changed[i] = changed[i] == '3' ? '4' : '3';
    auto table = Table::parse("t.csv", "a,b,row_check\r\n" + changed + "\r\n");
    if (!table) { // no CSV any more
      llvm::consumeError(table.takeError());
      continue;
    }
    EXPECT_FALSE(TableRow(*table, 0).hasFittingCheck()) << changed;
  }
  auto table = llvm::cantFail(Table::parse("t.csv", "a,b,row_check\r\n" + line + "\r\n"));
  EXPECT_TRUE(TableRow(table, 0).hasFittingCheck());
}

TEST(Table, NumbersAreChecked) {
  auto table = Table::parse("t.csv", "a\n12x\n1.5\nnan\n");
  ASSERT_TRUE(static_cast<bool>(table));
  auto bad = TableRow(*table, 0).number("a");
  EXPECT_EQ(takeDiag(bad.takeError()).str(),
            "t.csv:2:1: error: column 'a' is '12x', expected a number\n");
  auto fraction = TableRow(*table, 1).integer("a");
  EXPECT_NE(takeDiag(fraction.takeError()).message.find("expected a whole number"),
            std::string::npos);
  auto nan = TableRow(*table, 2).number("a");
  EXPECT_FALSE(static_cast<bool>(nan));
  llvm::consumeError(nan.takeError());
}

TEST(Table, ReadsTheBundledMeasurements) {
  struct {
    const char *file;
    size_t rows;
  } files[] = {{"gemm.csv.gz", 14622},
               {"gemm_variants.csv.gz", 7287},
               {"memory.csv.gz", 4205},
               {"attention.csv.gz", 240}};
  for (auto [file, rows] : files) {
    auto table = Table::read(std::string("datasets/measurements/h100-sxm/") + file);
    ASSERT_TRUE(static_cast<bool>(table)) << takeDiag(table.takeError()).str();
    EXPECT_EQ(table->rowCount(), rows) << file;
    EXPECT_TRUE(table->column("time_ns").has_value());
  }
}

} // namespace
} // namespace tilewright
