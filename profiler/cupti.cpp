#include "profiler/cupti.h"

#include "profiler/library.h"

namespace tilewright::profile {

namespace {
const Library &cuptiLibrary() {
  static const Library library = Library::open({"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                                "/usr/local/cuda/lib64/libcupti.so",
                                                "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"});
  return library;
}
} // namespace

std::optional<CuptiActivity> CuptiActivity::open(std::string &why) {
  const Library &library = cuptiLibrary();
  if (!library.isOpen()) {
    why = "no CUPTI: " + library.error() + "; it comes with the CUDA toolkit";
    return std::nullopt;
  }
  CuptiActivity result;
#define TILEWRIGHT_LOAD(member, entry, arguments)                                                  \
  result.member = reinterpret_cast<decltype(result.member)>(library.symbol(#entry));               \
  if (!result.member) {                                                                            \
    why = "this CUPTI has no " #entry;                                                             \
    return std::nullopt;                                                                           \
  }
  TILEWRIGHT_CUPTI_ACTIVITY_FUNCTIONS(TILEWRIGHT_LOAD)
#undef TILEWRIGHT_LOAD
  result.getVersion(&result.version);
  return result;
}

std::string CuptiActivity::describe(cupti::Status status) const {
  const char *text = nullptr;
  if (getResultString)
    getResultString(status, &text);
  return text ? text : "CUPTI error " + std::to_string(status);
}

std::optional<CuptiProfiler> CuptiProfiler::open(std::string &why) {
  const Library &library = cuptiLibrary();
  if (!library.isOpen()) {
    why = "no CUPTI: " + library.error();
    return std::nullopt;
  }
  CuptiProfiler result;
#define TILEWRIGHT_LOAD(member, entry, block, bytes)                                               \
  result.member##Function = reinterpret_cast<cupti::Status (*)(void *)>(library.symbol(#entry));   \
  if (!result.member##Function) {                                                                  \
    why = "this CUPTI has no " #entry "; counters need the one of CUDA 12.6 or newer";             \
    return std::nullopt;                                                                           \
  }
  TILEWRIGHT_CUPTI_PROFILER_FUNCTIONS(TILEWRIGHT_LOAD)
#undef TILEWRIGHT_LOAD
  return result;
}

} // namespace tilewright::profile
