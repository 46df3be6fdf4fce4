// One kernel of a pack on the device: loaded, with its buffers, ready to be launched.
#pragma once

#include "profiler/inputs.h"
#include "profiler/verify.h"

namespace tilewright::profile {

class KernelRun {
public:
  /// Loads the code, makes or finds the inputs and allocates outputs and workspaces.
  static Result<std::unique_ptr<KernelRun>> prepare(const Gpu &gpu, InputCache &inputs,
                                                    const Pack &pack, const PackKernel &kernel,
                                                    bool asPtx);

  const LoadedFunction &function() const { return loaded; }
  /// On the default stream, or into the graph that `stream` captures.
  Status launch(cuda::Stream stream = nullptr) const;
  /// Fills the outputs with 0xff, launches once and compares what came out.
  Result<Verification> check() const;

private:
  KernelRun(const Gpu &gpu, const PackKernel &kernel) : gpu(gpu), kernel(kernel) {}
  Status allocate(InputCache &inputs);
  Status encode(const PackTensorMap &map, cuda::TensorMap &to) const;

  const Gpu &gpu;
  const PackKernel &kernel;
  LoadedModule module;
  LoadedFunction loaded;
  std::vector<std::shared_ptr<const DeviceBuffer>> buffers; ///< of the parameters
  std::vector<DeviceBuffer> workspaces;
  // The launch takes pointers to arguments; both vectors stay as they are once filled.
  std::vector<cuda::Pointer> addresses;
  std::vector<cuda::TensorMap> maps;
  mutable std::vector<void *> arguments;
};

} // namespace tilewright::profile
