#include "analysis/program/layout/banks.h"

#include "analysis/program/layout/f2.h"

#include <algorithm>
#include <bit>
#include <llvm/ADT/SmallVector.h>
#include <vector>

namespace tilewright::layout {

namespace {

constexpr int64_t wordBytes = 4, bankCount = 32, groupBytes = 128;

int groupLanes(int64_t width) {
  return width <= wordBytes ? warpLanes : static_cast<int>(groupBytes / width);
}

struct WantedWord {
  int64_t bank, word;
  int lane;
  auto operator<=>(const WantedWord &) const = default;
};

/// The distinct words that lanes [first, last) want, by bank, each with the first lane.
std::vector<WantedWord> wordsOf(std::span<const int64_t> bytes, int64_t width, int first,
                                int last) {
  std::vector<WantedWord> words;
  for (int lane = first; lane < last; ++lane)
    if (bytes[lane] != noAddress)
      for (int64_t k = 0; k < std::max<int64_t>(width, 1); k += wordBytes) {
        int64_t word = (bytes[lane] + k) / wordBytes;
        words.push_back({word % bankCount, word, lane});
      }
  std::sort(words.begin(), words.end());
  auto isSame = [](const WantedWord &a, const WantedWord &b) { return a.word == b.word; };
  words.erase(std::unique(words.begin(), words.end(), isSame), words.end());
  return words;
}

} // namespace

BankConflicts conflictsOf(std::span<const int64_t> bytes, int64_t width) {
  BankConflicts result;
  const int group = groupLanes(width), lanes = static_cast<int>(bytes.size());
  for (int first = 0; first < lanes; first += group) {
    std::vector<WantedWord> words = wordsOf(bytes, width, first, std::min(first + group, lanes));
    int64_t degree = 0;
    for (size_t from = 0, to; from < words.size(); from = to) {
      for (to = from; to < words.size() && words[to].bank == words[from].bank;)
        ++to;
      const auto count = static_cast<int64_t>(to - from);
      degree = std::max(degree, count);
      if (count > 1 && count > result.degree) {
        result.witness = {words[from].lane, words[from + 1].lane};
        result.bank = static_cast<int>(words[from].bank);
      }
      result.degree = std::max(result.degree, count);
    }
    result.passes += degree;
    result.leastPasses += degree > 0 ? 1 : 0;
  }
  return result;
}

int64_t conflictDegree(std::span<const uint64_t> laneColumns, int64_t width) {
  const auto groupBits =
      static_cast<size_t>(std::countr_zero(static_cast<unsigned>(groupLanes(width))));
  std::vector<uint64_t> words;
  for (size_t b = 0; b < std::min(groupBits, laneColumns.size()); ++b)
    words.push_back(laneColumns[b] / wordBytes);
  for (int64_t k = wordBytes; k < width; k *= 2)
    words.push_back(static_cast<uint64_t>(k / wordBytes));
  std::vector<uint64_t> banks = words;
  for (uint64_t &bank : banks)
    bank %= bankCount;
  return int64_t(1) << (rankOf(words) - rankOf(banks));
}

Sectors sectorsOf(std::span<const int64_t> bytes, int64_t width) {
  constexpr int64_t sectorBytes = 32, lineBytes = 128;
  llvm::SmallVector<int64_t, 32> starts; // of runs of `width` bytes
  for (int64_t at : bytes)
    if (at != noAddress)
      starts.push_back(at);
  if (!std::is_sorted(starts.begin(), starts.end())) // lanes mostly lie one behind the other
    std::sort(starts.begin(), starts.end());
  Sectors result;
  int64_t lastSector = -1, lastLine = -1, end = 0, used = 0;
  for (int64_t from : starts) {
    const int64_t to = from + width;
    auto countNew = [&](int64_t unit, int64_t &last, int64_t &count) {
      const int64_t first = std::max(from / unit, last + 1), behind = (to - 1) / unit;
      if (behind >= first)
        count += behind - first + 1;
      last = std::max(last, behind);
    };
    countNew(sectorBytes, lastSector, result.touched);
    countNew(lineBytes, lastLine, result.lines);
    used += std::max<int64_t>(0, to - std::max(from, end));
    end = std::max(end, to);
  }
  result.least = (used + sectorBytes - 1) / sectorBytes;
  return result;
}

} // namespace tilewright::layout
