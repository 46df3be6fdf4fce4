// The entry point that libFuzzer calls; built with -DTILEWRIGHT_FUZZ=ON and clang.
#include "tests/fuzz/expr_program.h"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (std::string wrong = tilewright::fuzz::checkExprProgram({data, size}); !wrong.empty()) {
    std::fprintf(stderr, "%s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
