// Reads a model, tiles its last kernel, asks whether a tiling is feasible, and prices it, with
// nothing but the installed headers and libraries.
#include "analysis/import/import_file.h"
#include "analysis/solve/explain.h"
#include "costmodel/device.h"
#include "tools/explore/explore.h"

#include <cstdio>

using namespace tilewright;

namespace {

template <typename T> bool failed(llvm::Expected<T> &value) {
  if (value)
    return false;
  std::fputs(takeDiag(value.takeError()).str().c_str(), stderr);
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: consumer MODEL DEVICE\n");
    return 2;
  }
  llvm::Expected<Module> module = importFile(argv[1]);
  if (failed(module))
    return 2;
  llvm::Expected<KernelSource> source = findKernel(*module, "");
  if (failed(source))
    return 2;
  llvm::Expected<TiledKernel> kernel = tileKernel(*module, *source);
  if (failed(kernel))
    return 2;
  const TileSpace &space = kernel->tiled->space;
  std::printf("%s: %zu tile parameters, %zu constraints\n", source->name.c_str(),
              space.parameters.size(), kernel->tiled->constraints.size());

  ConstraintSystem system;
  system.constraints = kernel->tiled->constraints;
  for (const TileParameter &parameter : space.parameters)
    system.parameters.push_back({parameter.size.variable(), parameter.name, {1, 3}});
  llvm::Expected<Explanation> answer = explain(system, Choice(space.parameters.size()));
  if (failed(answer))
    return 2;
  std::printf("feasible: %s\n", std::string(toString(answer->feasible)).c_str());

  llvm::Expected<Device> device = loadDevice(argv[2]);
  if (failed(device))
    return 2;
  llvm::Expected<Calibration> calibration = defaultCalibration(*device);
  if (failed(calibration))
    return 2;
  ExploreOptions options;
  options.search.maxPriced = 20;
  llvm::Expected<ExploredModel> explored = exploreModel(*module, *device, *calibration, options);
  if (failed(explored))
    return 2;
  std::printf("kernels: %zu\n", explored->kernels.size());
  return answer->feasible == Verdict::Yes && !explored->kernels.empty() ? 0 : 1;
}
