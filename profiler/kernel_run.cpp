#include "profiler/kernel_run.h"

namespace tilewright::profile {

namespace {

/// CUtensorMapDataType of cuda.h; -1 for a type that can't be copied so.
int tensorMapType(DType type) {
  switch (bitWidth(type)) {
  case 8:
    return 0; // UINT8: the copy does not look at the values
  case 16:
    return type == DType::F16 ? 6 : type == DType::BF16 ? 9 : 1;
  case 32:
    return type == DType::F32 ? 7 : type == DType::S32 ? 3 : 2;
  case 64:
    return type == DType::F64 ? 8 : 4;
  default:
    return -1;
  }
}

/// CUtensorMapSwizzle of a span in bytes.
int swizzleOf(uint32_t bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }
constexpr int promoteTo256Bytes = 3; // CU_TENSOR_MAP_L2_PROMOTION_L2_256B

} // namespace

Result<std::unique_ptr<KernelRun>> KernelRun::prepare(const Gpu &gpu, InputCache &inputs,
                                                      const Pack &pack, const PackKernel &kernel,
                                                      bool asPtx) {
  std::unique_ptr<KernelRun> run(new KernelRun(gpu, kernel));
  if (static_cast<int64_t>(kernel.geometry.sharedBytes) > gpu.info().maxSharedBytes)
    return Failure{FailureKind::Kernel, std::to_string(kernel.geometry.sharedBytes) +
                                            " bytes of shared memory a CTA, the device allows " +
                                            std::to_string(gpu.info().maxSharedBytes)};
  Result<std::vector<char>> code = readCode(pack, kernel, asPtx);
  if (!code)
    return code.failure();
  Result<LoadedModule> module = gpu.load(*code);
  if (!module)
    return module.failure();
  run->module = std::move(*module);
  Result<LoadedFunction> function =
      run->module.function(kernel.entry, static_cast<int>(kernel.threads()),
                           static_cast<int>(kernel.geometry.sharedBytes));
  if (!function)
    return function.failure();
  run->loaded = *function;
  if (Status failed = run->allocate(inputs))
    return *failed;
  return run;
}

Status KernelRun::allocate(InputCache &inputs) {
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    if (kernel.parameters[i].isOutput) {
      Result<DeviceBuffer> buffer = inputs.scratch(kernel.parameters[i].bytes);
      if (!buffer)
        return buffer.failure();
      buffers.push_back(std::make_shared<const DeviceBuffer>(std::move(*buffer)));
    } else {
      auto buffer = inputs.input(kernel, i);
      if (!buffer)
        return buffer.failure();
      buffers.push_back(*buffer);
    }
    addresses.push_back(buffers.back()->address());
  }
  for (const PackWorkspace &workspace : kernel.workspaces) {
    Result<DeviceBuffer> buffer = inputs.scratch(workspace.bytes);
    if (!buffer)
      return buffer.failure();
    if (workspace.isZeroed)
      if (Status failed = gpu.fillBytes(*buffer, 0))
        return failed;
    addresses.push_back(buffer->address());
    workspaces.push_back(std::move(*buffer));
  }
  for (const PackTensorMap &map : kernel.tensorMaps)
    if (Status failed = encode(map, maps.emplace_back()))
      return failed;
  for (cuda::Pointer &address : addresses)
    arguments.push_back(&address);
  for (cuda::TensorMap &map : maps)
    arguments.push_back(&map);
  return fine();
}

Status KernelRun::encode(const PackTensorMap &map, cuda::TensorMap &to) const {
  if (!gpu.driver().tensorMapEncodeTiled)
    return Failure{FailureKind::Kernel,
                   "this driver makes no tensor maps; CUDA 12 or newer is needed"};
  int type = tensorMapType(map.dtype);
  if (type < 0)
    return Failure{FailureKind::Kernel,
                   "no tensor map of " + std::string(toString(map.dtype)) + " elements"};
  std::vector<uint32_t> elementStrides(map.dims.size(), 1);
  cuda::Pointer address = addresses[map.parameter] + map.offsetBytes;
  if (cuda::Status status = gpu.driver().tensorMapEncodeTiled(
          &to, type, static_cast<uint32_t>(map.dims.size()), reinterpret_cast<void *>(address),
          map.dims.data(), map.strides.data(), map.box.data(), elementStrides.data(), 0,
          swizzleOf(map.swizzleBytes), promoteTo256Bytes, 0))
    return gpu.driver().failure(status, "the tensor map is refused");
  return fine();
}

Status KernelRun::launch(cuda::Stream stream) const {
  return gpu.launch(loaded, kernel.geometry, arguments, stream);
}

Result<Verification> KernelRun::check() const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (kernel.parameters[i].isOutput)
      if (Status failed = gpu.fillBytes(*buffers[i], 0xff))
        return *failed;
  if (Status failed = launch())
    return *failed;
  if (Status failed = gpu.wait())
    return *failed;
  return verify(kernel, [&](size_t number, uint64_t offset, std::span<std::byte> to) {
    return gpu.copyOut(to, *buffers[number], offset);
  });
}

} // namespace tilewright::profile
