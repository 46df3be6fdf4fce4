// Mutants of what users give beside models: devices, calibrations and tables of measurements.
#include "analysis/instructions/ruling.h"
#include "analysis/support/digest.h"
#include "costmodel/calibration.h"
#include "costmodel/estimate.h"
#include "costmodel/evaluation.h"
#include "datasets/instruction_table.h"
#include "tests/fuzz/mutant_formats.h"

#include <cmath>

namespace tilewright::test {

namespace {

std::string textOf(const std::string &path) { return llvm::cantFail(readFile(path)); }

const Device &h100() {
  static const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  return device;
}

const Dataset &fewRows() {
  static const Dataset data = [] {
    TemplateLibrary library = llvm::cantFail(TemplateLibrary::load());
    const Table tables[] = {
        llvm::cantFail(Table::parse("t.csv", "kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,"
                                             "stages,group_m,time_ns\n"
                                             "gemm,bf16,4096,4096,4096,128,128,32,4,3,8,250000\n"
                                             "gemm,f16,512,512,512,64,64,64,4,3,8,9000\n")),
        llvm::cantFail(Table::parse("c.csv", "kernel,dtype,d0,block,warps,time_ns\n"
                                             "copy1d,bf16,67108864,1024,4,91000\n"))};
    return llvm::cantFail(loadDataset(tables, library, h100()));
  }();
  return data;
}

/// What is read must price, or say that it can't: never a time that is none.
llvm::Error expectPrices(const Device &device, const Calibration &calibration) {
  const Parameters parameters = parametersFor(calibration, device);
  for (const DatasetRow &row : fewRows().rows) {
    const Estimate e =
        estimateTime(row.features, device, parameters, calibration.spreadOf(row.kind));
    if (!(e.timeNs > 0) || !(e.sigmaLn >= 0))
      return makeError(DiagClass::Internal, "a price of {} ns ± {}", e.timeNs, e.sigmaLn);
  }
  return llvm::Error::success();
}

} // namespace

MutantFormat deviceFormat() {
  return {"device",
          {textOf("datasets/devices/h100-sxm.json"), textOf("datasets/devices/l4.json"),
           textOf("datasets/devices/b200.json")},
          {"\"value\"", "\"unit\"", "\"source\"", "\"sustained_clock\"", "\"sigma_ln\"", "132.5",
           "1e-300", "-1", "0", "null", "\"../x\"", "\"10.0\"", "{", "}", ","},
          [](const std::string &text) -> llvm::Error {
            auto device = parseDevice("d.json", text);
            if (!device)
              return device.takeError();
            static const Calibration bundled = llvm::cantFail(loadCalibration("h100-sxm"));
            if (llvm::Error error = expectPrices(*device, priorCalibration(*device)))
              return error;
            return expectPrices(*device, bundled);
          }};
}

MutantFormat calibrationFormat() {
  return {"calibration",
          {textOf("datasets/calibrations/h100-sxm.json"), toJson(priorCalibration(h100()))},
          {"\"value\"", "\"prior\"", "\"sigma_ln\"", "\"status\"", "\"spreads\"", "\"kinds\"",
           "\"device_digest\"", "\"fitted\"", "1e-320", "1e308", "0", "null", "{", "}", ","},
          [](const std::string &text) -> llvm::Error {
            auto calibration = parseCalibration("c.json", text);
            if (!calibration)
              return calibration.takeError();
            if (llvm::Error error = expectPrices(h100(), *calibration))
              return error;
            auto again = parseCalibration("c.json", toJson(*calibration));
            return again ? llvm::Error::success() : again.takeError();
          }};
}

MutantFormat tableFormat() {
  const std::string cells = "measure,k,dot,p,cold,5000";
  return {
      "table",
      {"kernel,dtype,d0,block,warps,time_ns,error\ncopy1d,bf16,67108864,1024,4,91000,\n"
       "copy1d,bf16,67108864,1024,64,91000,\ncopy1d,f32,65536,128,4,,\"out of, memory\"\n",
       "kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,group_m,time_ns\n"
       "gemm,bf16,512,512,512,64,64,64,4,3,8,9000\ngemm,bf16,512,512,512,128,64,64,4,3,8,8000\n",
       "role,kernel,kind,family,regime,time_ns,row_check\n" + cells + "," + rowCheck(cells) + "\n"},
      {"kernel", "copy1d", "gemm", ",", "\n", "\"", "1e-300", "1e300", "nan", "-1", "0", "4096",
       "64", "time_ns", "\xef\xbb\xbf", "row_check"},
      [](const std::string &text) -> llvm::Error {
        auto table = Table::parse("t.csv", text);
        if (!table)
          return table.takeError();
        static TemplateLibrary library = llvm::cantFail(TemplateLibrary::load());
        auto data = loadDataset({&*table, 1}, library, h100());
        if (!data)
          return data.takeError();
        static const Calibration bundled = llvm::cantFail(loadCalibration("h100-sxm"));
        const std::string json = toJson(evaluate(*data, h100(), bundled));
        // Names may hold these letters; numbers follow a space.
        for (const char *number : {" nan", " -nan", " inf", " -inf"})
          if (json.find(number) != std::string::npos)
            return makeError(DiagClass::Internal, "what is not a number stands in JSON");
        return llvm::Error::success();
      }};
}

/// A name that can be read is taken, or refused for a reason; never both.
static llvm::Error expectRulings(const InstructionTable &table) {
  for (const InstructionRow &row : table.rows()) {
    llvm::Expected<PtxInstruction> instruction = parseInstruction(row.name);
    if (!instruction)
      return instruction.takeError();
    if (instruction->unit == InstructionUnit::Other)
      continue;
    if (llvm::Error error = checkModifiers(*instruction))
      return error;
    for (const std::string &name : table.targets()) {
      llvm::Expected<IsaTarget> target = IsaTarget::parse(name);
      if (!target)
        return target.takeError();
      const InstructionRuling ruling = ruleOn(*instruction, *target);
      if (ruling.isTaken != ruling.reasons.empty() || (ruling.isTaken && ruling.forms.empty()))
        return makeError(DiagClass::Internal, "'{}' is taken and has reasons against it", row.name);
    }
  }
  return llvm::Error::success();
}

MutantFormat instructionTableFormat() {
  return {
      "instructions",
      {"group,instruction,m,n,k,a,b,acc,note,ptx,sm_80,sm_90a,refusal\n"
       "mma.sync,mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32,16,8,16,bf16,bf16,f32,,"
       "\"mma {%f0..3}, {%r0..3};\",yes,yes,\n"
       "wgmma,wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 (A in registers),64,40,32,s8,s8,s32,"
       ",w;,no,no,Illegal matrix shape | why\n",
       "group,instruction,m,n,k,a,b,acc,note,ptx,sm_100f,refusal\n"
       "tcgen05.mma,tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale.scale_vec::4X,,,,,,,,t;,no,"
       "\n"
       "TMA,cp.async.bulk.tensor.6d.shared::cta.global.mbarrier,,,,,,,,t;,no,\n"
       "setmaxnreg,setmaxnreg.inc.sync.aligned.u32 240,,,,,,,,s;,yes,\n"},
      {"yes", "no", "sm_", "sm_90a", "f", "m16n8k16", "m99999999999n8k8", ".sp", "kind::", "..",
       "{", ",", "\n", "\"", " 99999999999", ".bf16", "(A in tensor memory)"},
      [](const std::string &text) -> llvm::Error {
        llvm::Expected<InstructionTable> table = InstructionTable::parse("i.csv", text);
        return table ? expectRulings(*table) : table.takeError();
      }};
}

} // namespace tilewright::test
