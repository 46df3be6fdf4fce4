#include "profiler/driver.h"

#include "profiler/library.h"

namespace tilewright::profile {

namespace {

/// Errors that a context does not survive (CUDA Driver API reference, CUresult): a launch that
/// faulted, timed out or hit a hardware error, and errors documented as such.
bool isSticky(cuda::Status status) {
  switch (status) {
  case 214: // CUDA_ERROR_ECC_UNCORRECTABLE
  case 700: // CUDA_ERROR_ILLEGAL_ADDRESS
  case 702: // CUDA_ERROR_LAUNCH_TIMEOUT
  case 709: // CUDA_ERROR_CONTEXT_IS_DESTROYED
  case 710: // CUDA_ERROR_ASSERT
  case 714: // CUDA_ERROR_HARDWARE_STACK_ERROR
  case 715: // CUDA_ERROR_ILLEGAL_INSTRUCTION
  case 716: // CUDA_ERROR_MISALIGNED_ADDRESS
  case 717: // CUDA_ERROR_INVALID_ADDRESS_SPACE
  case 718: // CUDA_ERROR_INVALID_PC
  case 719: // CUDA_ERROR_LAUNCH_FAILED
  case 721: // CUDA_ERROR_TENSOR_MEMORY_LEAK
  case 999: // CUDA_ERROR_UNKNOWN
    return true;
  default:
    return false;
  }
}

} // namespace

Result<Driver> Driver::open() {
  Library library = Library::open({"libcuda.so.1", "libcuda.so"});
  if (!library.isOpen())
    return Failure{FailureKind::NoGpu, "no NVIDIA driver: " + library.error() +
                                           "; run this on a machine with a GPU and its driver"};
  Driver driver;
#define TILEWRIGHT_LOAD(member, entry, arguments)                                                  \
  driver.member = reinterpret_cast<decltype(driver.member)>(library.symbol(#entry));               \
  if (!driver.member)                                                                              \
    return Failure{FailureKind::NoGpu,                                                             \
                   "the NVIDIA driver has no " #entry "; CUDA 11.4 or newer is needed"};
  TILEWRIGHT_CUDA_FUNCTIONS(TILEWRIGHT_LOAD)
#undef TILEWRIGHT_LOAD
  driver.tensorMapEncodeTiled =
      reinterpret_cast<cuda::TensorMapEncodeTiled>(library.symbol("cuTensorMapEncodeTiled"));
  cuda::Status status = driver.init(0);
  if (status == cuda::stubLibrary)
    return Failure{FailureKind::NoGpu, "libcuda is the toolkit's stub, not a driver; put the "
                                       "driver's library first on LD_LIBRARY_PATH"};
  if (status == cuda::noDevice)
    return Failure{FailureKind::NoGpu, "the NVIDIA driver finds no GPU; check nvidia-smi and "
                                       "CUDA_VISIBLE_DEVICES"};
  if (status != cuda::success)
    return Failure{FailureKind::NoGpu,
                   "the NVIDIA driver does not start: " + driver.describe(status)};
  driver.driverGetVersion(&driver.version);
  return driver;
}

std::string Driver::describe(cuda::Status status) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName)
    getErrorName(status, &name);
  if (getErrorString)
    getErrorString(status, &text);
  std::string result = name ? name : "CUDA error " + std::to_string(status);
  return text ? result + " (" + text + ")" : result;
}

Failure Driver::failure(cuda::Status status, const std::string &what) const {
  return {isSticky(status) ? FailureKind::DeviceLost : FailureKind::Kernel,
          what + ": " + describe(status)};
}

} // namespace tilewright::profile
