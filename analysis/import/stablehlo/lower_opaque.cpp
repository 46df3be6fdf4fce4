// Ops that the analyses have no map of.
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/support/printable.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright::stablehlo {

namespace {

/// A word that must be one of a few, as HLO writes it.
bool oneOf(Lowering &l, std::string_view attribute,
           std::initializer_list<std::pair<std::string_view, std::string_view>> known,
           std::string &out) {
  std::string_view word;
  if (!l.need(attribute) || !l.word(attribute, word))
    return false;
  std::vector<std::string_view> names;
  for (auto [name, hlo] : known) {
    if (name == word) {
      out = hlo;
      return true;
    }
    names.push_back(name);
  }
  return l.fail(
      fmt::format("{} '{}' is none of {}", attribute, excerpt(word), fmt::join(names, ", ")));
}

std::string_view wordOf(bool value) { return value ? "true" : "false"; }

} // namespace

bool lowerFft(Lowering &l) {
  Op op = l.make(Opcode::Fft);
  std::string type;
  std::vector<int64_t> length;
  if (!oneOf(l, "fft_type",
             {{"FFT", "FFT"}, {"IFFT", "IFFT"}, {"RFFT", "RFFT"}, {"IRFFT", "IRFFT"}}, type) ||
      !l.need("fft_length") || !l.integers("fft_length", length))
    return false;
  addRaw(op, "fft_type", type);
  addRaw(op, "fft_length", fmt::format("{{{}}}", fmt::join(length, ",")));
  return l.finish(std::move(op));
}

bool lowerCholesky(Lowering &l) {
  Op op = l.make(Opcode::Cholesky);
  bool isLower = false;
  if (!l.flag("lower", isLower))
    return false;
  addRaw(op, "lower", std::string(wordOf(isLower)));
  return l.finish(std::move(op));
}

bool lowerTriangularSolve(Lowering &l) {
  Op op = l.make(Opcode::TriangularSolve);
  std::string transpose;
  bool isLeft = false, isLower = false, isUnit = false;
  if (!l.need("left_side") || !l.flag("left_side", isLeft) || !l.need("lower") ||
      !l.flag("lower", isLower) || !l.need("unit_diagonal") || !l.flag("unit_diagonal", isUnit) ||
      !oneOf(l, "transpose_a",
             {{"NO_TRANSPOSE", "NO_TRANSPOSE"}, {"TRANSPOSE", "TRANSPOSE"}, {"ADJOINT", "ADJOINT"}},
             transpose))
    return false;
  addRaw(op, "left_side", std::string(wordOf(isLeft)));
  addRaw(op, "lower", std::string(wordOf(isLower)));
  addRaw(op, "unit_diagonal", std::string(wordOf(isUnit)));
  addRaw(op, "transpose_a", transpose);
  return l.finish(std::move(op));
}

bool lowerBatchNorm(Lowering &l) {
  Op op = l.make(l.row.opcode);
  int64_t feature = 0;
  std::string_view epsilon;
  if (!l.need("epsilon") || !l.need("feature_index") || !l.integer("feature_index", feature) ||
      !readNumberText(l.at(*l.text.attributes.take("epsilon")), epsilon))
    return false;
  if (!std::all_of(epsilon.begin(), epsilon.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '.' || c == '-' || c == '+';
      }))
    return l.fail(fmt::format("epsilon '{}' is not a number", excerpt(epsilon)));
  addRaw(op, "epsilon", std::string(epsilon));
  addRaw(op, "feature_index", std::to_string(feature));
  return l.finish(std::move(op));
}

/// The shape, which the last operand repeats, is that of the result.
bool lowerRng(Lowering &l) {
  Op op = l.make(Opcode::Rng);
  std::string distribution;
  if (!l.hasOperands(3) || !l.hasResults(1) ||
      !oneOf(l, "rng_distribution", {{"UNIFORM", "rng_uniform"}, {"NORMAL", "rng_normal"}},
             distribution))
    return false;
  if (l.result().isDynamic())
    return l.refuse(fmt::format("the result {} has extents that are known at run time only",
                                briefText(l.result())));
  op.operands.pop_back();
  addRaw(op, "distribution", distribution);
  return l.finish(std::move(op));
}

bool lowerRngBitGenerator(Lowering &l) {
  Op op = l.make(Opcode::RngBitGenerator);
  std::string algorithm;
  if (!l.hasResults(2) ||
      !oneOf(l, "rng_algorithm",
             {{"DEFAULT", "rng_default"}, {"THREE_FRY", "rng_three_fry"}, {"PHILOX", "rng_philox"}},
             algorithm))
    return false;
  addRaw(op, "algorithm", algorithm);
  return l.finish(std::move(op));
}

/// The k largest along the last dim, and where they stood.
bool lowerTopK(Lowering &l) {
  Op op = l.make(Opcode::TopK);
  int64_t k = 0;
  if (!l.hasOperands(1) || !l.hasResults(2) || !l.need("k") || !l.integer("k", k))
    return false;
  addRaw(op, "k", std::to_string(k));
  addRaw(op, "largest", "true");
  return l.finish(std::move(op));
}

} // namespace tilewright::stablehlo
