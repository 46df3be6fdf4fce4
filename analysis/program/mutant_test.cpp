// Damaged tile programs, without the formats that need other folders; `mutants program` makes more.
#include "tests/fuzz/mutant_formats.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace tilewright::test;

TEST(ProgramMutants, AreReadOrRefused) {
  const char *wanted = std::getenv("TILEWRIGHT_MUTANTS");
  size_t count = wanted ? std::strtoull(wanted, nullptr, 10) : 3000;
  const char *first = std::getenv("TILEWRIGHT_FUZZ_SEED");
  MutantRun run = runMutants(programFormat(), count, first ? std::strtoull(first, nullptr, 10) : 1);
  EXPECT_EQ(run.fault, "");
  EXPECT_GT(run.refused, count / 10);
  EXPECT_GT(run.read, count / 20);
}
