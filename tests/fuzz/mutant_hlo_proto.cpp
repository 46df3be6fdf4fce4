// Mutants of HLO's protocol buffers.
#include "analysis/support/diag.h"
#include "tests/fuzz/mutant_formats.h"

namespace tilewright::test {

MutantFormat hloProtoFormat() {
  using namespace std::string_literals;
  MutantFormat format;
  format.name = "hlo-proto";
  for (const char *path : {"tests/import/proto/ops.hlo.pb", "tests/import/proto/layer.hlo.pb"}) {
    llvm::Expected<std::string> bytes = readFile(path);
    if (bytes)
      format.originals.push_back(std::move(*bytes));
    else
      llvm::consumeError(bytes.takeError());
  }
  // Tags with values: of shapes, ids, opcodes, lists, numbers without an end.
  format.words = {"\x10\x0b"s,
                  "\x10\x0d"s,
                  "\x1a\x02\x04\x08"s,
                  "\x1a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00"s,
                  "\x12\x03"
                  "add"s,
                  "\x12\x05"
                  "while"s,
                  "\x12\x0b"
                  "convolution"s,
                  "\x98\x02\x07"s,
                  "\xa2\x02\x01\x02"s,
                  "\xb2\x02\x02\x01\x02"s,
                  "\x30\x01"s,
                  "\x72\x02\x00\x01"s,
                  "\x42\x0a\x0a\x04\x10\x0b\x1a\x00\x42\x02\x00\x00"s,
                  "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
                  "\x0a\xff\xff\xff\xff\x0f"s,
                  "{\"a\":["s,
                  "\0"s};
  format.read = modelReader();
  return format;
}

} // namespace tilewright::test
