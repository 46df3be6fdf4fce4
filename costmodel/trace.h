// Traced: a number that records how it was computed, so that the arithmetic done for one plan can
// be replayed for many.
//
// The derivation of features (features.h) is written over a number type. Run on Traced numbers, it
// fills a Trace with the arithmetic, as a graph of operations on the plan's values, and with every
// comparison that decided a branch, as a *guard*: the comparison and its outcome. Plans with the
// same guard outcomes take the same path, so the recorded arithmetic holds for them, too;
// feature_program.h replays it on many plans at a time.
//
// Arithmetic is recorded operation by operation and never reordered: a replay gives the same bits
// as the derivation for a single plan.
//
// At most one trace is active in a thread, in `Trace::current`.
#pragma once

#include "analysis/affine/intern.h"
#include "costmodel/elementary.h"
#include "costmodel/trace_op.h"

#include <cstdint>
#include <vector>

namespace tilewright {

struct TraceNode {
  TraceOp op = TraceOp::Constant;
  uint32_t a = 0, b = 0; ///< earlier nodes
  double value = 0;      ///< of a constant

  bool operator==(const TraceNode &o) const {
    return op == o.op && a == o.a && b == o.b &&
           std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(o.value);
  }
};

/// A comparison of two nodes that decided a branch.
struct TraceGuard {
  uint32_t node = 0; ///< a Less, LessEqual or Equal
  bool holds = false;
};

/// The operations of any number of runs; equal operations share a node. Operands precede users.
class Trace {
public:
  static constexpr uint32_t none = UINT32_MAX;
  static thread_local Trace *current;

  uint32_t add(TraceOp op, uint32_t a, uint32_t b, double value = 0);
  const std::vector<TraceNode> &nodes() const { return all; }

  /// Forgets the guards: another run begins.
  void startRun();
  /// Guards of this run in order of first occurrence, each comparison once.
  const std::vector<TraceGuard> &guards() const { return met; }
  bool guard(uint32_t node, bool holds);

private:
  std::vector<TraceNode> all;
  detail::InternTable<uint32_t> known;
  std::vector<TraceGuard> met;
  std::vector<uint32_t> lastMet; ///< one a node: the run in which it became a guard
  uint32_t run = 0;
};

/// A constant gets a node when it is first combined with another number.
class Traced {
public:
  Traced(double value = 0) : number(value) {}
  static Traced input(uint32_t index, double value) {
    return {Trace::current->add(TraceOp::Input, index, 0), value};
  }

  double value() const { return number; }
  bool isConstant() const { return id == Trace::none; }
  /// Its node; created on demand for a constant.
  uint32_t node() const {
    return isConstant() ? Trace::current->add(TraceOp::Constant, 0, 0, number) : id;
  }

  static Traced make(TraceOp op, const Traced &a, const Traced &b, double value) {
    if (a.isConstant() && b.isConstant())
      return value;
    // x + 0, x - 0, x · 1 and x / 1 are x.
    const bool sum = op == TraceOp::Add || op == TraceOp::Subtract;
    const bool product = op == TraceOp::Multiply || op == TraceOp::Divide;
    if (b.isConstant() && ((sum && b.number == 0) || (product && b.number == 1)))
      return a;
    if (a.isConstant() &&
        ((op == TraceOp::Add && a.number == 0) || (op == TraceOp::Multiply && a.number == 1)))
      return b;
    return {Trace::current->add(op, a.node(), b.node()), value};
  }
  static bool decide(TraceOp op, const Traced &a, const Traced &b, bool holds) {
    if (a.isConstant() && b.isConstant())
      return holds;
    return Trace::current->guard(Trace::current->add(op, a.node(), b.node()), holds);
  }

  friend Traced operator+(const Traced &a, const Traced &b) {
    return make(TraceOp::Add, a, b, a.number + b.number);
  }
  friend Traced operator-(const Traced &a, const Traced &b) {
    return make(TraceOp::Subtract, a, b, a.number - b.number);
  }
  friend Traced operator*(const Traced &a, const Traced &b) {
    return make(TraceOp::Multiply, a, b, a.number * b.number);
  }
  friend Traced operator/(const Traced &a, const Traced &b) {
    return make(TraceOp::Divide, a, b, a.number / b.number);
  }
  Traced &operator+=(const Traced &o) { return *this = *this + o; }
  Traced &operator*=(const Traced &o) { return *this = *this * o; }

  friend bool operator<(const Traced &a, const Traced &b) {
    return decide(TraceOp::Less, a, b, a.number < b.number);
  }
  friend bool operator<=(const Traced &a, const Traced &b) {
    return decide(TraceOp::LessEqual, a, b, a.number <= b.number);
  }
  friend bool operator>(const Traced &a, const Traced &b) { return b < a; }
  friend bool operator>=(const Traced &a, const Traced &b) { return b <= a; }
  friend bool operator==(const Traced &a, const Traced &b) {
    return decide(TraceOp::Equal, a, b, a.number == b.number);
  }

private:
  Traced(uint32_t node, double value) : id(node), number(value) {}

  uint32_t id = Trace::none;
  double number;
};

// Operations of a number type beyond arithmetic and comparisons. Lanes replay them.
inline Traced larger(const Traced &a, const Traced &b) {
  return Traced::make(TraceOp::Larger, a, b, larger(a.value(), b.value()));
}
inline Traced smaller(const Traced &a, const Traced &b) {
  return Traced::make(TraceOp::Smaller, a, b, smaller(a.value(), b.value()));
}
inline Traced floorOf(const Traced &x) {
  return Traced::make(TraceOp::Floor, x, x, floorOf(x.value()));
}
inline Traced ceilOf(const Traced &x) {
  return Traced::make(TraceOp::Ceil, x, x, ceilOf(x.value()));
}

inline double rootOf(double x) { return std::sqrt(x); }
inline Traced rootOf(const Traced &x) {
  return Traced::make(TraceOp::Root, x, x, rootOf(x.value()));
}

/// The largest power of two that is at most x >= 1.
inline double powerOfTwoBelow(double x) {
  return std::bit_cast<double>(std::bit_cast<int64_t>(x) & ~elementary::mantissaBits);
}
inline Traced powerOfTwoBelow(const Traced &x) {
  return Traced::make(TraceOp::PowerBelow, x, x, powerOfTwoBelow(x.value()));
}

} // namespace tilewright
