// Mutants of ONNX models, binary and as text.
#include "analysis/support/diag.h"
#include "tests/fuzz/mutant_formats.h"

namespace tilewright::test {

namespace {

MutantFormat onnxFormatOf(const char *name, const char *ending) {
  MutantFormat format;
  format.name = name;
  for (const char *model : {"attention", "image", "loops"}) {
    llvm::Expected<std::string> bytes =
        readFile(std::string("tests/import/onnx/") + model + ending);
    if (bytes)
      format.originals.push_back(std::move(*bytes));
    else
      llvm::consumeError(bytes.takeError());
  }
  format.read = modelReader();
  return format;
}

} // namespace

MutantFormat onnxFormat() {
  using namespace std::string_literals;
  MutantFormat format = onnxFormatOf("onnx", ".onnx");
  // Names of ops with their tags, dims, types, attributes, numbers without an end.
  format.words = {"\x22\x03"
                  "Add"s,
                  "\x22\x04"
                  "Loop"s,
                  "\x22\x05"
                  "Slice"s,
                  "\x22\x06"
                  "Gather"s,
                  "\x0a\x01x"s,
                  "\x0a\x00"s,
                  "\x12\x01y"s,
                  "\x0a\x02\x08\x00"s,
                  "\x0a\x02\x08\x7f"s,
                  "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"s,
                  "\x08\x01"s,
                  "\x08\x07"s,
                  "\x10\x07"s,
                  "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
                  "\x40\x00"s,
                  "\x40\x05"s,
                  "\xa0\x01\x02"s,
                  "\xa0\x01\x07"s,
                  "\xff\xff\xff\xff\x0f"s};
  return format;
}

MutantFormat onnxTextFormat() {
  MutantFormat format = onnxFormatOf("onnx-text", ".onnx.txt");
  format.words = {"<axis = -1>",
                  "<axes = [0]>",
                  "<keepdims = 0>",
                  "<to = 7>",
                  "<perm = [1, 0]>",
                  "<kernel_shape = [2, 2]>",
                  "<body = b (int64 i, bool c) => (bool c) {}>",
                  "<value_ints = [9223372036854775807]>",
                  "<value = int64[1] {-1}>",
                  "Gather",
                  "Slice",
                  "Resize",
                  "Loop",
                  "Scan",
                  "If",
                  "Einsum <equation = \"ij,jk\">",
                  "Conv",
                  "ConvTranspose",
                  "GatherElements",
                  "SequenceConstruct",
                  "SoftmaxCrossEntropyLoss",
                  "float[0]",
                  "int64[1099511627776]",
                  "bool",
                  "opset_import: [\"\" : 1]",
                  "(x)",
                  "()",
                  ", ",
                  "{",
                  "}"};
  return format;
}

} // namespace tilewright::test
