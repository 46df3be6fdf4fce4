// KernelBuilder: a thin layer over IRBuilder for writing one GPU kernel.
//
// In device mode its operations become NVVM intrinsics (inline PTX where LLVM has none). In
// emulation mode the same operations become calls to functions that emulator_runtime.cpp defines,
// and every access to memory is announced to the emulator first, which checks it.
//
// Sixteen-bit floats never appear as LLVM half or bfloat values outside the conversions here:
// memory holds i16, arithmetic is done in float. So the emulated IR runs on any host.
#pragma once

#include "analysis/ir/dtype.h"
#include "codegen/kernel_module.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright {

using Values = std::vector<llvm::Value *>;

class KernelBuilder {
public:
  /// Starts a kernel of that name with `threads` threads a block. `isOutput` has one entry a
  /// buffer parameter.
  KernelBuilder(const std::string &entry, CodeMode mode, int64_t threads,
                const std::vector<bool> &isOutput);

  /// Ends the kernel. Parameters, launch and kind are left for the caller to fill in.
  KernelModule finish() &&;

private:
  std::unique_ptr<llvm::LLVMContext> contextOwner;
  std::unique_ptr<llvm::Module> moduleOwner;
  CodeMode codeMode;

public:
  llvm::IRBuilder<> b;
  llvm::Type *const i1, *const i8, *const i16, *const i32, *const i64, *const f32, *const f64;

  llvm::Value *c32(int64_t value) { return llvm::ConstantInt::getSigned(i32, value); }
  llvm::Value *c64(int64_t value) { return llvm::ConstantInt::getSigned(i64, value); }
  llvm::Value *cf(double value) { return llvm::ConstantFP::get(f32, value); }

  /// Base address of buffer parameter `i`.
  llvm::Value *buffer(unsigned i) { return buffers[i]; }
  llvm::Value *threadId() { return tid; }
  llvm::Value *blockId() { return bid; }

  // --- memory -------------------------------------------------------------------------------
  /// Loads from a buffer at a byte offset (i64). `type` may be a vector.
  llvm::Value *loadGlobal(llvm::Type *type, unsigned buffer, llvm::Value *byteOffset,
                          unsigned align);
  void storeGlobal(llvm::Value *value, unsigned buffer, llvm::Value *byteOffset, unsigned align);
  /// The same in dynamic shared memory; the offset is an i32 from its start.
  llvm::Value *loadShared(llvm::Type *type, llvm::Value *byteOffset, unsigned align);
  void storeShared(llvm::Value *value, llvm::Value *byteOffset, unsigned align);

  /// Element `index` of a table of constants.
  llvm::Value *loadTable(llvm::ArrayRef<llvm::Constant *> table, llvm::Value *index);

  /// Copies 16 bytes from a buffer to shared memory without waiting; zeros where `valid` (an i1,
  /// may be null for "always") is false. Both addresses must be aligned to 16 bytes.
  void copyAsync16(llvm::Value *sharedOffset, unsigned buffer, llvm::Value *byteOffset,
                   llvm::Value *valid);
  void copyAsyncCommit();
  /// Waits until at most `pending` of this thread's committed groups are still in flight.
  void copyAsyncWait(unsigned pending);

  // --- cooperation --------------------------------------------------------------------------
  void barrier();
  /// The value that lane (lane xor mask) of the warp holds. Any scalar type up to 64 bits.
  llvm::Value *shuffleXor(llvm::Value *value, unsigned mask);

  /// Loads `count` (1, 2 or 4) 8x8 matrices of 16-bit elements; lane i gives the shared offset of
  /// row i mod 8 of matrix i / 8. Result: one i32 a matrix.
  Values loadMatrix(llvm::Value *sharedOffset, unsigned count, bool transposed);
  /// D = A·B + C for m16n8k16 with f32 accumulation. a: 4, b: 2 registers (i32), c: 4 floats.
  Values mma(DType inputs, llvm::ArrayRef<llvm::Value *> a, llvm::ArrayRef<llvm::Value *> b,
             llvm::ArrayRef<llvm::Value *> c);

  // --- arithmetic ---------------------------------------------------------------------------
  enum class Approx { Exp2, Log2, Rsqrt, Sin, Cos };
  /// f32 functions of the special function unit, denormals kept where the hardware can.
  llvm::Value *approx(Approx function, llvm::Value *x);
  llvm::Value *intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type *> types,
                         llvm::ArrayRef<llvm::Value *> args) {
    return b.CreateIntrinsic(id, types, args);
  }
  /// f32 to the bits (i16) of f16 or bf16, rounded to nearest even; and back, exactly.
  llvm::Value *to16(DType type, llvm::Value *x);
  llvm::Value *from16(DType type, llvm::Value *bits);

  // --- control ------------------------------------------------------------------------------
  /// for (i = low; i < high; i += step), carrying values; `body` returns their next values.
  Values forLoop(llvm::Value *low, llvm::Value *high, llvm::Value *step, const Values &initial,
                 const std::function<Values(llvm::Value *, const Values &)> &body);
  void ifThen(llvm::Value *condition, const std::function<void()> &body);

  bool isEmulation() const { return codeMode == CodeMode::Emulation; }

private:
  llvm::LLVMContext &context() { return *contextOwner; }
  /// Calls an emulator function; its arguments' types make up the declaration.
  llvm::Value *callEmulator(const char *name, llvm::Type *result,
                            llvm::ArrayRef<llvm::Value *> arguments);
  llvm::Value *globalAddress(unsigned buffer, llvm::Value *byteOffset);
  llvm::Value *sharedAddress(llvm::Value *byteOffset);
  llvm::Value *bytesOf(llvm::Type *type);
  llvm::AllocaInst *scratch(); ///< 64 bytes that emulator functions return values in

  llvm::Function *function;
  std::vector<llvm::Value *> buffers;
  std::vector<bool> outputs;
  llvm::Value *shared = nullptr;
  llvm::Value *tid = nullptr, *bid = nullptr;
  llvm::AllocaInst *scratchSlot = nullptr;
  llvm::DenseMap<llvm::Constant *, llvm::GlobalVariable *> tables;
  /// Floats that came from 16 bits, with the bits: going back needs no conversion. Never iterated.
  llvm::DenseMap<llvm::Value *, std::pair<DType, llvm::Value *>> bitsOf16;
};

} // namespace tilewright
