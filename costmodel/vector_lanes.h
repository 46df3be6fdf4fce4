// Lanes: a vector of eight doubles, one a plan, in registers of the instruction set that the file
// is compiled for. A number type of the time formula (formula.h) beside double and Dual. In memory
// it is a LaneArray.
//
// Every operation gives the bits that it gives on a double. The namespace is that of Highway's
// target: code for one set of instructions is never linked in place of code for another.
#pragma once

#include "costmodel/elementary.h"
#include "costmodel/lanes.h"

#define HWY_DISABLE_PCLMUL_AES // not needed, so that x86-64-v3 is enough for AVX2
#include <hwy/highway.h>

namespace tilewright::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, laneCount>;
using Integers = hn::RebindToSigned<Doubles>;
/// Registers that eight doubles take.
constexpr int parts = laneCount / int(hn::MaxLanes(Doubles()));

/// One truth value a lane.
struct LaneMask {
  hn::Mask<Doubles> part[parts];
};

/// Eight 64-bit integers.
struct LaneBits {
  hn::Vec<Integers> part[parts];

  template <class F> static LaneBits of(const F &f) {
    LaneBits r;
    for (int i = 0; i < parts; ++i)
      r.part[i] = f(i);
    return r;
  }
  static LaneBits all(int64_t x) {
    return of([&](int) { return hn::Set(Integers(), x); });
  }
  friend LaneBits operator+(const LaneBits &a, const LaneBits &b) {
    return of([&](int i) { return hn::Add(a.part[i], b.part[i]); });
  }
  friend LaneBits operator-(const LaneBits &a, const LaneBits &b) {
    return of([&](int i) { return hn::Sub(a.part[i], b.part[i]); });
  }
  friend LaneBits operator&(const LaneBits &a, const LaneBits &b) {
    return of([&](int i) { return hn::And(a.part[i], b.part[i]); });
  }
  friend LaneBits operator|(const LaneBits &a, const LaneBits &b) {
    return of([&](int i) { return hn::Or(a.part[i], b.part[i]); });
  }
  friend LaneBits operator+(const LaneBits &a, int64_t b) { return a + all(b); }
  friend LaneBits operator-(const LaneBits &a, int64_t b) { return a - all(b); }
  friend LaneBits operator&(const LaneBits &a, int64_t b) { return a & all(b); }
};

struct alignas(8 * laneCount) Lanes {
  static constexpr bool manyPlans = true;

  hn::Vec<Doubles> part[parts];

  Lanes() : Lanes(0.0) {}
  Lanes(double all) {
    for (auto &p : part)
      p = hn::Set(Doubles(), all);
  }
  template <class F> static Lanes of(const F &f) {
    Lanes r;
    for (int i = 0; i < parts; ++i)
      r.part[i] = f(i);
    return r;
  }
  static Lanes load(const LaneArray &from) {
    return of([&](int i) { return hn::Load(Doubles(), from.lane + i * (laneCount / parts)); });
  }
  void store(LaneArray &to) const {
    for (int i = 0; i < parts; ++i)
      hn::Store(part[i], Doubles(), to.lane + i * (laneCount / parts));
  }

  Lanes &operator+=(const Lanes &o) { return *this = *this + o; }
  friend Lanes operator+(const Lanes &a, const Lanes &b) {
    return of([&](int i) { return hn::Add(a.part[i], b.part[i]); });
  }
  friend Lanes operator-(const Lanes &a, const Lanes &b) {
    return of([&](int i) { return hn::Sub(a.part[i], b.part[i]); });
  }
  friend Lanes operator*(const Lanes &a, const Lanes &b) {
    return of([&](int i) { return hn::Mul(a.part[i], b.part[i]); });
  }
  friend Lanes operator/(const Lanes &a, const Lanes &b) {
    return of([&](int i) { return hn::Div(a.part[i], b.part[i]); });
  }
  friend LaneMask operator<(const Lanes &a, const Lanes &b) {
    return compared([&](int i) { return hn::Lt(a.part[i], b.part[i]); });
  }
  friend LaneMask operator<=(const Lanes &a, const Lanes &b) {
    return compared([&](int i) { return hn::Le(a.part[i], b.part[i]); });
  }
  friend LaneMask operator==(const Lanes &a, const Lanes &b) {
    return compared([&](int i) { return hn::Eq(a.part[i], b.part[i]); });
  }
  friend LaneMask operator>(const Lanes &a, const Lanes &b) { return b < a; }
  friend LaneMask operator>=(const Lanes &a, const Lanes &b) { return b <= a; }

private:
  template <class F> static LaneMask compared(const F &f) {
    LaneMask r;
    for (int i = 0; i < parts; ++i)
      r.part[i] = f(i);
    return r;
  }
};
static_assert(sizeof(Lanes) == sizeof(LaneArray) && alignof(Lanes) == alignof(LaneArray));

inline const Lanes &valueOf(const Lanes &x) { return x; }

inline Lanes select(const LaneMask &mask, const Lanes &yes, const Lanes &no) {
  return Lanes::of([&](int i) { return hn::IfThenElse(mask.part[i], yes.part[i], no.part[i]); });
}
/// The first of equals: the processors' maximum and minimum give their second operand.
inline Lanes largerOf(const Lanes &a, const Lanes &b) {
  if constexpr (HWY_ARCH_X86)
    return Lanes::of([&](int i) { return hn::Max(b.part[i], a.part[i]); });
  return select(a < b, b, a);
}
inline Lanes smallerOf(const Lanes &a, const Lanes &b) {
  if constexpr (HWY_ARCH_X86)
    return Lanes::of([&](int i) { return hn::Min(b.part[i], a.part[i]); });
  return select(b < a, b, a);
}
/// A comparison as numbers with all bits set where it holds.
inline Lanes maskOf(const LaneMask &mask) {
  return Lanes::of([&](int i) { return hn::VecFromMask(Doubles(), mask.part[i]); });
}
/// True if it holds in any lane.
inline bool anyOf(const LaneMask &mask) {
  bool any = false;
  for (const auto &part : mask.part)
    any |= !hn::AllFalse(Doubles(), part);
  return any;
}

inline Lanes floorOf(const Lanes &x) {
  return Lanes::of([&](int i) { return hn::Floor(x.part[i]); });
}
inline Lanes ceilOf(const Lanes &x) {
  return Lanes::of([&](int i) { return hn::Ceil(x.part[i]); });
}
inline Lanes rootOf(const Lanes &x) {
  return Lanes::of([&](int i) { return hn::Sqrt(x.part[i]); });
}

inline LaneBits bitsOf(const Lanes &x) {
  return LaneBits::of([&](int i) { return hn::BitCast(Integers(), x.part[i]); });
}
inline Lanes fromBits(const LaneBits &bits) {
  return Lanes::of([&](int i) { return hn::BitCast(Doubles(), bits.part[i]); });
}
template <int n> LaneBits shiftedLeft(const LaneBits &x) {
  return LaneBits::of([&](int i) { return hn::ShiftLeft<n>(x.part[i]); });
}
/// Of numbers that are not negative.
template <int n> LaneBits shiftedRight(const LaneBits &x) {
  const hn::RebindToUnsigned<Doubles> unsigned64;
  return LaneBits::of([&](int i) {
    return hn::BitCast(Integers(), hn::ShiftRight<n>(hn::BitCast(unsigned64, x.part[i])));
  });
}
inline Lanes powerOfTwoBelow(const Lanes &x) {
  return fromBits(bitsOf(x) & ~elementary::mantissaBits);
}

} // namespace tilewright::HWY_NAMESPACE
