// Handles that name nothing, or something else, are answered and never followed.
#include "tools/c_api/testing.h"

#include <functional>
#include <vector>

namespace tilewright::capi {
namespace {

using testing::Gemm;
using testing::taken;

/// Every function that takes a handle, with the handle left open.
struct Taker {
  const char *name;
  std::function<tw_status(void *handle, tw_text *error)> call;
};

std::vector<Taker> takersOf(const Gemm &gemm) {
  static const int64_t plan[] = {64, 64, 32, 4, 2, 1, 1};
  static int64_t values[7];
  static double time;
  static tw_verdict verdict;
  static tw_text text;
  static tw_model model;
  static tw_device device;
  static tw_kernel kernel;
  static tw_plans plans;
  auto session = [](void *h) { return static_cast<tw_session>(h); };
  auto asModel = [](void *h) { return static_cast<tw_model>(h); };
  auto asDevice = [](void *h) { return static_cast<tw_device>(h); };
  auto asKernel = [](void *h) { return static_cast<tw_kernel>(h); };
  auto asPlans = [](void *h) { return static_cast<tw_plans>(h); };
  return {
      {"list", [=](void *h, tw_text *e) { return tw_list(session(h), "devices", &text, e); }},
      {"import_file",
       [=](void *h, tw_text *e) { return tw_import_file(session(h), "x", nullptr, &model, e); }},
      {"import_bytes",
       [=](void *h, tw_text *e) {
         return tw_import_bytes(session(h), "x", "y", 1, nullptr, &model, e);
       }},
      {"import_family",
       [=](void *h, tw_text *e) { return tw_import_family(session(h), "gemm", "", &model, e); }},
      {"find_device",
       [=](void *h, tw_text *e) {
         return tw_find_device(session(h), "a100", nullptr, &device, e);
       }},
      {"model_text", [=](void *h, tw_text *e) { return tw_model_text(asModel(h), &text, e); }},
      {"explore, model",
       [=, &gemm](void *h, tw_text *e) {
         return tw_explore(asModel(h), gemm.device, nullptr, 1, 1, 1, &text, e);
       }},
      {"open_kernel, model",
       [=, &gemm](void *h, tw_text *e) {
         return tw_open_kernel(asModel(h), gemm.device, nullptr, nullptr, &kernel, e);
       }},
      {"describe_device",
       [=](void *h, tw_text *e) { return tw_describe_device(asDevice(h), &text, e); }},
      {"explore, device",
       [=, &gemm](void *h, tw_text *e) {
         return tw_explore(gemm.model, asDevice(h), nullptr, 1, 1, 1, &text, e);
       }},
      {"open_kernel, device",
       [=, &gemm](void *h, tw_text *e) {
         return tw_open_kernel(gemm.model, asDevice(h), nullptr, nullptr, &kernel, e);
       }},
      {"describe_kernel",
       [=](void *h, tw_text *e) { return tw_describe_kernel(asKernel(h), &text, e); }},
      {"feasible",
       [=](void *h, tw_text *e) {
         return tw_feasible(asKernel(h), TW_ANY, plan, 7, &verdict, &text, e);
       }},
      {"nearest",
       [=](void *h, tw_text *e) { return tw_nearest(asKernel(h), TW_ANY, plan, 7, values, e); }},
      {"enumerate",
       [=](void *h, tw_text *e) {
         return tw_enumerate(asKernel(h), TW_ANY, nullptr, 0, 1, &plans, e);
       }},
      {"search",
       [=](void *h, tw_text *e) {
         return tw_search(asKernel(h), TW_ANY, nullptr, 0, 1, 1, 1, &plans, e);
       }},
      {"price",
       [=](void *h, tw_text *e) { return tw_price(asKernel(h), TW_ANY, plan, 1, 7, &time, e); }},
      {"price_as",
       [=](void *h, tw_text *e) {
         return tw_price_as(asKernel(h), "triton", plan, 1, 7, &time, e);
       }},
      {"estimate",
       [=](void *h, tw_text *e) { return tw_estimate(asKernel(h), TW_ANY, plan, 7, &text, e); }},
      {"emit",
       [=](void *h, tw_text *e) {
         return tw_emit(asKernel(h), TW_ANY, plan, 7, "sm_80", nullptr, &text, e);
       }},
      {"copy_plans",
       [=](void *h, tw_text *e) { return tw_copy_plans(asPlans(h), values, nullptr, nullptr, e); }},
      {"describe_plans",
       [=](void *h, tw_text *e) { return tw_describe_plans(asPlans(h), &text, e); }},
  };
}

/// Handles that no function takes, but for the kind that it wants.
std::vector<void *> wrongHandles(const Gemm &gemm) {
  static int own = 0;
  tw_text stale = nullptr;
  EXPECT_EQ(tw_list(gemm.session, "families", &stale, nullptr), TW_OK);
  EXPECT_EQ(tw_free(stale), TW_OK);
  return {nullptr, stale, &own, reinterpret_cast<void *>(uintptr_t(1)),
          reinterpret_cast<void *>(~uintptr_t(0))};
}

} // namespace

TEST(CApiHandles, NullStaleAndForeignOnesAreAnswered) {
  Gemm gemm;
  for (const Taker &taker : takersOf(gemm))
    for (void *handle : wrongHandles(gemm)) {
      tw_text error = nullptr;
      EXPECT_EQ(taker.call(handle, &error), TW_BAD_HANDLE) << taker.name << " " << handle;
      EXPECT_NE(taken(error).find("error: the handle is no "), std::string::npos) << taker.name;
      EXPECT_EQ(taker.call(handle, nullptr), TW_BAD_HANDLE) << taker.name;
    }
}

TEST(CApiHandles, OfAnotherKindAreAnswered) {
  Gemm gemm;
  const std::vector<std::pair<void *, std::string>> handles = {{gemm.session, "session"},
                                                               {gemm.model, "model"},
                                                               {gemm.device, "device"},
                                                               {gemm.kernel, "kernel"}};
  size_t refused = 0;
  for (const Taker &taker : takersOf(gemm))
    for (const auto &[handle, kind] : handles) {
      tw_text error = nullptr;
      const tw_status status = taker.call(handle, &error);
      const std::string text = taken(error);
      // It is refused, or it is of the kind that is wanted.
      if (status == TW_BAD_HANDLE) {
        ++refused;
        EXPECT_EQ(text.find("the handle is no " + kind), std::string::npos) << taker.name;
      }
    }
  EXPECT_GE(refused, takersOf(gemm).size() * (handles.size() - 1));
}

TEST(CApiHandles, AreFreedOnceAndInAnyOrder) {
  Gemm gemm;
  tw_session session = nullptr;
  tw_model model = nullptr;
  tw_device device = nullptr;
  tw_kernel kernel = nullptr;
  ASSERT_EQ(tw_open(TW_ABI_VERSION, nullptr, &session, nullptr), TW_OK);
  ASSERT_EQ(tw_import_family(session, "copy1d", "n=4096 dtype=f32", &model, nullptr), TW_OK);
  ASSERT_EQ(tw_find_device(session, "a100", nullptr, &device, nullptr), TW_OK);
  ASSERT_EQ(tw_open_kernel(model, device, nullptr, nullptr, &kernel, nullptr), TW_OK);
  for (void *handle :
       {static_cast<void *>(session), static_cast<void *>(device), static_cast<void *>(model)}) {
    EXPECT_EQ(tw_free(handle), TW_OK);
    EXPECT_EQ(tw_free(handle), TW_BAD_HANDLE);
  }
  tw_plans plans = nullptr;
  EXPECT_EQ(tw_search(kernel, TW_ANY, nullptr, 0, 1, 20, 1, &plans, nullptr), TW_OK);
  EXPECT_EQ(tw_free(kernel), TW_OK);
  EXPECT_EQ(tw_plans_size(plans), 1u);
  EXPECT_EQ(tw_free(plans), TW_OK);
  EXPECT_EQ(tw_plans_size(plans), 0u);
  EXPECT_EQ(tw_parameter_count(kernel), 0u);
  EXPECT_STREQ(tw_text_data(nullptr), "");
  EXPECT_EQ(tw_text_size(nullptr), 0u);
  EXPECT_EQ(tw_free(nullptr), TW_OK);
}

TEST(CApiHandles, AnotherVersionsHeaderIsRefused) {
  for (uint32_t version : {0u, TW_ABI_VERSION + 1, ~0u}) {
    tw_session session = nullptr;
    tw_text error = nullptr;
    EXPECT_EQ(tw_open(version, nullptr, &session, &error), TW_BAD_VERSION);
    EXPECT_NE(taken(error).find("compile it with the header of the library"), std::string::npos);
    EXPECT_EQ(session, nullptr);
  }
  EXPECT_EQ(tw_abi_version(), TW_ABI_VERSION);
  tw_text error = nullptr;
  EXPECT_EQ(tw_open(TW_ABI_VERSION, nullptr, nullptr, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("'session' is NULL"), std::string::npos);
  tw_session session = nullptr;
  EXPECT_EQ(tw_open(TW_ABI_VERSION, "/no/such/folder", &session, &error), TW_BAD_INPUT);
  EXPECT_NE(taken(error).find("no devices in this data folder"), std::string::npos);
}

} // namespace tilewright::capi
