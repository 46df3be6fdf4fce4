// Operations of a program at many points at once (internal to analysis/solve).
#pragma once

#include "analysis/solve/program.h"

namespace tilewright::detail {

/// One value a point, or one for all of them.
struct Column {
  const int64_t *data;
  bool isNumber;

  int64_t operator[](size_t i) const { return data[isNumber ? 0 : i]; }
};

/// A total operation at `count` points, as compute() does it at one.
void computeColumn(Code code, Column a, Column b, Column c, int64_t *out, size_t count);

/// A column of at most 32 points, some of which may have no value: a bit each.
struct PartialColumn {
  Column column;
  uint32_t known;

  Concrete operator[](size_t i) const { return {column[i], (known >> i & 1) != 0}; }
};

/// Any operation, as computeChecked() does it at one point. Returns the points that have a value.
uint32_t computeColumnChecked(Code code, PartialColumn a, PartialColumn b, PartialColumn c,
                              int64_t *out, size_t count);

} // namespace tilewright::detail
