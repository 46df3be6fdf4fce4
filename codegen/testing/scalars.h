// Scalar code run on the emulator, element by element, for the tests of scalar ops.
#pragma once

#include "codegen/emulator.h"
#include "codegen/scalar_ops.h"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>

namespace tilewright {

/// The LLVM type of T's memory: float, double, or an integer of its size.
template <typename T> llvm::Type *memoryTypeOf(KernelBuilder &k) {
  if constexpr (std::is_same_v<T, float>)
    return k.f32;
  else if constexpr (std::is_same_v<T, double>)
    return k.f64;
  else
    return k.b.getIntNTy(sizeof(T) * 8);
}

/// body(k, operands) at every element of the operands, which have one length.
template <typename Out, typename In, typename Body>
std::vector<Out> runScalar(const std::vector<std::vector<In>> &operands, const Body &body) {
  constexpr int64_t threads = 128;
  auto count = static_cast<int64_t>(operands[0].size());
  std::vector<bool> isOutput(operands.size() + 1, false);
  isOutput.back() = true;
  KernelBuilder k("kernel", CodeMode::Emulation, threads, {isOutput});
  auto address = [&](llvm::Value *i, size_t bytes) {
    return k.b.CreateMul(k.b.CreateZExt(i, k.i64), k.c64(static_cast<int64_t>(bytes)));
  };
  k.forLoop(k.threadId(), k.c32(count), k.c32(threads), {}, [&](llvm::Value *i, const Values &) {
    Values x;
    for (unsigned operand = 0; operand < operands.size(); ++operand)
      x.push_back(k.loadGlobal(memoryTypeOf<In>(k), operand, address(i, sizeof(In)), sizeof(In)));
    llvm::Value *result = body(k, x);
    if (result->getType() == k.i1)
      result = k.b.CreateZExt(result, memoryTypeOf<Out>(k));
    k.storeGlobal(result, static_cast<unsigned>(operands.size()), address(i, sizeof(Out)),
                  sizeof(Out));
    return Values{};
  });
  KernelModule module = std::move(k).finish();
  module.launch = {1, threads, 0};
  struct Release {
    void operator()(std::byte *memory) const { ::operator delete(memory, std::align_val_t(256)); }
  };
  std::vector<std::unique_ptr<std::byte, Release>> memory;
  std::vector<EmulatorBuffer> buffers;
  for (size_t i = 0; i <= operands.size(); ++i) {
    size_t bytes = static_cast<size_t>(count) * (isOutput[i] ? sizeof(Out) : sizeof(In));
    memory.emplace_back(static_cast<std::byte *>(::operator new(bytes, std::align_val_t(256))));
    if (!isOutput[i])
      std::memcpy(memory[i].get(), operands[i].data(), bytes);
    // The shape says no more than how many bytes there are.
    module.parameters.push_back(
        {"p", Shape::tensor(DType::U8, {static_cast<int64_t>(bytes)}), isOutput[i]});
    buffers.push_back({memory[i].get(), static_cast<int64_t>(bytes), isOutput[i]});
  }
  auto kernel = EmulatedKernel::compile(std::move(module));
  EXPECT_TRUE(bool(kernel)) << (kernel ? "" : takeDiag(kernel.takeError()).message);
  std::vector<Out> result(static_cast<size_t>(count));
  if (!kernel)
    return result;
  EmulationOptions options;
  options.maxEvents = uint64_t(1) << 40;
  auto run = kernel->run(buffers, options);
  EXPECT_TRUE(bool(run)) << (run ? "" : takeDiag(run.takeError()).message);
  std::memcpy(result.data(), memory.back().get(), result.size() * sizeof(Out));
  return result;
}

/// An elementwise op on operands in memory of type `from`, result in memory of type `to`.
template <typename Out, typename In>
std::vector<Out> runOp(const Op &op, DType from, const std::vector<std::vector<In>> &operands) {
  DType to = op.shape.dtype;
  return runScalar<Out>(operands, [&](KernelBuilder &k, const Values &x) -> llvm::Value * {
    ScalarOps ops(k);
    Values values;
    for (llvm::Value *bits : x)
      values.push_back(ops.fromMemory(from, bits));
    auto result = ops.apply(op, from, values);
    EXPECT_TRUE(bool(result)) << (result ? "" : takeDiag(result.takeError()).message);
    return ops.toMemory(to, result ? *result : ops.constant(to, int64_t(0)));
  });
}

inline Op scalarOp(Opcode opcode, DType type) {
  Op op;
  op.name = "x";
  op.opcode = opcode;
  op.shape = Shape::tensor(type, {});
  return op;
}

} // namespace tilewright
