#include "costmodel/device.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

std::string h100Text() {
  auto text = readFile("datasets/devices/h100-sxm.json");
  EXPECT_TRUE(static_cast<bool>(text));
  return *text;
}

/// The message of the error that the text gives, or "" if it loads.
std::string deviceErrorOf(std::string text) {
  auto device = parseDevice("d.json", std::move(text));
  return device ? "" : takeDiag(device.takeError()).str();
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Device, EveryBundledDescriptionLoads) {
  std::vector<std::string> names = deviceNames();
  ASSERT_GE(names.size(), 6u);
  for (const std::string &name : names) {
    auto device = loadDevice(name);
    ASSERT_TRUE(static_cast<bool>(device)) << takeDiag(device.takeError()).str();
    EXPECT_EQ(device->name, name);
    EXPECT_GT(device->peakFlops(DType::BF16, true), device->peakFlops(DType::F32, false));
  }
}

TEST(Device, H100IsTheOneMeasured) {
  auto device = loadDevice("h100-sxm");
  ASSERT_TRUE(static_cast<bool>(device));
  EXPECT_EQ(device->smCount, 132);
  EXPECT_EQ(device->limits.sharedBytesPerBlock, 232448);
  EXPECT_TRUE(device->warpgroupMma);
  EXPECT_NEAR(device->peakFlops(DType::BF16, true), 1.0705e6, 1e3);
  EXPECT_EQ(device->tensorFlopsPerClock(DType::F8E4M3FN), 8192);
  EXPECT_EQ(device->tensorFlopsPerClock(DType::S4), 0);
}

TEST(Device, UnknownNameListsTheKnownOnes) {
  auto device = loadDevice("h1000");
  ASSERT_FALSE(static_cast<bool>(device));
  std::string message = takeDiag(device.takeError()).str();
  EXPECT_NE(message.find("no device 'h1000'"), std::string::npos) << message;
  EXPECT_NE(message.find("h100-sxm"), std::string::npos) << message;
}

TEST(Device, ErrorsPointAtTheKey) {
  std::string message = deviceErrorOf(replaced(h100Text(), "\"value\": 132", "\"value\": 132000"));
  EXPECT_NE(message.find("d.json:6:"), std::string::npos) << message;
  EXPECT_NE(message.find("'sm_count' is 132000 1, plausible is 1 to 1024"), std::string::npos)
      << message;
  EXPECT_NE(deviceErrorOf(replaced(h100Text(), "\"unit\": \"GHz\"", "\"unit\": \"MHz\""))
                .find("'sm_clock' is in MHz, expected GHz"),
            std::string::npos);
  EXPECT_NE(
      deviceErrorOf(replaced(h100Text(), "sm_count", "smcount")).find("'sm_count' is missing"),
      std::string::npos);
  EXPECT_NE(deviceErrorOf(replaced(h100Text(), "\"value\": 132", "\"value\": \"many\""))
                .find("'sm_count' needs a number"),
            std::string::npos);
}

TEST(Device, NumbersMustAgreeWithEachOther) {
  EXPECT_NE(deviceErrorOf(replaced(h100Text(), "\"value\": 3352", "\"value\": 2000"))
                .find("bus width and data rate gives 3352"),
            std::string::npos);
  EXPECT_NE(deviceErrorOf(replaced(h100Text(), "\"value\": 4096", "\"value\": 2048"))
                .find("'peak_bf16' is 989.4 TFLOP/s"),
            std::string::npos);
  EXPECT_NE(deviceErrorOf(replaced(h100Text(), "\"value\": 9780", "\"value\": 300"))
                .find("is below DRAM's"),
            std::string::npos);
  EXPECT_NE(deviceErrorOf(replaced(h100Text(), "\"value\": 9780", "\"value\": 90000"))
                .find("132 SMs can take"),
            std::string::npos);
}

TEST(Device, BadJsonIsRefusedWithItsPlace) {
  std::string cut = deviceErrorOf(h100Text().substr(0, 400));
  EXPECT_NE(cut.find("not valid JSON"), std::string::npos) << cut;
  EXPECT_NE(cut.find("d.json:"), std::string::npos) << cut;
  EXPECT_NE(deviceErrorOf(std::string(200000, '[')).find("brackets nest 65 deep, allowed are 64"),
            std::string::npos);
  EXPECT_NE(deviceErrorOf("[1]").find("expected a JSON object"), std::string::npos);
  EXPECT_NE(deviceErrorOf("").find("not valid JSON"), std::string::npos);
  EXPECT_NE(deviceErrorOf(std::string("\x7f\x00\xff", 3)).find("not valid JSON"),
            std::string::npos);
  EXPECT_NE(deviceErrorOf("{\"schema\": \"x\"}").find("expected 'tilewright.device'"),
            std::string::npos);
}

TEST(Device, EveryTruncationIsAnErrorAndNotACrash) {
  std::string text = h100Text();
  size_t end = text.find_last_of('}');
  for (size_t length = 0; length < end; length += 7)
    EXPECT_NE(deviceErrorOf(text.substr(0, length)), "") << length;
}

TEST(Device, TheStartOfANameStandsForTheOnlyOne) {
  EXPECT_EQ(llvm::cantFail(loadDevice("h200")).name, "h200-sxm");
  EXPECT_EQ(llvm::cantFail(loadDevice("h100")).name, "h100-sxm");
  auto none = loadDevice("h");
  ASSERT_FALSE(none);
  llvm::consumeError(none.takeError());
}

} // namespace
} // namespace tilewright
