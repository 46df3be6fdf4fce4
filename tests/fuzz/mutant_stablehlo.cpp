// Mutants of StableHLO text, of both forms.
#include "analysis/support/diag.h"
#include "tests/fuzz/mutant_formats.h"

namespace tilewright::test {

MutantFormat stablehloFormat() {
  MutantFormat format;
  format.name = "stablehlo";
  // Each module of the two files is an original.
  for (const char *path :
       {"tests/import/stablehlo/ops.mlir", "tests/import/stablehlo/ops_generic.mlir"}) {
    llvm::Expected<std::string> text = readFile(path);
    if (!text) {
      llvm::consumeError(text.takeError());
      continue;
    }
    for (size_t begin = 0; begin < text->size();) {
      size_t end = text->find("\n\n", begin);
      end = end == std::string::npos ? text->size() : end + 1;
      if (end > begin + 1)
        format.originals.push_back(text->substr(begin, end - begin));
      begin = end + 1;
    }
  }
  format.words = {"tensor<4xf32>",
                  "tensor<?xi1>",
                  "tensor<2x!quant.uniform<i8:f32, 0.1:-3>>",
                  "tuple<tensor<f32>>",
                  "!stablehlo.token",
                  "array<i64: 0, 1>",
                  "array<i64>",
                  "dense<[[0, 1]]> : tensor<1x2xi64>",
                  "dense<\"0x00\">",
                  "#stablehlo.bounds<8>",
                  " -> ",
                  " x ",
                  "%r",
                  "%x",
                  "#1",
                  ":2",
                  "({",
                  "})",
                  "<{",
                  "}>",
                  "^bb0(%a: tensor<f32>):",
                  "stablehlo.return %a : tensor<f32>",
                  "loc(\"name\"(#loc))",
                  "call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>",
                  "applies stablehlo.add",
                  "init: %z",
                  "dims = [0]",
                  "module @m {",
                  "func.func @main() -> tensor<f32> {"};
  format.read = modelReader();
  return format;
}

} // namespace tilewright::test
