// A map solved for its variables: the element that reads a given one.
//
//   window   d0 * 2 + s0 = e0            solution  s0 = e0 - d0 * 2, with d0 open
//   spread   (d0, d1) -> (d0) = e0       solution  d0 = e0, with d1 open
//
// The conditions on the solution split into parts without common open variables; each part is
// proved separately. Open variables have a short list of choices, which is complete where it holds
// all values or where the variable occurs nowhere else.
#pragma once

#include "analysis/affine/index_map.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::prove {

class Witness {
public:
  /// `map` is not known to be empty and has one result for each extent.
  Witness(const IndexMap &map, std::span<const int64_t> toExtents);

  struct Choice {
    enum Kind : uint8_t {
      Number,
      FirstTile, ///< a valid element of dim `index` of the first tile
      Step,      ///< the first value of range `index` in the step at hand
    } kind;
    int64_t value = 0;
    size_t index = 0;
  };
  struct Open {
    Expr variable;
    Interval domain;
    std::vector<Choice> choices;
  };
  /// Conditions with open variables in common (or one condition with none).
  struct Part {
    std::vector<size_t> dims, ranges;         ///< whose values must lie where they should
    std::vector<size_t> constraints, results; ///< of the map, that must hold and give the element
    std::vector<size_t> elements;             ///< coordinates of the element that these speak of
    std::vector<Open> open;
    bool isComplete = true;
    std::string text;
  };
  const std::vector<Part> &parts() const { return found; }

  /// From the element (dims) and the open variables (ranges) to the map's dims and ranges.
  const IndexMap &solution() const { return *solved; }
  size_t dimCount() const { return dims.size(); }
  size_t rangeCount() const { return ranges.size(); }
  Expr dim(size_t i) const { return dims[i].var; }
  Expr range(size_t i) const { return ranges[i].var; }
  Interval dimDomain(size_t i) const { return dims[i].domain; }
  Interval rangeDomain(size_t i) const { return ranges[i].domain; }
  Expr dimValue(size_t i) const { return solved->results()[i]; }
  Expr rangeValue(size_t i) const { return solved->results()[dims.size() + i]; }

private:
  void findParts(const IndexMap &map);
  Open openVariable(const MapVariable &variable, bool isAlone, bool &isComplete) const;

  std::vector<MapVariable> dims, ranges;
  std::optional<IndexMap> solved;
  std::vector<Part> found;
};

} // namespace tilewright::prove
