// A simulated GPU, shared by the stand-in driver, CUPTI and NVML.
//
// "Device" memory is host memory. A launch looks its kernel up in the packs that
// $TILEWRIGHT_FAKE_PACK names (with colons between them; kernels have names of their own), reads
// every input and writes what the pack expects of each output (zeros elsewhere). Time is a counter
// that only launches, copies and fills move, so that every run of a test sees the same numbers.
//
// $TILEWRIGHT_FAKE_FAULTS is a list of faults, separated by blanks:
//   POINT:N=ACTION   at the N-th call of POINT (counted from 1 in each process); N may be `*`
//   POINT            init, device-count, alloc, copy-in, copy-out, fill, load, function, launch,
//                    query, activity, counters, nvml, any (every one of them); or a function by
//                    its symbol, as cuMemAlloc_v2 or cuptiActivityFlushAll (with a status only)
//   ACTION           a CUDA or CUPTI status as a number; `kill` ends the process and its parent,
//                    `crash` the process alone, `hang` never ends, `wrong` spoils what a launch
//                    writes, `partial` leaves the second half of the outputs unwritten, `slow`
//                    makes this and all later kernels a fifth slower, `short` makes the kernel take
//                    1 ns, `lost` loses the activity record, `back` sets the clock back
// Where $TILEWRIGHT_FAKE_ONCE names a file, the first fault creates it and no later process has
// any. $TILEWRIGHT_FAKE_GPU changes the device: "sm=80" the architecture, "devices=0" how many
// there are, "memory=N" its bytes, "unknown=NAME" a counter that the chip does not have.
#pragma once

#include "profiler/pack_reader.h"

#include <map>
#include <mutex>

namespace tilewright::profile::fake {

struct KernelInterval {
  uint64_t startNs = 0, endNs = 0;
  unsigned grid[3] = {}, block[3] = {};
};

class FakeGpu {
public:
  static FakeGpu &instance();

  /// Counts a call of a point and carries out its faults; a status to return, or 0.
  int at(const char *point);
  /// The same for a call of a library's function, which is a point of its own name.
  int call(const char *symbol);

  std::string setting(const std::string &name, const std::string &otherwise) const;

  int allocate(unsigned long long *pointer, size_t bytes);
  int release(unsigned long long pointer);
  bool isAllocated(unsigned long long pointer, size_t bytes) const;
  size_t usedBytes() const { return used; }
  size_t totalBytes() const;

  const PackKernel *findKernel(const std::string &entry) const;
  static constexpr unsigned launchGapNs = 700, graphGapNs = 300; ///< between kernels
  int launch(const PackKernel &kernel, const unsigned grid[3], const unsigned block[3],
             void **arguments, unsigned gapNs = launchGapNs);
  /// An operation that is no kernel takes this long.
  void pass(double ns);
  uint64_t nowNs() const { return clock; }

  bool isRecording = false;            ///< CUPTI's activity
  std::vector<KernelInterval> records; ///< of kernels since recording began
  size_t kernelsLaunched = 0;
  double lastKernelNs = 0;
  bool isHanging = false;

private:
  FakeGpu();
  void markOnce() const;
  struct Fault {
    std::string point;
    size_t number = 0; ///< 0: every call
    std::string action;
  };
  void compute(const PackKernel &kernel, void **arguments, const std::string &spoiled);
  double durationNs(const PackKernel &kernel) const;

  std::vector<Pack> packs;
  std::vector<Fault> faults;
  std::map<std::string, size_t> calls;
  std::map<unsigned long long, size_t> memory;
  size_t used = 0;
  uint64_t clock = 1'000'000;
  bool isCold = false, isSlow = false, isShort = false, losesRecord = false, goesBack = false;
  std::string spoil; ///< "wrong", "partial"
};

} // namespace tilewright::profile::fake
