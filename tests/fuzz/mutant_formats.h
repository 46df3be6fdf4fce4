// One function a format; each stands in a file of its own kind.
#pragma once

#include "tests/fuzz/mutants.h"

namespace tilewright::test {

MutantFormat hloFormat();       ///< and everything that asks about a module
MutantFormat stablehloFormat(); ///< the same of StableHLO text
MutantFormat hloProtoFormat();  ///< the same of HLO's protocol buffers
MutantFormat onnxFormat();      ///< the same of ONNX
MutantFormat onnxTextFormat();
/// What hloFormat() and stablehloFormat() do with a text.
std::function<llvm::Error(const std::string &)> modelReader();
MutantFormat npyFormat(); ///< arrays of numpy
MutantFormat npzFormat();
MutantFormat deviceFormat();
MutantFormat calibrationFormat();
MutantFormat tableFormat();            ///< measurements, as CSV
MutantFormat instructionTableFormat(); ///< and every rule on the names in it
MutantFormat planFormat();
MutantFormat programFormat();  ///< tile programs
MutantFormat layoutFormat();   ///< layouts by themselves
MutantFormat castFormat();     ///< layouts that values are to have
MutantFormat pipelineFormat(); ///< tile programs whose loops are scheduled
MutantFormat packFormat();     ///< the manifest, as check and as tilewright-profile read it

} // namespace tilewright::test
