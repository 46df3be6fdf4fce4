// mutants FORMAT COUNT SEED: see mutants.h. Without arguments it names the formats. The seed of the
// last mutant stands in ./last_mutant.
#include "tests/fuzz/mutants.h"

#include <cstdio>
#include <cstdlib>

using namespace tilewright::test;

int main(int argc, char **argv) {
  std::vector<MutantFormat> formats = mutantFormats();
  for (const MutantFormat &format : formats) {
    if (argc != 4)
      std::printf("%s\n", format.name.c_str());
    else if (format.name == argv[1]) {
      // The seed goes to a file first: a crash leaves it behind.
      FILE *last = std::fopen("last_mutant", "w");
      MutantRun run = runMutants(format, std::strtoull(argv[2], nullptr, 10),
                                 std::strtoull(argv[3], nullptr, 10), [&](uint64_t seed) {
                                   if (!last)
                                     return;
                                   std::rewind(last);
                                   std::fprintf(last, "%20llu\n", (unsigned long long)seed);
                                   std::fflush(last);
                                 });
      std::printf("%s: %zu read, %zu refused\n", argv[1], run.read, run.refused);
      if (!run.fault.empty()) { // bytes of any kind
        const std::string text = "FAULT " + run.fault + "\n";
        std::fwrite(text.data(), 1, text.size(), stdout);
      }
      return run.fault.empty() ? 0 : 1;
    }
  }
  if (argc == 4)
    std::fprintf(stderr, "no format '%s'\n", argv[1]);
  return argc == 1 ? 0 : 2;
}
