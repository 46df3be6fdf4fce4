#include "analysis/solve/hitting_set.h"

#include <algorithm>

namespace tilewright::detail {

HittingSets::Outcome HittingSets::extend(std::vector<size_t> &chosen, size_t more) {
  if (stepsLeft == 0)
    return Outcome::Spent;
  --stepsLeft;
  const std::vector<size_t> *open = nullptr; // the smallest set not met yet: fewest branches
  for (const std::vector<size_t> &set : family) {
    bool isMet = std::any_of(set.begin(), set.end(), [&](size_t element) {
      return std::find(chosen.begin(), chosen.end(), element) != chosen.end();
    });
    if (!isMet && (!open || set.size() < open->size()))
      open = &set;
  }
  if (!open)
    return Outcome::Found;
  if (more == 0)
    return Outcome::None;
  for (size_t element : *open) {
    chosen.push_back(element);
    Outcome outcome = extend(chosen, more - 1);
    if (outcome != Outcome::None)
      return outcome;
    chosen.pop_back();
  }
  return Outcome::None;
}

std::optional<std::vector<size_t>> HittingSets::smallest() {
  for (;; ++size) {
    std::vector<size_t> chosen;
    switch (extend(chosen, size)) {
    case Outcome::Found:
      std::sort(chosen.begin(), chosen.end());
      return chosen;
    case Outcome::Spent:
      return std::nullopt;
    case Outcome::None:
      break;
    }
  }
}

} // namespace tilewright::detail
