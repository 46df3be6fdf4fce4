#include "codegen/emulator_runtime.h"

#include "analysis/ir/numeric.h"
#include "analysis/ir/tensor.h"
#include "codegen/emulator_cta.h"
#include "codegen/emulator_matrix.h"
#include "codegen/kernel_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tilewright {

namespace {

using LaneWords = EmulatedCta::LaneWords;
using Lanes = std::span<LaneWords, warpSize>;

EmulatedCta &cta() { return *EmulatedCta::active(); }

/// Mma: plus the types of its operands, left + 256 · right.
enum Kind : int { Shuffle = 0, Matrix = 64, ShuffleIndex = 128, Sync = 129, Mma = 1 << 16 };

void completeShuffle(EmulatedCta &, Lanes lanes, int kind) {
  std::array<uint32_t, warpSize> values;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    values[lane] = lanes[lane][0];
  for (unsigned lane = 0; lane < warpSize; ++lane)
    lanes[lane][0] = values[lane ^ static_cast<unsigned>(kind - Shuffle)];
}

void completeShuffleIndex(EmulatedCta &, Lanes lanes, int) {
  std::array<uint32_t, warpSize> values;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    values[lane] = lanes[lane][0];
  for (unsigned lane = 0; lane < warpSize; ++lane)
    lanes[lane][0] = values[lanes[lane][1] % warpSize];
}

/// Matrix m's row r is 16 bytes at the offset that lane 8·m + r gave. Lane i receives elements
/// 2·(i mod 4) and the next of row i / 4; transposed, of column i / 4.
void completeMatrix(EmulatedCta &self, Lanes lanes, int kind) {
  unsigned count = static_cast<unsigned>(kind - Matrix) / 2;
  bool transposed = (kind - Matrix) % 2 != 0;
  std::array<uint32_t, warpSize> offsets;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    offsets[lane] = lanes[lane][0];
  for (unsigned m = 0; m < count; ++m) {
    uint16_t elements[8][8];
    unsigned perBank[8] = {};
    for (unsigned row = 0; row < 8; ++row) {
      std::memcpy(elements[row], self.sharedMemory() + offsets[8 * m + row], 16);
      ++perBank[offsets[8 * m + row] / 16 % 8];
    }
    ++self.total.matrixLoads;
    self.total.matrixLoadWavefronts += *std::max_element(std::begin(perBank), std::end(perBank));
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      unsigned row = lane / 4, column = lane % 4 * 2;
      uint32_t low = transposed ? elements[column][row] : elements[row][column];
      uint32_t high = transposed ? elements[column + 1][row] : elements[row][column + 1];
      lanes[lane][m] = low | high << 16;
    }
  }
}

/// PTX ISA, "Matrix fragments for mma.m16n8k8" (tf32), "m16n8k16" (16 bits) and "m16n8k32" (8
/// bits), alike when K is counted in bytes: with g = lane / 4 and t = lane mod 4, a[0..3] hold rows
/// g, g+8, g, g+8 at bytes 4t, 4t, 4t+16, 4t+16 (four each), b[0..1] column g at bytes 4t, 4t+16,
/// and c[0..3] rows g, g, g+8, g+8 at columns 2t, 2t+1.
void completeMma(EmulatedCta &self, Lanes lanes, int kind) {
  auto left = static_cast<DType>((kind - Mma) % 256),
       right = static_cast<DType>((kind - Mma) / 256);
  unsigned bits = bitWidth(left), perWord = 32 / bits, depth = 256 / bits;
  double a[16][32], b[32][8]; // 8, 16 or 32 of K are used
  auto element = [&](DType type, uint32_t word, unsigned i) {
    return matrixElement(type, bits == 32 ? word : word >> (bits * i) & ((1u << bits) - 1));
  };
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < perWord; ++i) {
      for (unsigned word = 0; word < 4; ++word)
        a[g + 8 * (word % 2)][t * perWord + depth / 2 * (word / 2) + i] =
            element(left, lanes[lane][word], i);
      for (unsigned word = 0; word < 2; ++word)
        b[t * perWord + depth / 2 * word + i][g] = element(right, lanes[lane][4 + word], i);
    }
  }
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = g + 8 * (i / 2), column = 2 * t + i % 2;
      uint32_t word = lanes[lane][6 + i];
      for (unsigned k = 0; k < depth; ++k)
        word = accumulated(left, word, a[row][k], b[k][column]);
      lanes[lane][i] = word;
    }
  }
  ++self.total.mmaInstructions;
  self.total.matrixFlops += int64_t(2) * 16 * 8 * depth;
}

// --- called by kernels ------------------------------------------------------------------------

void step(int number) { cta().step(number); }
void value(int number, int64_t element, int isValid, uint64_t bits) {
  if (isValid)
    cta().value(number, element, bits);
}

int threadId() { return cta().threadId(); }
int ctaId() { return cta().ctaId(); }
void globalRead(const std::byte *address, int bytes, int align) {
  cta().globalRead(address, static_cast<unsigned>(bytes), static_cast<unsigned>(align));
}
void globalWrite(const std::byte *address, int bytes, int align) {
  cta().globalWrite(address, static_cast<unsigned>(bytes), static_cast<unsigned>(align));
}
void sharedRead(int offset, int bytes, int align) {
  cta().sharedRead(offset, static_cast<unsigned>(bytes), static_cast<unsigned>(align));
}
void sharedWrite(int offset, int bytes, int align) {
  cta().sharedWrite(offset, static_cast<unsigned>(bytes), static_cast<unsigned>(align));
}
void copyAsync(int offset, const std::byte *from, int bytes, int validBytes) {
  cta().copyAsync(offset, from, bytes, validBytes);
}
void atomicUpdate(std::byte *address, int update, int type, uint64_t bits) {
  cta().atomicUpdate(address, update, static_cast<DType>(type), bits);
}
void copyAsyncCommit() { cta().copyAsyncCommit(); }
void copyAsyncWait(int pending) { cta().copyAsyncWait(static_cast<unsigned>(pending)); }
void barrier() { cta().barrier(); }

int atomicAdd(std::byte *address, int value) {
  return static_cast<int>(cta().atomicAdd(address, static_cast<uint32_t>(value)));
}
void fenceGlobal() { cta().fenceGlobal(); }

void namedBarrier(int id, int count) { cta().barrier(id, count); }
void initBarrier(int barrier, int arrivals) { cta().async().initBarrier(barrier, arrivals); }
void fenceBarrierInit() { cta().async().fenceBarrierInit(); }
void arrive(int barrier, int bytes) { cta().async().arrive(barrier, bytes); }
void waitBarrier(int barrier, int parity) { cta().async().waitBarrier(barrier, parity); }
void fenceAsyncProxy() { cta().async().fenceAsyncProxy(); }
void setMaxRegisters(int count, int isIncrease) {
  cta().async().setMaxRegisters(count, isIncrease != 0);
}
void warpgroupFence() { cta().async().warpgroupFence(); }
void warpgroupCommit() { cta().async().commit(); }
void warpgroupWait(int pending) { cta().async().waitProducts(static_cast<unsigned>(pending)); }
void readAccumulator(int number, int count, uint32_t *out) {
  cta().async().readAccumulator(static_cast<unsigned>(number), count, out);
}

void copyTensor(int map, int to, int barrier, int rank, int x0, int x1, int x2, int x3, int x4) {
  const int coordinates[] = {x0, x1, x2, x3, x4};
  cta().async().copyTensor(map, to, barrier, std::span(coordinates, static_cast<size_t>(rank)));
}

/// `flags` as KernelBuilder::startWarpgroupMma() packs them.
void warpgroupMma(int accumulator, int flags, int columns, uint64_t a, uint64_t b,
                  int isAccumulating, uint32_t *registers) {
  AsyncUnits::Product product;
  product.isLhsKMinor = flags & 1;
  product.isRhsKMinor = flags & 2;
  product.isLhsInRegisters = flags & 4;
  product.left = static_cast<DType>(flags >> 8 & 0xff);
  product.right = static_cast<DType>(flags >> 16);
  product.isAccumulating = isAccumulating != 0;
  product.accumulator = static_cast<unsigned>(accumulator);
  product.columns = columns;
  product.a = a;
  product.b = b;
  cta().async().startProduct(product, registers);
}

int shuffleXor(int value, int mask) {
  LaneWords words{static_cast<uint32_t>(value)};
  return static_cast<int>(cta().warpMeeting(Shuffle + mask, words, completeShuffle)[0]);
}

void syncWarp() {
  cta().warpMeeting(Sync, {}, [](EmulatedCta &, Lanes, int) {});
}

int shuffleIndex(int value, int lane) {
  LaneWords words{static_cast<uint32_t>(value), static_cast<uint32_t>(lane)};
  return static_cast<int>(cta().warpMeeting(ShuffleIndex, words, completeShuffleIndex)[0]);
}

void loadMatrix(int offset, int count, int transposed, uint32_t *out) {
  // Lanes beyond 8·count give no address that counts, but their registers must hold something.
  EmulatedCta &self = cta();
  if (self.threadId() % int(warpSize) < 8 * count)
    self.sharedRead(offset, 16, 16);
  LaneWords words{static_cast<uint32_t>(offset)};
  words = self.warpMeeting(Matrix + 2 * count + transposed, words, completeMatrix);
  std::copy_n(words.begin(), count, out);
}

void mma(uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1, uint32_t c0,
         uint32_t c1, uint32_t c2, uint32_t c3, int left, int right, uint32_t *out) {
  LaneWords words{a0, a1, a2, a3, b0, b1, c0, c1, c2, c3};
  words = cta().warpMeeting(Mma + left + 256 * right, words, completeMma);
  std::copy_n(words.begin(), 4, out);
}

/// Perturbs a result within the hardware's error bound: deterministic in the operands, by up to
/// `error` either way. Results whose bits the manual specifies stay as they are.
float asApproximate(double exact, double error, uint32_t x, uint32_t y = 0) {
  if (exact == 0 || !std::isfinite(exact))
    return static_cast<float>(exact);
  double share = static_cast<double>(splitmix64(x, y) >> 11) * 0x1p-52 - 1; // in [-1, 1)
  return static_cast<float>(exact * (1 + share * error));
}

float approx(int function, float x) {
  auto which = static_cast<KernelBuilder::Approx>(function);
  double value = x, exact = 0;
  switch (which) {
  case KernelBuilder::Approx::Exp2:
    if (x == 0)
      return 1;
    exact = std::exp2(value);
    break;
  case KernelBuilder::Approx::Exp2Flushed:
    if (x == 0 || std::fpclassify(x) == FP_SUBNORMAL)
      return 1;
    exact = std::exp2(value);
    if (exact < 0x1p-126)
      return 0;
    break;
  case KernelBuilder::Approx::Rsqrt:
    exact = 1 / std::sqrt(value);
    break;
  case KernelBuilder::Approx::Sqrt:
    exact = std::sqrt(value);
    break;
  case KernelBuilder::Approx::Reciprocal:
    exact = 1 / value;
    break;
  }
  return asApproximate(exact, KernelBuilder::relativeError(which), std::bit_cast<uint32_t>(x));
}

float divideFull(float x, float y) {
  return asApproximate(static_cast<double>(x) / static_cast<double>(y), 0x1p-22,
                       std::bit_cast<uint32_t>(x), std::bit_cast<uint32_t>(y));
}

int to16(float x, int isBf16) {
  return static_cast<int>(encodeFloat(isBf16 ? DType::BF16 : DType::F16, x));
}
float fromF16(int bits) {
  return static_cast<float>(decodeFloat(DType::F16, static_cast<uint64_t>(bits)));
}

template <typename Function> void *addressOf(Function *function) {
  return reinterpret_cast<void *>(function);
}

} // namespace

std::span<const RuntimeFunction> emulatorRuntime() {
  static const RuntimeFunction functions[] = {
      {"twEmuStep", addressOf(step)},
      {"twEmuValue", addressOf(value)},
      {"twEmuThreadId", addressOf(threadId)},
      {"twEmuCtaId", addressOf(ctaId)},
      {"twEmuGlobalRead", addressOf(globalRead)},
      {"twEmuGlobalWrite", addressOf(globalWrite)},
      {"twEmuSharedRead", addressOf(sharedRead)},
      {"twEmuSharedWrite", addressOf(sharedWrite)},
      {"twEmuCopyAsync", addressOf(copyAsync)},
      {"twEmuAtomicUpdate", addressOf(atomicUpdate)},
      {"twEmuSyncWarp", addressOf(syncWarp)},
      {"twEmuShuffleIndex", addressOf(shuffleIndex)},
      {"twEmuCopyAsyncCommit", addressOf(copyAsyncCommit)},
      {"twEmuCopyAsyncWait", addressOf(copyAsyncWait)},
      {"twEmuBarrier", addressOf(barrier)},
      {"twEmuNamedBarrier", addressOf(namedBarrier)},
      {"twEmuInitBarrier", addressOf(initBarrier)},
      {"twEmuFenceBarrierInit", addressOf(fenceBarrierInit)},
      {"twEmuArrive", addressOf(arrive)},
      {"twEmuWaitBarrier", addressOf(waitBarrier)},
      {"twEmuCopyTensor", addressOf(copyTensor)},
      {"twEmuFenceAsyncProxy", addressOf(fenceAsyncProxy)},
      {"twEmuSetMaxRegisters", addressOf(setMaxRegisters)},
      {"twEmuWarpgroupFence", addressOf(warpgroupFence)},
      {"twEmuWarpgroupMma", addressOf(warpgroupMma)},
      {"twEmuWarpgroupCommit", addressOf(warpgroupCommit)},
      {"twEmuWarpgroupWait", addressOf(warpgroupWait)},
      {"twEmuReadAccumulator", addressOf(readAccumulator)},
      {"twEmuAtomicAdd", addressOf(atomicAdd)},
      {"twEmuFenceGlobal", addressOf(fenceGlobal)},
      {"twEmuShuffleXor", addressOf(shuffleXor)},
      {"twEmuLoadMatrix", addressOf(loadMatrix)},
      {"twEmuMma", addressOf(mma)},
      {"twEmuApprox", addressOf(approx)},
      {"twEmuDivideFull", addressOf(divideFull)},
      {"twEmuTo16", addressOf(to16)},
      {"twEmuFromF16", addressOf(fromF16)},
      // What LLVM may make of memory intrinsics and float remainders on the host.
      {"memcpy", addressOf<void *(void *, const void *, size_t)>(std::memcpy)},
      {"memset", addressOf<void *(void *, int, size_t)>(std::memset)},
      {"fmodf", addressOf<float(float, float)>(fmodf)},
      {"fmod", addressOf<double(double, double)>(fmod)},
      {"floorf", addressOf<float(float)>(floorf)},
      {"floor", addressOf<double(double)>(floor)},
      {"ceilf", addressOf<float(float)>(ceilf)},
      {"ceil", addressOf<double(double)>(ceil)},
      {"truncf", addressOf<float(float)>(truncf)},
      {"trunc", addressOf<double(double)>(trunc)},
      {"roundf", addressOf<float(float)>(roundf)},
      {"round", addressOf<double(double)>(round)},
      {"roundevenf", addressOf<float(float)>(rintf)},
      {"roundeven", addressOf<double(double)>(rint)},
      {"rintf", addressOf<float(float)>(rintf)},
      {"rint", addressOf<double(double)>(rint)},
      {"fmaf", addressOf<float(float, float, float)>(fmaf)},
      {"fma", addressOf<double(double, double, double)>(fma)},
      {"fmaxf", addressOf<float(float, float)>(fmaxf)},
      {"fmax", addressOf<double(double, double)>(fmax)},
      {"fminf", addressOf<float(float, float)>(fminf)},
      {"fmin", addressOf<double(double, double)>(fmin)},
  };
  return functions;
}

} // namespace tilewright
