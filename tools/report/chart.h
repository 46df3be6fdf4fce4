// Shared by the charts: logarithmic axes, and label placement without overlaps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

/// A logarithmic axis from `low` to `high` (both positive, low < high) over pixels `from` to `to`.
class LogAxis {
public:
  LogAxis(double low, double high, double from, double to);

  /// The axis that covers all positive `values` with `margin` decades on both sides and at least
  /// `minDecades` in all.
  static LogAxis covering(const std::vector<double> &values, double margin, double minDecades,
                          double from, double to);

  /// The pixel of `value`, clamped to the axis; zero and less go to the low end.
  double at(double value) const;
  double low() const;
  double high() const;
  /// Powers of ten inside the axis, thinned out to about eight.
  std::vector<double> ticks() const;

private:
  double logLow, logHigh, from, to;
};

struct Box {
  double left, top, right, bottom;
};

/// Places labels inside a frame without overlapping each other or obstacles.
class LabelPlacer {
public:
  explicit LabelPlacer(Box frame) : frame(frame) {}

  void addObstacle(Box box) { taken.push_back(box); }
  /// Reserves `box` if it is free and inside the frame.
  bool take(Box box);

private:
  Box frame;
  std::vector<Box> taken;
};

/// An upper estimate of the width in pixels of `text` (UTF-8) in the charts' 12-pixel type.
double textWidth(std::string_view text);

} // namespace tilewright::report
