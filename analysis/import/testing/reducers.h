// Reducers as texts of HLO, for tests.
#pragma once

namespace tilewright {

/// `add`, `maximum` and `minimum` of f32.
inline constexpr const char *simpleReducers = R"(add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
maximum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
minimum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] minimum(a, b)
}
)";

/// The larger of two f32 values with its place, an s32, of equal ones that of the lower place:
/// `best`.
inline constexpr const char *largerWithPlace = R"(best {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  larger = pred[] compare(a, b), direction=GT
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, before)
  first = pred[] or(larger, tie)
  v = f32[] select(first, a, b)
  k = s32[] select(first, i, j)
  ROOT t = (f32[], s32[]) tuple(v, k)
}
)";

} // namespace tilewright
