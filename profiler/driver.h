// The CUDA driver, opened at run time.
#pragma once

#include "profiler/cuda_abi.h"
#include "profiler/result.h"

namespace tilewright::profile {

struct Driver : cuda::Functions {
  cuda::TensorMapEncodeTiled tensorMapEncodeTiled = nullptr; ///< null in older drivers
  int version = 0;                                           ///< 13000: CUDA 13.0

  /// Opens libcuda and initialises it. NoGpu, saying what to do, where there is no driver, where
  /// it is too old or where it finds no device.
  static Result<Driver> open();

  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(cuda::Status status) const;

  /// `what` failed with `status`. DeviceLost for errors after which the context is of no more
  /// use, Kernel for all others.
  Failure failure(cuda::Status status, const std::string &what) const;
};

} // namespace tilewright::profile
