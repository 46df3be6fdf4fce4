// Bank conflicts and sectors: ranks against counting, witnesses against words.
#include "analysis/program/layout/banks.h"
#include "analysis/program/layout/testing/random_layouts.h"

#include <map>
#include <set>

using namespace tilewright::layout;
using namespace tilewright::layout::testing;

namespace {

/// Counted once more, by banks as sets: passes and the worst group.
std::pair<int64_t, int64_t> byBanks(const std::vector<int64_t> &bytes, int64_t width) {
  const int64_t group = width <= 4 ? 32 : 128 / width;
  int64_t passes = 0, worst = 0;
  for (int64_t first = 0; first < 32; first += group) {
    std::map<int64_t, std::set<int64_t>> words;
    for (int64_t lane = first; lane < first + group; ++lane)
      for (int64_t byte = bytes[lane]; bytes[lane] >= 0 && byte < bytes[lane] + width; ++byte)
        words[byte / 4 % 32].insert(byte / 4);
    size_t most = 0;
    for (const auto &[bank, of] : words)
      most = std::max(most, of.size());
    passes += static_cast<int64_t>(most);
    worst = std::max(worst, static_cast<int64_t>(most));
  }
  return {passes, worst};
}

void expectWitness(const BankConflicts &found, const std::vector<int64_t> &bytes, int64_t width) {
  ASSERT_EQ(found.witness.has_value(), found.degree > 1);
  if (!found.witness)
    return;
  auto [a, b] = *found.witness;
  bool meet = false;
  for (int64_t x = 0; x < std::max<int64_t>(width, 4); x += 4)
    for (int64_t y = 0; y < std::max<int64_t>(width, 4); y += 4) {
      int64_t u = (bytes[a] + x) / 4, v = (bytes[b] + y) / 4;
      meet = meet || (u != v && u % 32 == found.bank && v % 32 == found.bank);
    }
  EXPECT_TRUE(meet) << a << " " << b;
}

} // namespace

TEST(Banks, RanksAreWhatIsCounted) {
  Random random(10);
  std::map<int64_t, int> seen;
  for (int n = 0; n < 20'000; ++n) {
    const int64_t width = int64_t(4) << random.in(0, 2);
    std::vector<uint64_t> columns;
    for (int b = 0; b < 5; ++b) {
      uint64_t column = 0;
      for (int64_t bit = width; bit < 4096; bit *= 2)
        if (random.chance(25))
          column |= static_cast<uint64_t>(bit);
      columns.push_back(column);
    }
    std::vector<int64_t> bytes;
    for (int lane = 0; lane < 32; ++lane) {
      uint64_t at = 0;
      for (int b = 0; b < 5; ++b)
        if (lane >> b & 1)
          at ^= columns[static_cast<size_t>(b)];
      bytes.push_back(static_cast<int64_t>(at));
    }
    BankConflicts found = conflictsOf(bytes, width);
    ASSERT_EQ(found.degree, conflictDegree(columns, width));
    auto [passes, worst] = byBanks(bytes, width);
    EXPECT_EQ(found.passes, passes);
    EXPECT_EQ(found.degree, worst);
    EXPECT_EQ(found.leastPasses, std::max<int64_t>(1, width / 4));
    expectWitness(found, bytes, width);
    ++seen[found.degree];
  }
  EXPECT_GT(seen[1], 1'000);
  EXPECT_GT(seen[2], 1'000);
  EXPECT_GT(seen[4], 100);
}

TEST(Banks, AnyAccessIsCounted) {
  Random random(11);
  for (int n = 0; n < 5'000; ++n) {
    const int64_t width = int64_t(1) << random.in(0, 4), most = random.in(1, 200);
    std::vector<int64_t> bytes;
    for (int lane = 0; lane < 32; ++lane)
      bytes.push_back(random.chance(10) ? noAddress : random.in(0, most) * width);
    BankConflicts found = conflictsOf(bytes, width);
    auto [passes, worst] = byBanks(bytes, width);
    EXPECT_EQ(found.passes, passes);
    EXPECT_EQ(found.degree, worst);
    expectWitness(found, bytes, width);
    std::set<int64_t> sectors, lines, used;
    for (int64_t at : bytes)
      for (int64_t byte = at; at >= 0 && byte < at + width; ++byte) {
        used.insert(byte);
        sectors.insert(byte / 32);
        lines.insert(byte / 128);
      }
    Sectors touched = sectorsOf(bytes, width);
    EXPECT_EQ(touched.touched, static_cast<int64_t>(sectors.size()));
    EXPECT_EQ(touched.lines, static_cast<int64_t>(lines.size()));
    EXPECT_EQ(touched.least, static_cast<int64_t>(used.size() + 31) / 32);
  }
}
