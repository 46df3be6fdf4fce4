// CUPTI, opened at run time.
#pragma once

#include "profiler/cupti_abi.h"
#include "profiler/result.h"

namespace tilewright::profile {

/// Activity records: start and end of every kernel. Needs no privilege.
struct CuptiActivity : cupti::ActivityFunctions {
  uint32_t version = 0; ///< 130001: CUDA 13.0

  /// Empty without CUPTI; `why` says what is missing and what to do.
  static std::optional<CuptiActivity> open(std::string &why);
  std::string describe(cupti::Status status) const;
};

/// The range profiler: hardware counters. In CUPTI since CUDA 12.6.
struct CuptiProfiler {
#define TILEWRIGHT_MEMBER(member, entry, block, bytes)                                             \
  cupti::Status (*member##Function)(void *) = nullptr;                                             \
  cupti::Status member(cupti::block &parameters) const {                                           \
    parameters.structSize = bytes;                                                                 \
    return member##Function(&parameters);                                                          \
  }
  TILEWRIGHT_CUPTI_PROFILER_FUNCTIONS(TILEWRIGHT_MEMBER)
#undef TILEWRIGHT_MEMBER

  static std::optional<CuptiProfiler> open(std::string &why);
};

} // namespace tilewright::profile
