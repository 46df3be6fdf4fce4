// EmulatedBlock: the state of the thread block that is being emulated, and its rules.
#pragma once

#include "codegen/emulator.h"
#include "codegen/emulator_workspace.h"
#include "codegen/fiber.h"

#include <array>
#include <deque>
#include <vector>

namespace tilewright {

constexpr unsigned warpSize = 32;

class EmulatedBlock {
public:
  using Entry = void (*)(void *shared, void *const *arguments);

  EmulatedBlock(std::span<const EmulatorBuffer> buffers, const LaunchShape &launch, Entry entry,
                const EmulationOptions &options);

  /// Runs one block to its end. Errors: Internal, BudgetSpent.
  llvm::Error run(int64_t block);

  const EmulationCounts &counts() const { return total; }
  uint64_t remainingEvents() const { return eventsLeft; }

  /// The block that the current host thread is running.
  static EmulatedBlock *active();

  // What kernel code calls, on the running fiber. A rule that is broken ends the run: the fiber
  // doesn't come back from the call.
  int threadId() const { return static_cast<int>(fibers.running()); }
  int blockId() const { return static_cast<int>(currentBlock); }
  void globalRead(const std::byte *address, unsigned bytes, unsigned align);
  void globalWrite(const std::byte *address, unsigned bytes, unsigned align);
  uint32_t atomicAdd(std::byte *address, uint32_t value);
  void fenceGlobal();
  void sharedRead(int offset, unsigned bytes, unsigned align);
  void sharedWrite(int offset, unsigned bytes, unsigned align);
  void copyAsync16(int offset, const std::byte *from, int validBytes);
  void copyAsyncCommit();
  void copyAsyncWait(unsigned pending);
  void barrier();

  /// A rendezvous of one warp. Each lane leaves its words in `mine`; the last to arrive calls
  /// `complete` with the words of all lanes, which makes every lane's result in place.
  using LaneWords = std::array<uint32_t, 16>;
  using Complete = void (*)(EmulatedBlock &, std::span<LaneWords, warpSize>, int kind);
  LaneWords warpMeeting(int kind, const LaneWords &mine, Complete complete);

  std::byte *sharedMemory() { return shared; }
  EmulationCounts total;

private:
  struct AsyncCopy {
    int offset;
    const std::byte *from; ///< null: zeros
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
  /// What happened last to a byte of shared memory. Epochs are counted by barriers and never
  /// start again, so that nothing needs clearing between blocks.
  struct Shadow {
    uint32_t writeEpoch = 0, readEpoch = 0;
    int16_t writer = -1, reader = -1; ///< severalReaders: more than one thread
    uint16_t copiesInFlight = 0;
  };
  static constexpr int16_t severalReaders = -2;

  [[noreturn]] void fail(std::string what);
  void countEvent();
  const EmulatorBuffer *bufferOf(const std::byte *address, unsigned bytes) const;
  void checkAligned(uint64_t address, unsigned align, const char *what);
  void checkShared(int offset, unsigned bytes, unsigned align, const char *what);
  void markWritten(int offset, unsigned bytes);
  void checkNoReader(int offset, unsigned bytes);
  void runFiber();

  std::vector<EmulatorBuffer> buffers;
  std::vector<void *> arguments;
  LaunchShape launch;
  Entry entry;
  uint64_t eventsLeft;
  unsigned weakenWaits;

  WorkspaceOrder workspaces;
  FiberSet fibers;
  int64_t currentBlock = 0;
  std::vector<std::byte> sharedStorage;
  std::byte *shared = nullptr;
  std::vector<Shadow> shadow;
  std::vector<ThreadCopies> copies;
  std::vector<Meeting> warps;
  unsigned barrierArrived = 0;
  uint64_t barrierGeneration = 0;
  uint32_t epoch = 0, blockFirstEpoch = 0;
  uint64_t progress = 0; ///< counts arrivals and completions, to notice that nothing moves
  bool failed = false, outOfBudget = false;
  std::string problem;
};

} // namespace tilewright
