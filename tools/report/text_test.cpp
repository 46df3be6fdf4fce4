#include "tools/report/text.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace tilewright::report;

TEST(ReportText, ThreeDigits) {
  EXPECT_EQ(threeDigits(0), "0");
  EXPECT_EQ(threeDigits(1.2345), "1.23");
  EXPECT_EQ(threeDigits(9.996), "10.0");
  EXPECT_EQ(threeDigits(123.4), "123");
  EXPECT_EQ(threeDigits(999.6), "1000");
  EXPECT_EQ(threeDigits(12345), "12,300");
  EXPECT_EQ(threeDigits(0.00123), "0.00123");
  EXPECT_EQ(threeDigits(1.5e-7), "1.50e-7");
  EXPECT_EQ(threeDigits(-1.2), "−1.20");
  EXPECT_EQ(threeDigits(std::nullopt), "–");
  EXPECT_EQ(threeDigits(std::numeric_limits<double>::quiet_NaN()), "–");
  EXPECT_EQ(threeDigits(std::numeric_limits<double>::infinity()), "–");
}

TEST(ReportText, ThreeDigitsAreThreeAndCloseForAnyNumber) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-12, 14);
  for (int i = 0; i < 20000; ++i) {
    double value = std::pow(10, exponent(random));
    std::string text = threeDigits(value);
    text.erase(std::remove(text.begin(), text.end(), ','), text.end());
    EXPECT_NEAR(std::stod(text), value, value * 0.0051) << text;
    // Significant digits: without leading and, before the point, trailing zeros.
    std::string digits = text.substr(0, text.find('e'));
    bool hasPoint = digits.find('.') != std::string::npos;
    digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
    digits.erase(0, digits.find_first_not_of('0'));
    if (!hasPoint)
      digits.erase(digits.find_last_not_of('0') + 1);
    EXPECT_LE(digits.size(), 3u) << text;
  }
}

TEST(ReportText, Counts) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(count(2535), "2,535");
  EXPECT_EQ(count(1234567), "1,234,567");
  EXPECT_EQ(count(1e300), "1.00e300");
  EXPECT_EQ(counted(1, "op"), "1 op");
  EXPECT_EQ(counted(1200, "op"), "1,200 ops");
}

TEST(ReportText, Units) {
  EXPECT_EQ(timeText(123), "123 ns");
  EXPECT_EQ(timeText(12345), "12.3 µs");
  EXPECT_EQ(timeText(2.5e9), "2.50 s");
  EXPECT_EQ(bytesText(512), "512 B");
  EXPECT_EQ(bytesText(98304), "96.0 KiB");
  EXPECT_EQ(bytesText(52428800), "50.0 MiB");
  EXPECT_EQ(rateText(3.35e12, "B/s"), "3.35 TB/s");
  EXPECT_EQ(rateText(9.9e14, "FLOP/s"), "990 TFLOP/s");
  EXPECT_EQ(rateText(999.9e9, "FLOP/s"), "1.00 TFLOP/s");
  EXPECT_EQ(percent(0.1234), "12.3");
  EXPECT_EQ(powerOfTen(0.1), "0.1");
  EXPECT_EQ(powerOfTen(100), "100");
}

TEST(ReportText, EscapedTextHasNoMarkup) {
  std::string all;
  for (int byte = 0; byte < 128; ++byte)
    all += static_cast<char>(byte);
  std::string html = escapeHtml(all, 1000);
  EXPECT_EQ(html.find_first_of("<>\"'\n\r\t"), std::string::npos);
  EXPECT_EQ(html.find('\0'), std::string::npos);
  EXPECT_EQ(escapeHtml("<script>&\"'"), "&lt;script&gt;&amp;&quot;&#39;");

  std::string markdown = escapeMarkdown(all, 1000);
  EXPECT_EQ(markdown.find_first_of("<>\n\r"), std::string::npos);
  for (size_t at = markdown.find('|'); at != std::string::npos; at = markdown.find('|', at + 1))
    EXPECT_EQ(markdown[at - 1], '\\');
}

TEST(ReportText, LongNamesAreCut) {
  EXPECT_LT(escapeHtml(std::string(1000000, '<')).size(), 1000u);
}

TEST(ReportText, ParametersLeaveOutNeutralValues) {
  Parameters schedule = {{"instruction", "wgmma"}, {"warps", "4"}, {"split_k", "1"}};
  EXPECT_EQ(parametersText(schedule, true), "wgmma · warps 4");
  EXPECT_EQ(parametersText(schedule, false), "wgmma · warps 4 · split_k 1");
}

TEST(ReportText, ModelTitles) {
  EXPECT_EQ(modelTitle("datasets/models/gpt2.hlo.txt"), "gpt2");
  EXPECT_EQ(modelTitle("a/b.xla_optimized.hlo.txt"), "b.xla_optimized"); // not b
  EXPECT_EQ(modelTitle(".txt"), ".txt");
  EXPECT_EQ(modelTitle("dir/"), "dir/");
  EXPECT_EQ(modelTitle(""), "");
}
