// Candidate lists: the sizes that a tile parameter may take.
//
// Every list is ascending, without repeats, and lies in [1, dim]. Sizes beyond the dim are never
// candidates: a tile that covers the dim is the dim itself (logical sizes are clipped).
#pragma once

#include "llvm/Support/Error.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Longest list; a longer one is a BadInput error.
inline constexpr size_t maxCandidates = size_t(1) << 20;

/// {powers of two below the dim} ∪ {dim}: 1 → {1}, 4 → {1,2,4}, 5 → {1,2,4,5}. Empty for dim < 1.
std::vector<int64_t> powersOfTwoAndDim(int64_t dim);

/// Which list to make, as a user writes it.
struct CandidateRule {
  enum class Kind : uint8_t {
    PowersOfTwo, ///< "pow2": powers of two below the dim, and the dim
    Divisors,    ///< "div": the divisors of the dim
    Multiples,   ///< "x16": 16, 32, … below the dim, and the dim
    All,         ///< "all": 1 … dim
    List,        ///< "1,16,100": these; one over the dim stands for the dim
  };
  Kind kind = Kind::PowersOfTwo;
  int64_t step = 1;          ///< of Multiples
  std::vector<int64_t> list; ///< of List, as given

  std::string str() const; ///< reads back to the same rule
};

/// Reads the forms above. BadInput: anything else, a size or step below 1.
llvm::Expected<CandidateRule> parseCandidateRule(std::string_view text);

/// The list of a rule for a dim. BadInput: dim < 1, an empty list, a list over maxCandidates.
/// Unsupported: divisors of a number with two prime factors over two million.
llvm::Expected<std::vector<int64_t>> candidatesFor(const CandidateRule &rule, int64_t dim);

} // namespace tilewright
