// The C interface as a program uses it.
#include "tools/c_api/testing.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <thread>

namespace tilewright::capi {
namespace {

using testing::Gemm;
using testing::taken;

} // namespace

TEST(CApi, FeasibleOrTheReason) {
  Gemm gemm;
  const int64_t good[] = {128, 128, 64, 4, 3, 1, 1};
  tw_verdict verdict = TW_NO;
  tw_text why = nullptr;
  EXPECT_EQ(tw_feasible(gemm.kernel, TW_WGMMA, good, 7, &verdict, &why, nullptr), TW_OK);
  EXPECT_EQ(verdict, TW_YES);
  EXPECT_EQ(why, nullptr);

  const int64_t large[] = {256, 256, 128, 8, 5, 1, 1}; // five stages of 128 KiB
  EXPECT_EQ(tw_feasible(gemm.kernel, TW_ANY, large, 7, &verdict, &why, nullptr), TW_OK);
  EXPECT_EQ(verdict, TW_NO);
  const std::string reasons = taken(why);
  EXPECT_NE(reasons.find("of at most"), std::string::npos) << reasons;
  EXPECT_NE(reasons.find("chosen: "), std::string::npos) << reasons;

  // Free parameters: some schedule of this tile fits.
  const int64_t tile[] = {128, 256, 64, 0, 0, 0, 0};
  EXPECT_EQ(tw_feasible(gemm.kernel, TW_ANY, tile, 7, &verdict, nullptr, nullptr), TW_OK);
  EXPECT_EQ(verdict, TW_YES);

  int64_t nearest[7] = {};
  EXPECT_EQ(tw_nearest(gemm.kernel, TW_WGMMA, large, 7, nearest, nullptr), TW_OK);
  EXPECT_EQ(tw_feasible(gemm.kernel, TW_WGMMA, nearest, 7, &verdict, nullptr, nullptr), TW_OK);
  EXPECT_EQ(verdict, TW_YES);
}

TEST(CApi, WithoutWordsTheAnswerIsTheSame) {
  Gemm gemm;
  for (int64_t m : {16, 64, 128, 256})
    for (int64_t warps : {1, 4, 8})
      for (int64_t stages : {1, 3, 5}) {
        const int64_t values[] = {m, 128, 64, warps, stages, 1, 1};
        tw_verdict quick = TW_UNKNOWN, explained = TW_UNKNOWN;
        tw_text why = nullptr;
        ASSERT_EQ(tw_feasible(gemm.kernel, TW_WGMMA, values, 7, &quick, nullptr, nullptr), TW_OK);
        ASSERT_EQ(tw_feasible(gemm.kernel, TW_WGMMA, values, 7, &explained, &why, nullptr), TW_OK);
        EXPECT_EQ(quick, explained) << m << " " << warps << " " << stages;
        EXPECT_EQ(taken(why).empty(), quick == TW_YES) << m << " " << warps << " " << stages;
      }
}

TEST(CApi, SearchedPlansAreFeasibleAndHaveTheirPrices) {
  Gemm gemm;
  tw_plans plans = nullptr;
  ASSERT_EQ(tw_search(gemm.kernel, TW_ANY, nullptr, 0, 4, 200, 1, &plans, nullptr), TW_OK);
  const size_t count = tw_plans_size(plans);
  ASSERT_EQ(count, 4u);
  std::vector<int64_t> values(count * 7);
  std::vector<int32_t> instructions(count);
  std::vector<double> times(count);
  ASSERT_EQ(tw_copy_plans(plans, values.data(), instructions.data(), times.data(), nullptr), TW_OK);
  for (size_t i = 0; i < count; ++i) {
    const auto instruction = static_cast<tw_instruction>(instructions[i]);
    tw_verdict verdict = TW_NO;
    double time = 0;
    EXPECT_EQ(tw_feasible(gemm.kernel, instruction, &values[i * 7], 7, &verdict, nullptr, nullptr),
              TW_OK);
    EXPECT_EQ(verdict, TW_YES);
    EXPECT_EQ(tw_price(gemm.kernel, instruction, &values[i * 7], 1, 7, &time, nullptr), TW_OK);
    EXPECT_EQ(time, times[i]);
    if (i > 0) {
      EXPECT_GE(times[i], times[i - 1]);
    }
  }
  tw_text json = nullptr;
  ASSERT_EQ(tw_describe_plans(plans, &json, nullptr), TW_OK);
  EXPECT_NE(taken(json).find("\"limiters\""), std::string::npos);
  tw_free(plans);
}

TEST(CApi, OneOfEachTileSizes) {
  Gemm gemm;
  tw_plans plans = nullptr;
  ASSERT_EQ(tw_search(gemm.kernel, TW_ANY, nullptr, 0, 4, 200, 0, &plans, nullptr), TW_OK);
  ASSERT_EQ(tw_plans_size(plans), 4u);
  std::vector<int64_t> values(4 * 7);
  std::vector<int32_t> instructions(4);
  ASSERT_EQ(tw_copy_plans(plans, values.data(), instructions.data(), nullptr, nullptr), TW_OK);
  std::set<std::vector<int64_t>> tilings;
  for (size_t i = 0; i < 4; ++i)
    tilings.insert({instructions[i], values[i * 7], values[i * 7 + 1], values[i * 7 + 2]});
  EXPECT_EQ(tilings.size(), 4u);
  tw_free(plans);
}

TEST(CApi, ManyPlansHaveTheTimesOfEach) {
  Gemm gemm;
  tw_plans plans = nullptr;
  const int64_t fixed[] = {0, 0, 64, 4, 0, 1, 1};
  ASSERT_EQ(tw_enumerate(gemm.kernel, TW_MMA_SYNC, fixed, 7, 1000, &plans, nullptr), TW_OK);
  const size_t count = tw_plans_size(plans);
  ASSERT_GT(count, 20u);
  std::vector<int64_t> values(count * 7);
  std::vector<double> times(count), unknown(count);
  ASSERT_EQ(tw_copy_plans(plans, values.data(), nullptr, unknown.data(), nullptr), TW_OK);
  EXPECT_TRUE(std::isnan(unknown.front()));
  ASSERT_EQ(tw_price(gemm.kernel, TW_MMA_SYNC, values.data(), count, 7, times.data(), nullptr),
            TW_OK);
  for (size_t i = 0; i < count; ++i) {
    double alone = 0;
    ASSERT_EQ(tw_price(gemm.kernel, TW_MMA_SYNC, &values[i * 7], 1, 7, &alone, nullptr), TW_OK);
    EXPECT_EQ(alone, times[i]);
    EXPECT_EQ(values[i * 7 + 2], 64);
  }
  tw_free(plans);
}

TEST(CApi, PlansOfAnotherCompilerHaveItsResources) {
  Gemm gemm;
  // Five stages of 64 KiB: a program of Triton's can't have them.
  const int64_t plans[] = {128, 128, 64, 4, 3, 1, 1, 256, 256, 64, 8, 5, 1, 1};
  double times[2] = {};
  ASSERT_EQ(tw_price_as(gemm.kernel, "triton", plans, 2, 7, times, nullptr), TW_OK);
  EXPECT_GT(times[0], 0);
  EXPECT_TRUE(std::isfinite(times[0]));
  EXPECT_TRUE(std::isinf(times[1]));
  tw_text error = nullptr;
  EXPECT_EQ(tw_price_as(gemm.kernel, "nvcc", plans, 2, 7, times, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("no compiler 'nvcc'; known: triton"), std::string::npos);
}

TEST(CApi, TextsAreThoseOfTheCommandLine) {
  testing::Opened opened;
  tw_model model = nullptr;
  tw_text error = nullptr;
  EXPECT_EQ(tw_import_bytes(opened.session, "m.hlo.txt", "HloModule m\nENTRY e {\n  ROOT x = q[\n",
                            34, nullptr, &model, &error),
            TW_BAD_INPUT);
  const std::string text = taken(error);
  EXPECT_EQ(text.rfind("m.hlo.txt:3:", 0), 0u) << text;
  EXPECT_NE(text.find('^'), std::string::npos) << text;
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(tw_import_file(opened.session, "no/such/file", nullptr, &model, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("no/such/file"), std::string::npos);
  EXPECT_EQ(tw_import_family(opened.session, "gemm", "m=8", &model, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("gemm needs n"), std::string::npos);
  tw_device device = nullptr;
  EXPECT_EQ(tw_find_device(opened.session, "h1000", nullptr, &device, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("no device 'h1000'; known: a100"), std::string::npos);
}

TEST(CApi, NumbersThatNoKernelHasAreRefused) {
  Gemm gemm;
  tw_verdict verdict = TW_UNKNOWN;
  tw_text error = nullptr;
  double time = 0;
  const int64_t few[] = {128, 128};
  EXPECT_EQ(tw_feasible(gemm.kernel, TW_ANY, few, 2, &verdict, nullptr, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("2 values, and the kernel has 7 parameters"), std::string::npos);
  for (int64_t bad : {int64_t(-1), INT64_MIN}) {
    const int64_t values[] = {bad, 128, 64, 4, 3, 1, 1};
    EXPECT_EQ(tw_feasible(gemm.kernel, TW_ANY, values, 7, &verdict, nullptr, nullptr),
              TW_BAD_INPUT);
    EXPECT_EQ(tw_price(gemm.kernel, TW_ANY, values, 1, 7, &time, nullptr), TW_BAD_INPUT);
  }
  const int64_t warps[] = {128, 128, 64, 1000, 3, 1, 1}, free[] = {128, 128, 64, 4, 0, 1, 1};
  EXPECT_EQ(tw_price(gemm.kernel, TW_ANY, warps, 1, 7, &time, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("plan 0: warps is 1000, allowed are 1 to"), std::string::npos);
  EXPECT_EQ(tw_price(gemm.kernel, TW_ANY, free, 1, 7, &time, nullptr), TW_BAD_INPUT);
  tw_text json = nullptr;
  EXPECT_EQ(tw_estimate(gemm.kernel, TW_ANY, free, 7, &json, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("stages is free"), std::string::npos);
  // A refused batch leaves nothing behind: the next is priced as if alone.
  const int64_t good[] = {128, 128, 64, 4, 3, 1, 1};
  EXPECT_EQ(tw_price(gemm.kernel, TW_ANY, good, 1, 7, &time, nullptr), TW_OK);
  EXPECT_GT(time, 0);
  EXPECT_EQ(tw_price(gemm.kernel, static_cast<tw_instruction>(9), good, 1, 7, &time, nullptr),
            TW_BAD_INPUT);
  EXPECT_EQ(tw_price(gemm.kernel, TW_ANY, nullptr, 0, 7, nullptr, nullptr), TW_OK);
  EXPECT_EQ(tw_price(gemm.kernel, TW_ANY, nullptr, 1, 7, &time, nullptr), TW_BAD_INPUT);
  // A tile over its dim is the dim.
  const int64_t over[] = {128, 128, 1 << 20, 4, 1, 1, 1}, whole[] = {128, 128, 256, 4, 1, 1, 1};
  double other = 0;
  EXPECT_EQ(tw_price(gemm.kernel, TW_FMA, over, 1, 7, &time, nullptr), TW_OK);
  EXPECT_EQ(tw_price(gemm.kernel, TW_FMA, whole, 1, 7, &other, nullptr), TW_OK);
  EXPECT_EQ(time, other);
}

TEST(CApi, DocumentsAndCode) {
  Gemm gemm;
  tw_text json = nullptr;
  for (const char *what : {"devices", "calibrations", "families"}) {
    ASSERT_EQ(tw_list(gemm.session, what, &json, nullptr), TW_OK);
    EXPECT_NE(taken(json).find(std::string("\"tilewright.") + what), std::string::npos);
  }
  EXPECT_EQ(tw_list(gemm.session, "models", &json, nullptr), TW_BAD_INPUT);
  ASSERT_EQ(tw_describe_device(gemm.device, &json, nullptr), TW_OK);
  EXPECT_NE(taken(json).find("\"sm_count\""), std::string::npos);
  ASSERT_EQ(tw_describe_kernel(gemm.kernel, &json, nullptr), TW_OK);
  EXPECT_NE(taken(json).find("\"bf16[512,512]\""), std::string::npos);
  ASSERT_EQ(tw_model_text(gemm.model, &json, nullptr), TW_OK);
  EXPECT_EQ(taken(json).rfind("HloModule gemm", 0), 0u);
  ASSERT_EQ(tw_explore(gemm.model, gemm.device, nullptr, 1, 50, 1, &json, nullptr), TW_OK);
  EXPECT_NE(taken(json).find("\"total_time_ns\""), std::string::npos);
  const int64_t plan[] = {64, 64, 32, 4, 2, 1, 1};
  ASSERT_EQ(tw_estimate(gemm.kernel, TW_MMA_SYNC, plan, 7, &json, nullptr), TW_OK);
  EXPECT_NE(taken(json).find("\"terms_ns\""), std::string::npos);
  tw_text error = nullptr;
  const tw_status status =
      tw_emit(gemm.kernel, TW_MMA_SYNC, plan, 7, "sm_80", nullptr, &json, &error);
  if (status == TW_UNSUPPORTED) { // built without code generation
    EXPECT_NE(taken(error).find("without code generation"), std::string::npos);
  } else {
    EXPECT_NE(taken(json).find(".target sm_80"), std::string::npos) << taken(error);
  }
  EXPECT_EQ(tw_open_kernel(gemm.model, gemm.device, nullptr, "cold", nullptr, &error),
            TW_BAD_INPUT);
  taken(error);
}

TEST(CApi, ThreadsAskOneKernel) {
  Gemm gemm;
  std::vector<std::thread> threads;
  std::vector<double> times(4);
  for (size_t t = 0; t < times.size(); ++t)
    threads.emplace_back([&, t] {
      const int64_t plan[] = {64, 64, 32, 4, 2, 1, 1};
      for (int i = 0; i < 50; ++i) {
        tw_verdict verdict = TW_NO;
        tw_feasible(gemm.kernel, TW_MMA_SYNC, plan, 7, &verdict, nullptr, nullptr);
        tw_price(gemm.kernel, TW_MMA_SYNC, plan, 1, 7, &times[t], nullptr);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (double time : times)
    EXPECT_EQ(time, times.front());
  EXPECT_GT(times.front(), 0);
}

} // namespace tilewright::capi
