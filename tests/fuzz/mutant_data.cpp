// Mutants of what users give beside models: devices, calibrations and tables of measurements.
#include "analysis/support/digest.h"
#include "costmodel/calibration.h"
#include "costmodel/estimate.h"
#include "costmodel/evaluation.h"
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

} // namespace tilewright::test
