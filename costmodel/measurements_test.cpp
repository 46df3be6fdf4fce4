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
