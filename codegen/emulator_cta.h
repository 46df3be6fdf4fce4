// EmulatedCta: the state of the CTA that is being emulated, and its rules.
#pragma once

#include "codegen/emulator.h"
#include "codegen/emulator_async.h"
#include "codegen/emulator_banks.h"
#include "codegen/emulator_workspace.h"
#include "codegen/fiber.h"

#include <array>
#include <deque>
#include <optional>
#include <vector>

namespace tilewright {

constexpr unsigned warpSize = 32;

class EmulatedCta {
public:
  using Entry = void (*)(void *shared, void *const *arguments);

  /// `info` and `options` must outlive it.
  EmulatedCta(std::span<const EmulatorBuffer> buffers, const KernelInfo &info, Entry entry,
              const EmulationOptions &options);

  /// Runs one CTA to its end. Errors: Internal, BudgetSpent.
  llvm::Error run(int64_t cta);

  const EmulationCounts &counts() const { return total; }
  uint64_t remainingEvents() const { return eventsLeft; }

  /// The CTA that the current host thread is running.
  static EmulatedCta *active();

  // Called by kernel code on the running fiber. A violated rule ends the run: the fiber does not
  // return from the call.
  int threadId() const { return static_cast<int>(fibers.running()); }
  int ctaId() const { return static_cast<int>(currentCta); }
  void globalRead(const std::byte *address, unsigned bytes, unsigned align);
  void globalWrite(const std::byte *address, unsigned bytes, unsigned align);
  uint32_t atomicAdd(std::byte *address, uint32_t value);
  void fenceGlobal();
  void sharedRead(int offset, unsigned bytes, unsigned align);
  void sharedWrite(int offset, unsigned bytes, unsigned align);
  void copyAsync(int offset, const std::byte *from, int bytes, int validBytes);
  /// `update` is a KernelBuilder::Update; `bits` what memory holds of a value of the type.
  void atomicUpdate(std::byte *address, int update, DType type, uint64_t bits);
  void copyAsyncCommit();
  void copyAsyncWait(unsigned pending);
  void barrier() { barrier(0, static_cast<int>(launch.threads)); }
  void barrier(int id, int count);
  AsyncUnits &async() { return asyncUnits; }
  void step(int number) { steps[static_cast<size_t>(threadId())] = number; }
  void value(int64_t number, int64_t element, uint64_t bits);

  /// A rendezvous of one warp. Each lane leaves its words in `mine`; the last to arrive calls
  /// `complete` with the words of all lanes, which makes every lane's result in place.
  using LaneWords = std::array<uint32_t, 16>;
  using Complete = void (*)(EmulatedCta &, std::span<LaneWords, warpSize>, int kind);
  LaneWords warpMeeting(int kind, const LaneWords &mine, Complete complete);

  std::byte *sharedMemory() { return shared; }
  EmulationCounts total;

private:
  friend class AsyncUnits;
  struct AsyncCopy {
    int offset;
    const std::byte *from;
    int bytes, validBytes; ///< zeros beyond the valid ones
  };
  struct ThreadCopies {
    std::vector<AsyncCopy> open;
    std::deque<std::vector<AsyncCopy>> groups;
  };
  struct Meeting {
    unsigned arrived = 0;
    int kind = 0, firstLane = 0;
    uint64_t generation = 0;
    std::array<LaneWords, warpSize> words;
    std::array<LaneWords, warpSize> results;
  };
  /// The last accesses to a byte of shared memory. An epoch is the number of the last barrier that
  /// the thread passed; numbers never restart, so nothing is cleared between CTAs.
  struct Shadow {
    uint32_t writeEpoch = 0, readEpoch = 0;
    int16_t writer = -1, reader = -1; ///< severalReaders: more than one thread
    uint16_t copiesInFlight = 0;
    uint32_t proxyFences = 0; ///< proxy fences that the writer had made before
  };
  static constexpr int16_t severalReaders = -2, tensorCopy = -3;
  /// A barrier of some of the threads.
  struct NamedBarrier {
    int expected = 0;
    uint64_t generation = 0;
    std::vector<int> arrived;
  };
  struct ThreadState {
    uint32_t epoch = 0; ///< number of the last barrier it passed
    int barrier = 0;    ///< and that barrier's id
    uint32_t proxyFences = 0;
  };

  [[noreturn]] void fail(std::string what);
  std::string stepText(int step) const; ///< "step 14 (barrier)"
  void countEvent();
  const EmulatorBuffer *bufferOf(const std::byte *address, unsigned bytes) const;
  void checkAligned(uint64_t address, unsigned align, const char *what);
  void checkShared(int offset, unsigned bytes, unsigned align, const char *what);
  void markWritten(int offset, unsigned bytes);
  /// True if `self` and `other` have passed a common barrier since other's epoch was `stamp`.
  bool isOrdered(int self, int other, uint32_t stamp) const;
  // For AsyncUnits.
  void markCopied(int offset, unsigned bytes);
  void requireOrdinaryDone(int byte, const char *what);
  void requireFencedWrite(int byte);
  void fenceOwnWrites() { ++states[static_cast<size_t>(threadId())].proxyFences; }
  void checkNoReader(int offset, unsigned bytes);
  void runFiber();

  std::vector<EmulatorBuffer> buffers;
  std::vector<void *> arguments;
  LaunchShape launch;
  Entry entry;
  const EmulationOptions &options;
  const std::vector<std::string> &stepNames; ///< empty unless the kernel is traced
  uint64_t eventsLeft;
  std::optional<BankCounter> banks;

  WorkspaceOrder workspaces;
  FiberSet fibers;
  int64_t currentCta = 0;
  std::vector<std::byte> sharedStorage;
  std::byte *shared = nullptr;
  std::vector<Shadow> shadow;
  std::vector<ThreadCopies> copies;
  std::vector<Meeting> warps;
  std::array<NamedBarrier, 16> barriers;
  std::vector<ThreadState> states;
  std::vector<int> steps; ///< by thread, -1 before the first
  AsyncUnits asyncUnits;
  uint32_t epoch = 0, ctaFirstEpoch = 0, lastFullBarrier = 0;
  uint64_t progress = 0; ///< counts arrivals and completions, to detect a deadlock
  bool failed = false, outOfBudget = false;
  std::string problem;
};

} // namespace tilewright
