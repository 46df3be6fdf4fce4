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

/// Of the operands of a matrix instruction: alike, or two of one class and width, as e4m3 and e5m2.
struct MatrixTypes {
  DType left, right;
  MatrixTypes(DType both) : left(both), right(both) {}
  MatrixTypes(DType left, DType right) : left(left), right(right) {}
  bool operator==(const MatrixTypes &) const = default;
};

/// The arguments of a kernel.
struct KernelSignature {
  std::vector<bool> isOutput; ///< one entry a buffer parameter
  unsigned workspaces = 0;    ///< buffers too, with the numbers after those of the parameters
  unsigned tensorMaps = 0;
};

class KernelBuilder {
public:
  /// Starts a kernel of that name with `threads` threads a CTA.
  KernelBuilder(const std::string &entry, CodeMode mode, int64_t threads,
                const KernelSignature &signature);

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
  llvm::Value *ctaId() { return bid; }

  // --- memory -------------------------------------------------------------------------------
  /// Loads from a buffer at a byte offset (i64). `type` may be a vector.
  llvm::Value *loadGlobal(llvm::Type *type, unsigned buffer, llvm::Value *byteOffset,
                          unsigned align);
  void storeGlobal(llvm::Value *value, unsigned buffer, llvm::Value *byteOffset, unsigned align);
  /// The same where `valid` (an i1) holds, else `otherwise`, of 1, 2, 4, 8 or 16 bytes: nothing is
  /// read there. `constant` is added to the offset. Of inputs only.
  llvm::Value *loadGlobalIf(llvm::Value *valid, llvm::Value *otherwise, unsigned buffer,
                            llvm::Value *byteOffset, int64_t constant, unsigned align);
  void storeGlobalIf(llvm::Value *valid, llvm::Value *value, unsigned buffer,
                     llvm::Value *byteOffset, int64_t constant, unsigned align);
  /// The same in dynamic shared memory; the offset is an i32 from its start.
  llvm::Value *loadShared(llvm::Type *type, llvm::Value *byteOffset, unsigned align);
  void storeShared(llvm::Value *value, llvm::Value *byteOffset, unsigned align);

  /// Element `index` of a table of constants.
  llvm::Value *loadTable(llvm::ArrayRef<llvm::Constant *> table, llvm::Value *index);

  /// Copies 16 bytes from a buffer to shared memory without waiting; zeros where `valid` (an i1,
  /// may be null for "always") is false. Both addresses must be aligned to 16 bytes.
  void copyAsync16(llvm::Value *sharedOffset, unsigned buffer, llvm::Value *byteOffset,
                   llvm::Value *valid);
  /// The same of 4, 8 or 16 bytes, of which the first `validBytes` (an i32) are read and the others
  /// are zeros. Null: all.
  void copyAsync(llvm::Value *sharedOffset, unsigned buffer, llvm::Value *byteOffset,
                 unsigned bytes, llvm::Value *validBytes);
  void copyAsyncCommit();
  /// Waits until at most `pending` of this thread's committed groups are still in flight.
  void copyAsyncWait(unsigned pending);

  // --- between CTAs -------------------------------------------------------------------------
  /// Adds to a 32-bit counter in a buffer at once for all CTAs; gives what it held before.
  llvm::Value *atomicAdd(unsigned buffer, llvm::Value *byteOffset, llvm::Value *value);
  enum class Update : uint8_t { Add, Max, Min, And, Or };
  /// Combines an element of an output with a value at once for all CTAs, in any order. The value is
  /// what memory holds of the type: an integer of its width, or f32 and f64.
  void atomicUpdate(Update update, DType type, unsigned buffer, llvm::Value *byteOffset,
                    llvm::Value *value);
  /// Orders this thread's accesses to global memory before against those after, for all CTAs.
  void fenceGlobal();

  // --- cooperation --------------------------------------------------------------------------
  void barrier();
  /// A barrier of `count` threads alone, whole warps; 1 <= id <= 15.
  void barrier(unsigned id, int64_t count);
  /// Waits for all lanes of the warp, whose accesses to shared memory before it come before those
  /// after it.
  void syncWarp();
  /// Broadcasts the value of the warp's first lane: tells the compiler that it is uniform over the
  /// warp.
  llvm::Value *uniform(llvm::Value *value);
  /// The value that lane (lane xor mask) of the warp holds. Any scalar type up to 64 bits.
  llvm::Value *shuffleXor(llvm::Value *value, unsigned mask);
  /// The value that lane `lane` (an i32 in [0, 32)) of the warp holds.
  llvm::Value *shuffleIndex(llvm::Value *value, llvm::Value *lane);

  /// Loads `count` (1, 2 or 4) 8x8 matrices of 16-bit elements; lane i gives the shared offset of
  /// row i mod 8 of matrix i / 8. Result: one i32 a matrix.
  Values loadMatrix(llvm::Value *sharedOffset, unsigned count, bool transposed);
  /// D = A·B + C of 16x8 results and 32 bytes of K. a: 4, b: 2 registers (i32), c: 4 floats for
  /// inputs of f16, bf16, f32 (taken as tf32: the low 13 bits don't count), f8e4m3fn and f8e5m2
  /// (from sm_89 on), 4 i32 for s8 and u8.
  Values mma(MatrixTypes inputs, llvm::ArrayRef<llvm::Value *> a, llvm::ArrayRef<llvm::Value *> b,
             llvm::ArrayRef<llvm::Value *> c);

  // --- sm_90a: barriers in shared memory, TMA, warpgroup matrices ---------
  // Barriers and addresses are shared offsets (i32). A phase of a barrier ends when all arrivals
  // and all announced bytes are there.
  void initBarrier(llvm::Value *barrier, int64_t arrivals);
  /// Makes initialised barriers visible to TMA; a barrier() must follow.
  void fenceBarrierInit();
  void arrive(llvm::Value *barrier);
  /// Arrives, and announces that copies will bring so many bytes in this phase.
  void arriveExpecting(llvm::Value *barrier, int64_t bytes);
  /// Returns once the phase of this parity has ended. The phase before the first has parity 1.
  void waitBarrier(llvm::Value *barrier, llvm::Value *parity);
  void prefetchTensorMap(unsigned map);
  /// Starts to copy the box of tensor map `map` at these coordinates (innermost first, i32) to
  /// shared memory; it arrives with its bytes at the barrier. Zeros where the box leaves the
  /// tensor. Called by one thread.
  void copyTensor(unsigned map, llvm::Value *sharedOffset, llvm::Value *barrier,
                  llvm::ArrayRef<llvm::Value *> coordinates);
  /// Orders this thread's own writes to shared memory before what copies and matrix instructions
  /// do after the next barrier.
  void fenceAsyncProxy();
  /// Releases or acquires registers until each thread has `count` (setmaxnreg); called by all warps
  /// of a warpgroup.
  void setMaxRegisters(int64_t count, bool isIncrease);

  /// D[64, columns] += A[64, K]·B[columns, K]ᵀ by the four warps of a warpgroup, where K is 32
  /// bytes of elements. See WarpgroupMatrix for operands.
  struct WarpgroupMma {
    MatrixTypes inputs = DType::F16;
    int64_t columns = 8;
    bool isLhsKMinor = true, isRhsKMinor = true;
  };
  /// The descriptor of an operand tile in shared memory (PTX ISA, "Matrix descriptor").
  /// K-minor: rows of `swizzleBytes` bytes of K, eight rows `strideBytes` from the next eight.
  /// K-major: lines of `swizzleBytes` bytes across, eight lines (of K) `strideBytes` from the next
  /// eight, and `leadingBytes` from one run of swizzleBytes across to the next.
  llvm::Value *matrixDescriptor(llvm::Value *sharedOffset, int64_t leadingBytes,
                                int64_t strideBytes, int64_t swizzleBytes);
  /// A descriptor moved on by a multiple of 16 bytes.
  llvm::Value *advanceDescriptor(llvm::Value *descriptor, llvm::Value *bytes);
  void warpgroupFence();
  /// The same, as a compiler barrier for registers that later products use: no write to them moves
  /// past it.
  Values warpgroupFence(const Values &registers);
  /// Starts a product into accumulator number `accumulator` of the kernel, whose registers are
  /// `sums` (columns / 2 of 32 bits). The result may be used as `sums` of further products; other
  /// uses must go through warpgroupWait(). isAccumulating is an i1 (false: sums count as zeros; a
  /// constant one leaves them unread).
  Values warpgroupMma(const WarpgroupMma &shape, unsigned accumulator, llvm::Value *a,
                      llvm::Value *b, llvm::Value *isAccumulating, const Values &sums);
  /// The same with A in registers: four words, laid out as mma()'s.
  Values warpgroupMma(const WarpgroupMma &shape, unsigned accumulator,
                      llvm::ArrayRef<llvm::Value *> a, llvm::Value *b, llvm::Value *isAccumulating,
                      const Values &sums);
  void warpgroupCommit();
  /// Waits until at most `pending` committed groups are in flight; returns the registers of
  /// `accumulator`, which are valid only if no group in flight uses them.
  Values warpgroupWait(unsigned pending, unsigned accumulator, const Values &sums);
  void warpgroupWait(unsigned pending);
  /// Returns the values behind a compiler barrier: no use is hoisted above this point.
  Values pinned(const Values &values);

  // --- arithmetic ---------------------------------------------------------------------------
  enum class Approx { Exp2, Exp2Flushed, Rsqrt, Sqrt, Reciprocal };
  /// f32 functions of the special function unit. Denormals are kept where the hardware can;
  /// Exp2Flushed flushes them to zero, which saves three instructions. Relative errors are at most
  /// relativeError(), which the emulator simulates.
  llvm::Value *approx(Approx function, llvm::Value *x);
  /// x / y to 2 ulp over the full range (div.full.f32).
  llvm::Value *divideFull(llvm::Value *x, llvm::Value *y);
  /// PTX ISA, "Floating Point Instructions": 2^-22 for ex2, 2^-22.9 for rsqrt, 2^-23 for sqrt, 1
  /// ulp for rcp.
  static double relativeError(Approx function);
  llvm::Value *intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type *> types,
                         llvm::ArrayRef<llvm::Value *> args) {
    return b.CreateIntrinsic(id, types, args);
  }
  /// f32 to the bits (i16) of f16 or bf16, rounded to nearest even; and back, exactly.
  llvm::Value *to16(DType type, llvm::Value *x);
  llvm::Value *from16(DType type, llvm::Value *bits);
  /// True if the value was rounded to that type in registers, so that pack16() needs no conversion.
  bool isRounded(DType type, llvm::Value *x) const;
  /// Both rounded like that, in one word.
  llvm::Value *pack16(DType type, llvm::Value *low, llvm::Value *high);

  // --- control ------------------------------------------------------------------------------
  /// for (i = low; i < high; i += step), carrying values; `body` returns their next values.
  /// Unrolling is disabled: ptxas would unroll short loops and overlap iterations, which keeps more
  /// registers live.
  enum class Unrolling : uint8_t { Free, Never };
  Values forLoop(llvm::Value *low, llvm::Value *high, llvm::Value *step, const Values &initial,
                 const std::function<Values(llvm::Value *, const Values &)> &body,
                 Unrolling unrolling = Unrolling::Free);
  void ifThen(llvm::Value *condition, const std::function<void()> &body);
  /// The values of the branch that is taken; both return the same number and types.
  Values choose(llvm::Value *condition, const std::function<Values()> &body,
                const std::function<Values()> &otherwise);
  void ifThenElse(llvm::Value *condition, const std::function<void()> &body,
                  const std::function<void()> &otherwise);

  bool isEmulation() const { return codeMode != CodeMode::Device; }
  bool isTraced() const { return codeMode == CodeMode::Traced; }

  // --- tracing, does nothing unless isTraced() -------------------------------------------------
  /// Reports a value to the emulator: `number` and `element` name the op and its element, `valid`
  /// (an i1, null for "always") tells whether it counts. Floats and integers of any width.
  void traceValue(int64_t number, llvm::Value *element, llvm::Value *valid, llvm::Value *value,
                  bool isSigned);

private:
  /// RAII: everything emitted in its lifetime is one step of the kernel, see KernelInfo::steps;
  /// nested steps count as part of the outer one.
  class Step {
  public:
    Step(KernelBuilder &builder, const char *name);
    ~Step();
    Step(const Step &) = delete;
    Step &operator=(const Step &) = delete;

  private:
    KernelBuilder &k;
    bool isOutermost;
    llvm::Instruction *before = nullptr; ///< the last instruction of the block, if there was one
  };
  llvm::LLVMContext &context() { return *contextOwner; }
  /// Calls an emulator function; its arguments' types make up the declaration.
  llvm::Value *callEmulator(const char *name, llvm::Type *result,
                            llvm::ArrayRef<llvm::Value *> arguments);
  void annotateTensorMaps(unsigned first, unsigned count);
  llvm::Value *globalAddress(unsigned buffer, llvm::Value *byteOffset);
  /// shuffle(word) of each 32-bit word of a value.
  llvm::Value *shuffleWords(llvm::Value *value,
                            const std::function<llvm::Value *(llvm::Value *)> &shuffle);
  llvm::Value *sharedAddress(llvm::Value *byteOffset);
  llvm::Value *bytesOf(llvm::Type *type);
  /// The 32-bit address in the shared window, as inline PTX takes it; the offset in emulation.
  llvm::Value *sharedWindowAddress(llvm::Value *byteOffset);
  llvm::Value *inlinePtx(const std::string &text, const std::string &constraints,
                         llvm::ArrayRef<llvm::Value *> arguments, llvm::Type *result = nullptr);
  Values throughRegisters(const std::string &text, const Values &registers);
  Values startWarpgroupMma(const WarpgroupMma &shape, unsigned accumulator,
                           llvm::ArrayRef<llvm::Value *> a, llvm::Value *b,
                           llvm::Value *isAccumulating, const Values &sums);
  llvm::AllocaInst *accumulatorScratch(); ///< 256 words for accumulators
  llvm::AllocaInst *scratch();            ///< 64 bytes that emulator functions return values in

  llvm::Function *function;
  std::vector<llvm::Value *> buffers;
  std::vector<llvm::Value *> tensorMaps;
  std::vector<bool> outputs;
  llvm::Value *shared = nullptr;
  llvm::Value *tid = nullptr, *bid = nullptr;
  llvm::AllocaInst *scratchSlot = nullptr, *accumulatorSlot = nullptr;
  llvm::DenseMap<llvm::Constant *, llvm::GlobalVariable *> tables;
  /// The 16-bit origin of floats that were unpacked: packing them again needs no conversion. Never
  /// iterated.
  llvm::DenseMap<llvm::Value *, std::pair<DType, llvm::Value *>> bitsOf16;
  llvm::DenseMap<llvm::Value *, llvm::Value *> roundedFrom; ///< bits, and the float before
  std::vector<std::string> steps;
  bool isInStep = false;
};

} // namespace tilewright
