// What tests of the C interface start from.
#pragma once

#include "tools/c_api/tilewright.h"

#include <gtest/gtest.h>
#include <string>

namespace tilewright::capi::testing {

/// The text of a handle, which is freed.
inline std::string taken(tw_text &text) {
  std::string copy(tw_text_data(text), tw_text_size(text));
  tw_free(text);
  text = nullptr;
  return copy;
}

struct Opened {
  tw_session session = nullptr;
  Opened() { EXPECT_EQ(tw_open(TW_ABI_VERSION, nullptr, &session, nullptr), TW_OK); }
  ~Opened() { tw_free(session); }
  Opened(const Opened &) = delete;
};

/// A product of 512 x 512 x 256 on an H100: t0, t1, k0, warps, stages, split_k, group_m.
struct Gemm : Opened {
  tw_model model = nullptr;
  tw_device device = nullptr;
  tw_kernel kernel = nullptr;
  Gemm() {
    EXPECT_EQ(tw_import_family(session, "gemm", "m=512 n=512 k=256 dtype=bf16", &model, nullptr),
              TW_OK);
    EXPECT_EQ(tw_find_device(session, "H100", nullptr, &device, nullptr), TW_OK);
    EXPECT_EQ(tw_open_kernel(model, device, nullptr, "warm", &kernel, nullptr), TW_OK);
    EXPECT_EQ(tw_parameter_count(kernel), 7u);
  }
  ~Gemm() {
    for (void *handle :
         {static_cast<void *>(kernel), static_cast<void *>(device), static_cast<void *>(model)})
      EXPECT_EQ(tw_free(handle), TW_OK);
  }
};

} // namespace tilewright::capi::testing
