// Tile programs emitted and run on the emulator, for tests.
#pragma once

#include "analysis/program/fold.h"
#include "analysis/program/testing/golden_programs.h"
#include "codegen/emit/emit.h"
#include "codegen/emulator.h"

#include <cmath>
#include <cstring>

namespace tilewright::emit::testing {

struct Emulated {
  std::vector<Tensor> results;
  EmulationCounts counts;
  KernelInfo info;
};

/// Memory of one buffer, aligned as a GPU allocation is.
class DeviceBytes {
public:
  explicit DeviceBytes(size_t size, int fill)
      : data(static_cast<std::byte *>(
            ::operator new(std::max<size_t>(size, 1), std::align_val_t(256)))),
        size(size) {
    std::memset(data, fill, size);
  }
  DeviceBytes(DeviceBytes &&other) noexcept
      : data(std::exchange(other.data, nullptr)), size(other.size) {}
  DeviceBytes(const DeviceBytes &) = delete;
  DeviceBytes &operator=(const DeviceBytes &) = delete;
  ~DeviceBytes() {
    if (data)
      ::operator delete(data, std::align_val_t(256));
  }
  void copyFrom(const Tensor &tensor) {
    std::vector<std::byte> packed = packTensor(tensor);
    std::copy(packed.begin(), packed.end(), data);
  }

  std::byte *data;
  size_t size;
};

/// What a result holds before the launch.
inline Tensor initialTensor(const Shape &shape, double value) {
  Tensor tensor(shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (isFloat(shape.dtype))
      tensor.setReal(i, value);
    else
      tensor.setInteger(i, static_cast<int64_t>(value));
  }
  return tensor;
}

/// Runs all CTAs. An element of a result that nothing writes is an error, and a workspace that has
/// to hold zeros and does not.
inline llvm::Expected<Emulated> emulate(const program::Program &program,
                                        std::span<const Tensor> inputs,
                                        const EmulationOptions &options = {}) {
  llvm::Expected<KernelModule> kernel = emitProgram(program, CodeMode::Emulation);
  if (!kernel)
    return kernel.takeError();
  Emulated result;
  result.info = *kernel;
  llvm::Expected<EmulatedKernel> compiled = EmulatedKernel::compile(std::move(*kernel));
  if (!compiled)
    return compiled.takeError();
  std::vector<DeviceBytes> memory;
  std::vector<EmulatorBuffer> buffers;
  std::vector<std::vector<bool>> written(result.info.parameters.size());
  for (size_t i = 0; i < result.info.parameters.size(); ++i) {
    const KernelParameter &parameter = result.info.parameters[i];
    auto bytes = static_cast<size_t>(parameter.shape.byteSize().value_or(0));
    memory.emplace_back(bytes, 0xff);
    if (!parameter.isOutput)
      memory.back().copyFrom(inputs[i]);
    written[i].resize(parameter.isOutput ? bytes : 0);
    buffers.push_back({memory.back().data, static_cast<int64_t>(bytes), parameter.isOutput,
                       parameter.isOutput ? &written[i] : nullptr});
  }
  for (const InitialValue &initial : result.info.initialValues) {
    memory[initial.parameter].copyFrom(
        initialTensor(result.info.parameters[initial.parameter].shape, initial.value));
    written[initial.parameter].assign(written[initial.parameter].size(), true);
  }
  for (const KernelWorkspace &workspace : result.info.workspaces) {
    memory.emplace_back(static_cast<size_t>(workspace.bytes), workspace.isZeroed ? 0 : 0xff);
    buffers.push_back({memory.back().data, workspace.bytes, false, nullptr, true});
  }
  llvm::Expected<EmulationCounts> counts = compiled->run(buffers, options);
  if (!counts)
    return counts.takeError();
  result.counts = *counts;
  for (size_t i = 0; i < result.info.parameters.size(); ++i) {
    if (!result.info.parameters[i].isOutput)
      continue;
    if (std::find(written[i].begin(), written[i].end(), false) != written[i].end())
      return makeError(DiagClass::Internal, "{} is not written everywhere",
                       result.info.parameters[i].name);
    llvm::Expected<Tensor> made =
        unpackTensor(result.info.parameters[i].shape, {memory[i].data, memory[i].size});
    if (!made)
      return made.takeError();
    result.results.push_back(std::move(*made));
  }
  for (size_t i = 0; i < result.info.workspaces.size(); ++i) {
    const DeviceBytes &left = memory[result.info.parameters.size() + i];
    if (result.info.workspaces[i].isZeroed &&
        std::any_of(left.data, left.data + left.size, [](std::byte b) { return b != std::byte(); }))
      return makeError(DiagClass::Internal, "the {} are not left at zero",
                       result.info.workspaces[i].name);
  }
  return result;
}

/// Expects that results agree to a tolerance relative to 1 + the value; NaNs with NaNs.
inline bool agree(const std::vector<Tensor> &got, const std::vector<Tensor> &wanted,
                  double tolerance, const std::string &what) {
  EXPECT_EQ(got.size(), wanted.size()) << what;
  for (size_t r = 0; r < std::min(got.size(), wanted.size()); ++r)
    for (int64_t i = 0; i < wanted[r].size(); ++i) {
      double want = wanted[r].asDouble(i), have = got[r].asDouble(i);
      bool isSame = have == want || (std::isnan(have) && std::isnan(want));
      if (isSame || std::abs(have - want) <= tolerance * (1 + std::abs(want)))
        continue;
      ADD_FAILURE() << what << ": result " << r << " element " << i << " is " << have << ", not "
                    << want;
      return false;
    }
  return true;
}

/// Expects that what the emulator counted is what the folds say.
/// Returns whether bytes are among it.
inline bool expectCounts(const program::Program &program, const Emulated &run,
                         const std::string &what) {
  using program::Count;
  program::Folds folds = foldsOf(program);
  auto fold = [&](Count count) { return folds.at(folds.counts[count], {}).value_or(-1); };
  const EmulationCounts &counts = run.counts;
  EXPECT_EQ(run.info.launch.grid, fold(Count::Ctas)) << what;
  EXPECT_EQ(run.info.launch.threads, fold(Count::Threads)) << what;
  EXPECT_EQ(run.info.launch.sharedBytes, fold(Count::SharedBytes)) << what;
  EXPECT_EQ(counts.mmaInstructions, fold(Count::Mmas)) << what;
  EXPECT_EQ(counts.warpgroupProducts, fold(Count::Wgmmas)) << what;
  EXPECT_EQ(counts.atomics, fold(Count::Atomics) + fold(Count::SplitArrivals)) << what;
  // Made visible once before roles part.
  int64_t start = program.producerWarps ? fold(Count::Ctas) : 0;
  EXPECT_EQ(counts.barriers, fold(Count::Barriers) + start) << what;
  int64_t workspace = fold(Count::WorkspaceBytes) / 2, splits = 1;
  if (workspace)
    splits = program.grid.variables.back().count.constant();
  int64_t resets = 4 * fold(Count::SplitArrivals) / splits;
  // Copies through registers are loads of the emulator's.
  int64_t copied = counts.asyncCopyBytes + counts.tensorCopyBytes;
  int64_t moved = counts.globalReadBytes + copied;
  int64_t mostMoved = fold(Count::RequestedBytes) + fold(Count::CopiedBytes) + workspace;
  int64_t mostWritten = fold(Count::WrittenBytes) + workspace + resets;
  EXPECT_LE(copied, fold(Count::CopiedBytes)) << what;
  const bool areBytesExact = folds.requestsAreExact && folds.inexact.empty();
  if (areBytesExact) {
    EXPECT_EQ(moved, mostMoved) << what;
    EXPECT_EQ(counts.globalWrittenBytes, mostWritten) << what;
  } else {
    EXPECT_LE(counts.globalWrittenBytes, mostWritten) << what;
  }
  return areBytesExact;
}

/// Random inputs of a program with numbers.
inline std::vector<Tensor> inputsOf(const program::Program &program, uint64_t seed) {
  std::vector<Tensor> result;
  for (const program::TensorInfo &tensor : program.tensors) {
    if (tensor.isResult)
      continue;
    std::vector<int64_t> dims;
    for (Expr dim : tensor.dims)
      dims.push_back(dim.constant());
    result.push_back(fillTensor(Shape::tensor(tensor.type, dims), seed++));
  }
  return result;
}

/// Expects that a program's kernel makes what the interpreter does.
inline std::optional<Emulated> expectEqualRuns(const program::Program &program, uint64_t seed,
                                               double tolerance, const std::string &what) {
  std::vector<Tensor> inputs = inputsOf(program, seed);
  program::RunOptions options;
  options.seed = seed;
  llvm::Expected<program::RunResult> wanted = interpret(program, inputs, options);
  EXPECT_TRUE(bool(wanted)) << what << (wanted ? "" : takeDiag(wanted.takeError()).str());
  llvm::Expected<Emulated> got = emulate(program, inputs);
  EXPECT_TRUE(bool(got)) << what << (got ? "" : takeDiag(got.takeError()).str());
  if (!wanted || !got || !agree(got->results, wanted->results, tolerance, what))
    return std::nullopt;
  return std::move(*got);
}

} // namespace tilewright::emit::testing
