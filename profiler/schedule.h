// The order of measurements: the next kernel is a function of the existing rows.
//
// The order is random but seeded. An incumbent (the first kernel that was measured successfully) is
// measured again after every block of kernels; if its time has moved by more than a tolerance, the
// clocks have drifted, and the block is measured once more at the end. An interrupted run replays
// its rows and resumes where it stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace tilewright::profile {

struct ScheduleOptions {
  uint64_t seed = 1;
  unsigned blockSize = 16;      ///< kernels between two measurements of the incumbent
  double driftTolerance = 0.03; ///< as a fraction of the incumbent's time
  unsigned regimes = 2;         ///< rows that a kernel gets
};

struct Step {
  enum class Kind { Measure, Incumbent, Done };
  Kind kind = Kind::Done;
  size_t kernel = 0;
  unsigned attempt = 1, block = 0;
};

class Schedule {
public:
  Schedule(size_t kernels, const ScheduleOptions &options);

  Step next() const;

  /// True if that row is still to be measured.
  bool isOpen(size_t kernel, unsigned attempt, unsigned regime) const;

  /// A row was written. `timeNs` is nothing for one with an error.
  void noteMeasured(size_t kernel, unsigned attempt, unsigned regime, std::optional<double> timeNs);
  void noteIncumbent(std::optional<double> timeNs);

  size_t kernelsLeft() const { return queue.size() - head; }
  unsigned driftedBlocks() const { return drifted; }

private:
  bool isComplete(size_t kernel, unsigned attempt) const;

  struct Entry {
    size_t kernel;
    unsigned attempt;
  };
  ScheduleOptions options;
  std::vector<Entry> queue;
  size_t head = 0; ///< first entry that is not complete
  std::set<std::tuple<size_t, unsigned, unsigned>> written;
  std::vector<bool> hasFailed; ///< by kernel: some row of it has an error
  std::vector<Entry> block;    ///< completed since the last measurement of the incumbent
  size_t kernels;
  std::optional<size_t> incumbent;
  std::optional<double> incumbentTime;
  unsigned blocks = 0, drifted = 0;
};

} // namespace tilewright::profile
