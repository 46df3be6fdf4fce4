// Mutants of numpy's files, and what `eval` does with their arrays.
#include "analysis/import/numpy/npy.h"
#include "tests/fuzz/mutant_formats.h"

namespace tilewright::test {

namespace {

llvm::Error readArrays(const std::string &bytes) {
  llvm::Expected<std::vector<NumpyArray>> arrays = parseNumpy("mutant", bytes);
  if (!arrays)
    return arrays.takeError();
  for (const NumpyArray &array : *arrays)
    for (DType type : {DType::S32, DType::BF16, DType::F64, DType::Pred, DType::S4}) {
      const Shape shape = Shape::tensor(type, array.dims);
      if (shape.elementCount().value_or(INT64_MAX) > 1 << 16)
        continue; // nothing that a model's input would be
      if (llvm::Expected<Tensor> tensor = tensorOf(array, shape); !tensor)
        llvm::consumeError(tensor.takeError()); // of another type
    }
  return llvm::Error::success();
}

MutantFormat numpyFormatOf(const char *name) {
  MutantFormat format;
  format.name = name;
  llvm::Expected<std::string> bytes = readFile(std::string("tests/eval/values/counting.") + name);
  if (bytes)
    format.originals.push_back(std::move(*bytes));
  else
    llvm::consumeError(bytes.takeError());
  format.words = {"'<f8'",
                  "'>i4'",
                  "'|b1'",
                  "'<V2'",
                  "'|O'",
                  "True",
                  "()",
                  "(0,)",
                  "(-1,)",
                  "(2,)",
                  "(4294967296, 4294967296)",
                  "PK\x01\x02",
                  "\x93NUMPY",
                  "}\n"};
  format.read = readArrays;
  return format;
}

} // namespace

MutantFormat npyFormat() { return numpyFormatOf("npy"); }
MutantFormat npzFormat() { return numpyFormatOf("npz"); }

} // namespace tilewright::test
