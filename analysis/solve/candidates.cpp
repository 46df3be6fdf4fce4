#include "analysis/solve/candidates.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <charconv>

namespace tilewright {

std::vector<int64_t> powersOfTwoAndDim(int64_t dim) {
  std::vector<int64_t> out;
  // The loop variable is unsigned because the power after the last one may be 2^63.
  for (uint64_t size = 1; dim > 0 && size < uint64_t(dim); size *= 2)
    out.push_back(int64_t(size));
  if (dim > 0)
    out.push_back(dim);
  return out;
}

namespace {

llvm::Expected<std::vector<int64_t>> divisorsOf(int64_t n) {
  constexpr int64_t trialLimit = int64_t(1) << 21; // its cube is 2^63: what stays has two factors
  std::vector<int64_t> out{1};
  int64_t rest = n;
  auto addPrime = [&](int64_t prime) {
    size_t before = out.size();
    for (int64_t power = prime;; power *= prime) {
      for (size_t i = 0; i < before; ++i)
        out.push_back(out[i] * power);
      rest /= prime;
      if (rest % prime != 0)
        break;
    }
  };
  int64_t prime = 2;
  for (; prime <= trialLimit && prime <= rest / prime; ++prime)
    if (rest % prime == 0)
      addPrime(prime);
  if (rest > 1 && prime <= rest / prime)
    return makeError(DiagClass::Unsupported,
                     "the divisors of {} take too long to find, give a list of sizes", n);
  if (rest > 1)
    addPrime(rest);
  std::sort(out.begin(), out.end());
  return out;
}

llvm::Error checkLength(uint64_t length) {
  if (length <= maxCandidates)
    return llvm::Error::success();
  return makeError(DiagClass::BadInput,
                   "a list of {} candidate sizes is over the limit of {}, use \"pow2\" or a list",
                   length, maxCandidates);
}

llvm::Expected<int64_t> parseSize(std::string_view text, std::string_view what) {
  if (text.empty())
    return makeError(DiagClass::BadInput, "a {} is missing", what);
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return makeError(DiagClass::BadInput, "\"{}\" is no {}, a number from 1 to 2^63 - 1", text,
                     what);
  if (value < 1)
    return makeError(DiagClass::BadInput, "a {} of {} is below 1", what, value);
  return value;
}

} // namespace

std::string CandidateRule::str() const {
  switch (kind) {
  case Kind::PowersOfTwo:
    return "pow2";
  case Kind::Divisors:
    return "div";
  case Kind::Multiples:
    return fmt::format("x{}", step);
  case Kind::All:
    return "all";
  case Kind::List: {
    std::string out;
    for (int64_t size : list)
      out += fmt::format("{}{}", out.empty() ? "" : ",", size);
    return out;
  }
  }
  return {};
}

llvm::Expected<CandidateRule> parseCandidateRule(std::string_view text) {
  CandidateRule rule;
  if (text == "pow2")
    return rule;
  if (text == "div" || text == "all") {
    rule.kind = text == "div" ? CandidateRule::Kind::Divisors : CandidateRule::Kind::All;
    return rule;
  }
  if (text.starts_with('x')) {
    auto step = parseSize(text.substr(1), "step");
    if (!step)
      return step.takeError();
    rule.kind = CandidateRule::Kind::Multiples;
    rule.step = *step;
    return rule;
  }
  if (text.empty() || text.front() < '0' || text.front() > '9')
    return makeError(DiagClass::BadInput,
                     "\"{}\" names no candidate sizes, expected pow2, div, all, x16 or 1,2,64",
                     text);
  rule.kind = CandidateRule::Kind::List;
  while (true) {
    size_t comma = text.find(',');
    auto size = parseSize(text.substr(0, comma), "tile size");
    if (!size)
      return size.takeError();
    rule.list.push_back(*size);
    if (comma == std::string_view::npos)
      return rule;
    text.remove_prefix(comma + 1);
  }
}

llvm::Expected<std::vector<int64_t>> candidatesFor(const CandidateRule &rule, int64_t dim) {
  if (dim < 1)
    return makeError(DiagClass::BadInput, "a dim of {} has no tile sizes", dim);
  std::vector<int64_t> out;
  switch (rule.kind) {
  case CandidateRule::Kind::PowersOfTwo:
    return powersOfTwoAndDim(dim);
  case CandidateRule::Kind::Divisors:
    return divisorsOf(dim);
  case CandidateRule::Kind::All:
  case CandidateRule::Kind::Multiples: {
    int64_t step = rule.kind == CandidateRule::Kind::All ? 1 : rule.step;
    if (step < 1)
      return makeError(DiagClass::BadInput, "a step of {} is below 1", step);
    int64_t count = (dim - 1) / step; // multiples below the dim
    if (llvm::Error error = checkLength(uint64_t(count) + 1))
      return error;
    for (int64_t i = 1; i <= count; ++i)
      out.push_back(i * step);
    out.push_back(dim);
    return out;
  }
  case CandidateRule::Kind::List:
    if (rule.list.empty())
      return makeError(DiagClass::BadInput, "the list of candidate sizes is empty");
    if (llvm::Error error = checkLength(rule.list.size()))
      return error;
    for (int64_t size : rule.list) {
      if (size < 1)
        return makeError(DiagClass::BadInput, "a tile size of {} is below 1", size);
      out.push_back(std::min(size, dim));
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  return out;
}

} // namespace tilewright
