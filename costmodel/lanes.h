// LaneArray: eight doubles in memory, one a plan. The vectors that compute on them are Lanes
// (vector_lanes.h), compiled for each set of vector instructions.
#pragma once

namespace tilewright {

constexpr int laneCount = 8;

struct alignas(8 * laneCount) LaneArray {
  double lane[laneCount];

  LaneArray(double all = 0) {
    for (double &x : lane)
      x = all;
  }
  double operator[](int i) const { return lane[i]; }
};

} // namespace tilewright
