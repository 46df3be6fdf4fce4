// Some mutants of every format; `mutants` makes more of them.
#include "tests/fuzz/mutants.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

size_t setting(const char *name, size_t otherwise) {
  const char *value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

TEST(Mutants, AreReadOrRefused) {
  size_t count = setting("TILEWRIGHT_MUTANTS", 400), seed = setting("TILEWRIGHT_FUZZ_SEED", 1);
  for (const MutantFormat &format : mutantFormats()) {
    MutantRun run = runMutants(format, count, seed);
    EXPECT_EQ(run.fault, "");
    // Damage that is never noticed, or never passed, tests little.
    EXPECT_GT(run.refused, count / 10) << format.name;
    EXPECT_GT(run.read, 0u) << format.name;
  }
}

TEST(Mutants, AreTheSameForTheSameSeed) {
  for (const MutantFormat &format : mutantFormats())
    for (uint64_t seed = 0; seed < 20; ++seed)
      EXPECT_EQ(mutantOf(format, seed), mutantOf(format, seed));
}

} // namespace
} // namespace tilewright::test
