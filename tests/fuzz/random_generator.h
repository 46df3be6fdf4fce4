// The generator behind random_program.h: a value, and ways to make another one of it.
#pragma once

#include "tests/fuzz/random_program.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <vector>

namespace tilewright::fuzz {

using Dims = std::vector<int64_t>;

/// splitmix64: the standard's distributions differ between libraries.
class Dice {
public:
  explicit Dice(uint64_t seed) : state(seed) {}
  uint64_t below(uint64_t limit) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % limit;
  }
  bool oneIn(uint64_t n) { return below(n) == 0; }
  template <typename T> T of(const std::vector<T> &choices) {
    return choices[below(choices.size())];
  }

private:
  uint64_t state;
};

struct Value {
  std::string name, type;
  Dims dims;
  bool isExact = true; ///< no rounding so far, or one that every correct program makes alike

  bool isFloat() const { return type == "f32" || type == "bf16" || type == "f16" || type == "f64"; }
  std::string shape() const { return fmt::format("{}[{}]", type, fmt::join(dims, ",")); }
  int64_t count() const {
    return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
  }
};

class Generator {
public:
  Generator(ProgramKind kind, uint64_t seed)
      : kind(kind), dice(seed * 4 + static_cast<uint64_t>(kind)) {}

  std::string text();

private:
  static constexpr int64_t maxElements = 6000;

  Value emit(Value value, const std::string &expression) {
    value.name = fmt::format("v{}", next++);
    body += fmt::format("  {} = {} {}\n", value.name, value.shape(), expression);
    return value;
  }
  Value parameter(const std::string &type, Dims dims) {
    return emit({"", type, std::move(dims)}, fmt::format("parameter({})", parameters++));
  }
  Value constant(const std::string &type, const std::string &number) {
    return emit({"", type, {}}, fmt::format("constant({})", number));
  }
  Value unary(const Value &a, const std::string &opcode, bool isExact) {
    Value result = a;
    result.isExact = a.isExact && isExact;
    return emit(result, fmt::format("{}({})", opcode, a.name));
  }
  Value binary(const Value &a, const Value &b, const std::string &opcode, bool isExact) {
    Value result = a;
    result.isExact = a.isExact && b.isExact && isExact;
    return emit(result, fmt::format("{}({}, {})", opcode, a.name, b.name));
  }
  Value convert(const Value &a, const std::string &type) {
    if (a.type == type)
      return a;
    Value result = a;
    result.type = type;
    return emit(result, fmt::format("convert({})", a.name));
  }
  /// Spreads `a` over `dims`; its dims go where `places` says.
  Value broadcast(const Value &a, const Dims &dims, const Dims &places) {
    Value result{"", a.type, dims, a.isExact};
    return emit(result,
                fmt::format("broadcast({}), dimensions={{{}}}", a.name, fmt::join(places, ",")));
  }
  Value reduce(const Value &a, const Dims &over, const std::string &opcode);

  Dims randomDims(size_t rank, int64_t most);
  std::string randomType() {
    return dice.of<std::string>({"f32", "f32", "bf16", "bf16", "f16", "f64", "s32", "s8", "u8"});
  }
  Value like(const Value &a);
  Value pointwise(const Value &a);
  Value floatPointwise(const Value &a);
  Value moved(const Value &a);
  Value reshaped(const Value &a);
  Value some(Value a, size_t most);

  Value elementwise() {
    return some(parameter(randomType(), randomDims(1 + dice.below(4), 3000)), 6);
  }
  Value reduction();
  Value softmax();
  Value dot();
  Value attention();
  Value window();
  Value convolution();
  Value indexed();

  ProgramKind kind;
  Dice dice;
  std::string body, subcomputations;
  unsigned next = 0, parameters = 0, reducers = 0;
};

} // namespace tilewright::fuzz
