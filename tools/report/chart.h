// Pieces that the charts share: logarithmic axes and labels that keep out of each other's way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

/// A logarithmic axis from `low` to `high` (both positive, low < high) over pixels `from` to `to`.
class LogAxis {
public:
  LogAxis(double low, double high, double from, double to);

  /// The axis that holds all `values` (positive ones; others are ignored) with `margin` decades on
  /// both sides and at least `minDecades` in all.
  static LogAxis covering(const std::vector<double> &values, double margin, double minDecades,
                          double from, double to);

  /// The pixel of `value`; values beyond the ends, zero and less stand on the nearer end.
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

/// Hands out places for labels inside a frame so that none covers another one or an obstacle.
class LabelPlacer {
public:
  explicit LabelPlacer(Box frame) : frame(frame) {}

  void addObstacle(Box box) { taken.push_back(box); }
  /// Takes `box` when it is free and inside the frame.
  bool take(Box box);

private:
  Box frame;
  std::vector<Box> taken;
};

/// A guess at the width in pixels of `text` (UTF-8) in the charts' 12-pixel type, on the wide side.
double textWidth(std::string_view text);

} // namespace tilewright::report
