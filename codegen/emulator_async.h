// The asynchronous units of sm_90a in an emulated CTA: barriers in shared memory, TMA, and the
// matrix units of warpgroups.
//
// Asynchronous operations happen as late as the program allows. A copy lands when a thread waits
// for its barrier and nothing else is missing. A product reads its operands and is computed at the
// wait after which it may no longer be in flight; until then its registers hold NaNs.
//
// Vector clocks decide who may touch what: one a warp, with a component for each warp and each
// barrier. Arriving at a barrier publishes the warp's clock; the end of a phase passes all
// published clocks, and the fact that the phase's copies have landed, to those who wait for it; CTA
// barriers merge the clocks of their threads. So
//   - bytes that a copy brought may be read only by warps that know of the end of its phase;
//   - a copy may overwrite bytes only when its issuer knows that all their readers are done;
//   - a product's operands must have been written so that this warp knows, with a proxy fence in
//     between when ordinary stores wrote them.
#pragma once

#include "codegen/emulator.h"

#include <array>
#include <deque>
#include <map>
#include <vector>

namespace tilewright {

class EmulatedCta;

class AsyncUnits {
public:
  AsyncUnits(EmulatedCta &cta, std::span<const EmulatorBuffer> buffers,
             const std::vector<TensorMap> &maps, const LaunchShape &launch);

  void startCta();

  // --- what the kernel calls, on the running fiber ---------------------------------------------
  void initBarrier(int offset, int arrivals);
  void fenceBarrierInit();
  void arrive(int offset, int bytes);
  void waitBarrier(int offset, int parity);
  void copyTensor(int map, int to, int barrier, std::span<const int> coordinates);
  void fenceAsyncProxy();
  void setMaxRegisters(int count, bool isIncrease);
  void warpgroupFence();
  struct Product {
    bool isCommit = false, isLhsKMinor = true, isRhsKMinor = true, isLhsInRegisters = false;
    bool isAccumulating = true;
    DType left = DType::F16, right = DType::F16; ///< of one width
    unsigned accumulator = 0;
    int columns = 0;
    uint64_t a = 0, b = 0;
    bool operator==(const Product &) const = default;
  };
  /// `registers`: the lane's accumulator, NaNs afterwards; at 128 the four words of A, if they are.
  void startProduct(const Product &product, uint32_t *registers);
  void commit();
  void waitProducts(unsigned pending);
  void readAccumulator(unsigned accumulator, int count, uint32_t *registers);

  // --- what the CTA tells ------------------------------------------------------------------
  void beforeRead(int offset, unsigned bytes);
  void beforeWrite(int offset, unsigned bytes);
  void afterBarrier(const std::vector<int> &threads);
  unsigned waiting() const { return waitingThreads; } ///< for a barrier in shared memory

private:
  using Clock = std::vector<uint32_t>;
  static constexpr int granule =
      8; ///< bytes that share one record: what exchanges and barriers are aligned to
  static constexpr unsigned maxBarriers = 64;

  struct Copy {
    const TensorMap *map;
    std::array<int, 5> coordinates;
    int to;
    int64_t bytes;
  };
  struct Barrier {
    unsigned index = 0; ///< component number, less the warps
    unsigned maker = 0; ///< the warp that initialised it, and when
    uint32_t madeAt = 0;
    int arrivals = 0, pending = 0;
    int64_t missingBytes = 0;
    uint32_t phase = 0;
    Clock gathered, released;
    std::deque<Copy> copies;
  };
  struct Granule {
    uint16_t copies = 0, products = 0; ///< in flight, that write and read it
    int16_t barrier = -1;              ///< whose phase brought what is there; -1: not a copy
    uint32_t phase = 0;
  };
  struct Started {
    Product product;
    bool takesRegisters = false;
    std::vector<std::array<uint32_t, 4>> a; ///< by lane
  };
  struct Accumulator {
    int columns = 0;
    unsigned inFlight = 0;
    std::vector<std::array<uint32_t, 128>> registers, atWait; ///< by lane
  };
  struct Warp {
    std::vector<Started> log; ///< products and commits since the CTA began
    size_t done = 0;          ///< of them
    int registers = 0;        ///< a thread; 0: as many as it started with
    std::array<size_t, 32> position{};
    std::array<bool, 32> isFenced{};
    std::map<unsigned, Accumulator> accumulators;
  };

  int warp() const;
  Barrier &barrierAt(int offset);
  void endPhaseIfComplete(Barrier &barrier);
  void land(Barrier &barrier);
  static void join(Clock &into, const Clock &from);
  void release(Clock &into);
  void requireKnown(int granuleIndex, const char *what);
  void requireReadersDone(int granuleIndex, const char *what);
  void requireReadable(int granuleIndex);
  template <typename Visit> void forOperand(const Product &product, bool isLhs, Visit visit);
  int operandAddress(const Product &product, bool isLhs, int across, int k) const;
  void append(Warp &mine, const Product &product);
  void finishProducts(unsigned pending);
  void compute(const Started &started, Accumulator &accumulator);
  double element(DType type, int address) const;
  [[noreturn]] void fail(std::string what);

  EmulatedCta &cta;
  std::vector<const std::byte *> sources; ///< by tensor map
  const std::vector<TensorMap> &maps;
  LaunchShape launch;
  unsigned warpCount;
  bool isUsed = false; ///< a barrier was initialised or a product started in some CTA
  std::vector<Clock> clocks;
  std::map<int, Barrier> barriers; ///< by offset
  std::vector<Granule> granules;
  std::vector<uint32_t> readTimes; ///< by granule, then warp
  std::vector<Warp> warps;
  unsigned waitingThreads = 0;
  bool initIsFenced = true;
};

} // namespace tilewright
