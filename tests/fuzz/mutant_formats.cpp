#include "tests/fuzz/mutant_formats.h"

namespace tilewright::test {

std::vector<MutantFormat> mutantFormats() {
  return {
      hloFormat(),         stablehloFormat(), hloProtoFormat(),
      onnxFormat(),        onnxTextFormat(),  deviceFormat(),
      calibrationFormat(), tableFormat(),     instructionTableFormat(),
      programFormat(),     npyFormat(),       npzFormat(),
      layoutFormat(),      castFormat(),      pipelineFormat(),
#ifdef TILEWRIGHT_HAS_CODEGEN
      planFormat(),        packFormat(),
#endif
  };
}

} // namespace tilewright::test
