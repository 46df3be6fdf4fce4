#include "tools/report/chart.h"

#include <algorithm>
#include <cmath>

namespace tilewright::report {

LogAxis::LogAxis(double low, double high, double from, double to)
    : logLow(std::log10(low)), logHigh(std::log10(high)), from(from), to(to) {}

LogAxis LogAxis::covering(const std::vector<double> &values, double margin, double minDecades,
                          double from, double to) {
  // Far outside what any device does; keeps absurd inputs from making the axis unreadable.
  constexpr double least = 1e-12, most = 1e24;
  double low = most, high = least;
  for (double value : values) {
    if (!(value > 0) || !std::isfinite(value))
      continue;
    double clamped = std::clamp(value, least, most);
    low = std::min(low, clamped);
    high = std::max(high, clamped);
  }
  if (low > high)
    low = high = 1;
  double logLow = std::log10(low) - margin, logHigh = std::log10(high) + margin;
  double lacking = std::max(0.0, minDecades - (logHigh - logLow));
  return LogAxis(std::pow(10, logLow - lacking / 2), std::pow(10, logHigh + lacking / 2), from, to);
}

double LogAxis::at(double value) const {
  if (!(value > 0))
    return from;
  double fraction = (std::log10(value) - logLow) / (logHigh - logLow);
  return from + std::clamp(fraction, 0.0, 1.0) * (to - from);
}

double LogAxis::low() const { return std::pow(10, logLow); }
double LogAxis::high() const { return std::pow(10, logHigh); }

std::vector<double> LogAxis::ticks() const {
  int first = static_cast<int>(std::ceil(logLow - 1e-9));
  int last = static_cast<int>(std::floor(logHigh + 1e-9));
  int step = std::max(1, (last - first + 8) / 8);
  std::vector<double> result;
  for (int exponent = first; exponent <= last; exponent += step)
    result.push_back(std::pow(10, exponent));
  return result;
}

bool LabelPlacer::take(Box box) {
  if (box.left < frame.left || box.right > frame.right || box.top < frame.top ||
      box.bottom > frame.bottom)
    return false;
  for (const Box &other : taken)
    if (box.left < other.right && other.left < box.right && box.top < other.bottom &&
        other.top < box.bottom)
      return false;
  taken.push_back(box);
  return true;
}

double textWidth(std::string_view text) {
  double characters = 0;
  for (char c : text)
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
      ++characters;
  return characters * 7.2;
}

} // namespace tilewright::report
