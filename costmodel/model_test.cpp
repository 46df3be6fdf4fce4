#include "costmodel/estimate.h"
#include "costmodel/evaluation.h"
#include "costmodel/price.h"
#include "costmodel/testing/data.h"

#include <cmath>
#include <set>

namespace tilewright {
namespace {

using testing::datasetOf;
using testing::h100;
using testing::measured;
using testing::planFrom;

/// A spread of rows of every bundled family.
const Dataset &sample() {
  static const Dataset data = [] {
    std::vector<Table> tables;
    for (const char *file :
         {"gemm.csv.gz", "gemm_variants.csv.gz", "memory.csv.gz", "attention.csv.gz"}) {
      int n = 0;
      tables.push_back(measured(file, [&](std::string_view) { return n++ % 29 == 0; }));
    }
    return datasetOf(std::move(tables));
  }();
  return data;
}

Calibration bundled() {
  auto calibration = loadCalibration("h100-sxm");
  if (!calibration)
    ADD_FAILURE() << takeDiag(calibration.takeError()).str();
  return *calibration;
}

TEST(Model, TimesAreFinitePositiveAndAboveTheRoofline) {
  Device device = h100();
  Parameters p = bundled().values();
  ASSERT_GT(sample().rows.size(), 800u);
  for (const DatasetRow &row : sample().rows)
    for (CacheState cache : {CacheState::Flushed, CacheState::Clean, CacheState::Warm}) {
      KernelTime<double> raw = kernelTime(underCache(row.features, device, cache), device, p);
      Estimate e = estimateTime(row.features, device, p, 0.1, {cache});
      ASSERT_TRUE(std::isfinite(e.timeNs)) << row.identity.group;
      ASSERT_GT(e.timeNs, 500) << row.identity.group;
      ASSERT_GE(raw.total, e.rooflineNs) << row.identity.group; // holds without the clamp
      ASSERT_TRUE(e.rooflineNs > 0 || cache == CacheState::Warm);
      ASSERT_FALSE(e.limiter.empty());
      for (const EstimateTerm &term : e.terms)
        ASSERT_TRUE(std::isfinite(term.ns) && term.ns >= 0) << term.name;
    }
}

TEST(Model, MoreBandwidthIsNeverSlower) {
  Device device = h100();
  Parameters p = bundled().values();
  double Parameters::*const bandwidths[] = {&Parameters::dramBandwidth, &Parameters::l2Near,
                                            &Parameters::l2Far,         &Parameters::l2Stream,
                                            &Parameters::sharedRate,    &Parameters::wgmmaRate,
                                            &Parameters::mmaSyncRate};
  for (const DatasetRow &row : sample().rows) {
    double base = kernelTime(row.features, device, p).total;
    for (auto bandwidth : bandwidths) {
      Parameters faster = p;
      faster.*bandwidth *= 1.3;
      ASSERT_LE(kernelTime(row.features, device, faster).total, base * (1 + 1e-9))
          << row.identity.group;
    }
  }
}

TEST(Model, CacheStatesAreOrdered) {
  Device device = h100();
  Parameters p = bundled().values();
  for (const DatasetRow &row : sample().rows) {
    double flushed = estimateTime(row.features, device, p, 0.1, {CacheState::Flushed}).timeNs;
    double clean = estimateTime(row.features, device, p, 0.1, {CacheState::Clean}).timeNs;
    double warm = estimateTime(row.features, device, p, 0.1, {CacheState::Warm}).timeNs;
    ASSERT_LE(clean, flushed);
    // A kernel that starts with a clean L2 may leave its results there; in a running model what
    // doesn't stay is written back while some kernel runs.
    Features inModel = underCache(row.features, device, CacheState::Warm);
    double writes = inModel.writtenBack / p.dramBandwidth + row.features.writeBytes / p.l2Stream;
    ASSERT_LE(warm, clean * (1 + 1e-9) + 2 * writes) << row.identity.group;
  }
}

TEST(Model, PriorsOfWritesAndAtomicsScaleWithTheDevice) {
  Device device = h100();
  const Parameters before = priorParameters(device);
  device.dramBandwidth *= 2;
  device.l2Bandwidth *= 4;
  device.l2Latency *= 0.5;
  const Parameters after = priorParameters(device);
  EXPECT_DOUBLE_EQ(after.partialSector, before.partialSector / 2);
  EXPECT_DOUBLE_EQ(after.atomicInterval, before.atomicInterval / 4);
  EXPECT_DOUBLE_EQ(after.atomicLatency, before.atomicLatency / 2);
}

TEST(Model, WarmLoadsTakeTheLatencyOfL2) {
  Device device = h100();
  const Parameters p = bundled().values();
  Features f;
  f.ctas = 132;
  f.looped = true;
  f.iterations = 100;
  f.loadBytes = 4096;
  f.loadsPerThread = f.loadInstructions = 1;
  f.readBytes = 132 * 100 * 4096.0 / 8;
  f.registers = 32;
  const Features warm = underCache(f, device, CacheState::Warm);
  const double chain = kernelTime(f, device, p).latency,
               warmChain = kernelTime(warm, device, p).latency;
  EXPECT_NEAR(chain - warmChain, 100 * p.directLoad * (1 - device.l2Latency / device.dramLatency),
              1e-6 * chain);
}

TEST(Model, DerivativesMatchDifferences) {
  constexpr int n = parameterCount;
  Device device = h100();
  auto logs = toArray(bundled().values());
  for (double &value : logs)
    value = std::log(value);
  auto time = [&](const Features &f, std::array<double, n> at) {
    for (double &value : at)
      value = std::exp(value);
    return std::log(kernelTime(f, device, fromArray(at)).total);
  };
  for (size_t r = 0; r < sample().rows.size(); r += 41) {
    const Features &f = sample().rows[r].features;
    ParametersOf<Dual<n>> p;
    int i = 0;
    auto seed = [&](Dual<n> &field) {
      field = Dual<n>(std::exp(logs[i]));
      field.d[i] = field.value;
      ++i;
    };
#define TILEWRIGHT_PARAMETER(field, name, unit, prior, low, high, fitted, meaning) seed(p.field);
#include "costmodel/parameters.def"
    Dual<n> exact = log(kernelTime(f, device, p).total);
    EXPECT_NEAR(exact.value, time(f, logs), 1e-12);
    for (int j = 0; j < n; ++j) {
      auto up = logs, down = logs;
      up[j] += 1e-6;
      down[j] -= 1e-6;
      EXPECT_NEAR(exact.d[j], (time(f, up) - time(f, down)) / 2e-6, 2e-5)
          << sample().rows[r].identity.group << " " << parameterInfos()[j].name;
    }
  }
}

TEST(Model, EmptyResultsTakeNoTime) {
  auto plan = planFrom("kernel,dtype,d0,d1,tile_m,tile_n,warps\nbcast2d,bf16,0,4096,4,256,4\n");
  ASSERT_TRUE(static_cast<bool>(plan));
  auto e = estimateTime(*plan, h100(), bundled());
  ASSERT_TRUE(static_cast<bool>(e));
  EXPECT_EQ(e->timeNs, 0);
}

TEST(Model, WhatCanNotBeLaunchedTakesForever) {
  auto plan = planFrom("kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,group_m\n"
                       "gemm,bf16,4096,4096,4096,256,256,128,8,4,8\n");
  ASSERT_TRUE(static_cast<bool>(plan));
  auto e = estimateTime(*plan, h100(), bundled());
  ASSERT_TRUE(static_cast<bool>(e));
  EXPECT_TRUE(std::isinf(e->timeNs));
  EXPECT_EQ(e->resources.ctasPerSm, 0);
}

TEST(Model, ExplainsALargeGemm) {
  auto plan = planFrom("kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,group_m\n"
                       "gemm,bf16,8192,8192,8192,128,256,64,8,4,8\n");
  ASSERT_TRUE(static_cast<bool>(plan));
  auto e = estimateTime(*plan, h100(), bundled());
  ASSERT_TRUE(static_cast<bool>(e));
  EXPECT_NEAR(e->timeNs, 1509699, 0.1 * 1509699); // measured
  EXPECT_EQ(e->issuedFlops, 2.0 * 8192 * 8192 * 8192);
  EXPECT_EQ(e->resources.sharedBytes, 196608);
  EXPECT_EQ(e->resources.occupancyLimiter, "registers");
  EXPECT_GT(e->term("tensor"), 0.6 * e->timeNs);
  EXPECT_LT(e->term("DRAM"), 0.5 * e->timeNs);
}

TEST(Model, OtherDevicesScaleWithTheirDescriptions) {
  auto h200 = loadDevice("h200");
  ASSERT_TRUE(static_cast<bool>(h200));
  Calibration calibration = bundled();
  Parameters here = parametersFor(calibration, h100()), there = parametersFor(calibration, *h200);
  EXPECT_DOUBLE_EQ(here.dramBandwidth, calibration.values().dramBandwidth);
  EXPECT_NEAR(there.dramBandwidth / here.dramBandwidth, 0.89 * 4800 / (0.91 * 3352), 1e-9);
  EXPECT_NEAR(there.launch / here.launch, 0.8, 1e-9);
  EXPECT_DOUBLE_EQ(there.ctaStart, here.ctaStart);
}

TEST(Model, EveryBundledDeviceHasPrices) {
  const char *rows[] = {
      "kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,group_m\n"
      "gemm,bf16,4096,4096,4096,128,128,32,4,3,8\n",
      "kernel,dtype,d0,d1,tile_m,tile_n,warps\nsoftmax2d,bf16,4096,4096,1,4096,8\n",
      "kernel,dtype,d0,block,warps\ncopy1d,bf16,67108864,1024,4\n"};
  double copyOnH100 = 0;
  for (const std::string &name :
       {std::string("h100-sxm"), std::string("h200"), std::string("a100"), std::string("l4"),
        std::string("rtx-4090"), std::string("b200")}) {
    auto device = loadDevice(name);
    ASSERT_TRUE(static_cast<bool>(device));
    double last = 0;
    for (const char *row : rows) {
      KernelPlan plan = llvm::cantFail(planFrom(row));
      plan.instruction = llvm::cantFail(preferredInstruction(plan, *device));
      EXPECT_TRUE(plan.instruction != Instruction::Wgmma || device->warpgroupMma);
      Estimate e = llvm::cantFail(estimateTime(plan, *device, bundled()));
      EXPECT_TRUE(std::isfinite(e.timeNs)) << name << " " << plan.name;
      EXPECT_GE(e.timeNs, e.rooflineNs);
      EXPECT_LT(e.timeNs, 12 * e.rooflineNs) << name << " " << plan.name;
      last = e.timeNs;
    }
    if (name == "h100-sxm")
      copyOnH100 = last;
    if (name == "l4") { // 235 GB/s against 3050
      EXPECT_NEAR(last / copyOnH100, 0.91 * 3352.0 / (0.78 * 300), 1.5);
    }
  }
}

TEST(Model, StreamingGroups) {
  const double bytes = 2.0 * 67108864;
  Estimate once = estimateStreaming(bytes, bytes, h100(), bundled());
  EXPECT_NEAR(once.timeNs, 90738, 9000); // the measured copy of that size
  EXPECT_GE(once.sigmaLn, 0.5);
  Estimate twice = estimateStreaming(2 * bytes, 2 * bytes, h100(), bundled());
  EXPECT_GT(twice.timeNs, 1.8 * once.timeNs);
}

/// Data made by the formula itself: the fit must find the parameters again.
TEST(Calibrate, RecoversPlantedParameters) {
  Device device = h100();
  Dataset data = sample();
  Calibration planted = priorCalibration(device);
  std::set<std::string> moved = {"launch",      "stage_miss",  "dram_bandwidth", "shared_rate",
                                 "direct_load", "dirty_share", "relayout_rate"};
  for (int i = 0; i < parameterCount; ++i)
    if (moved.count(std::string(parameterInfos()[i].name)))
      planted.parameters[i].value *= i % 2 ? 0.95 : 0.8;
  for (DatasetRow &row : data.rows)
    row.timeNs = kernelTime(row.features, device, planted.values()).total;
  FitOptions options;
  options.modelError = 0.01; // the formula is right about these times
  auto found = calibrate(data, device, options);
  ASSERT_TRUE(static_cast<bool>(found));
  EXPECT_TRUE(found->converged);
  EXPECT_LT(found->mape, 2e-3);
  for (const std::string &name : moved) {
    int i = *parameterIndex(name);
    EXPECT_NEAR(found->parameters[i].value / planted.parameters[i].value, 1, 0.01) << name;
  }
}

TEST(Calibrate, NoRowsIsAnError) {
  auto calibration = calibrate(Dataset{}, h100());
  ASSERT_FALSE(static_cast<bool>(calibration));
  EXPECT_EQ(takeDiag(calibration.takeError()).cls, DiagClass::BadInput);
}

TEST(Calibrate, UntouchedParametersAreCalledNotIdentified) {
  Dataset data = datasetOf({measured(
      "memory.csv.gz", [](std::string_view line) { return line.starts_with("copy1d"); })});
  auto calibration = calibrate(data, h100());
  ASSERT_TRUE(static_cast<bool>(calibration));
  using Status = CalibratedParameter::Status;
  auto status = [&](const char *name) {
    return calibration->parameters[*parameterIndex(name)].status;
  };
  EXPECT_EQ(status("mma_sync_rate"), Status::NotIdentified);
  EXPECT_EQ(status("relayout_rate"), Status::NotIdentified);
  EXPECT_EQ(status("dram_bandwidth"), Status::Fitted);
  EXPECT_EQ(status("overlap"), Status::Fixed);
}

TEST(CalibrationFile, RoundTrip) {
  Calibration c = bundled();
  auto back = parseCalibration("c.json", toJson(c));
  ASSERT_TRUE(static_cast<bool>(back)) << takeDiag(back.takeError()).str();
  EXPECT_EQ(toJson(*back), toJson(c));
  EXPECT_EQ(back->device, "h100-sxm");
  EXPECT_GT(back->rows, 26000);
}

TEST(CalibrationFile, ErrorsAreLocated) {
  std::string text = toJson(bundled());
  auto errorOf = [](std::string broken) {
    auto c = parseCalibration("c.json", std::move(broken));
    return c ? "" : takeDiag(c.takeError()).str();
  };
  auto without = [&](const std::string &from, const std::string &to) {
    std::string copy = text;
    size_t at = copy.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return copy.replace(at, from.size(), to);
  };
  EXPECT_NE(errorOf(without("\"l2_far\"", "\"l2_fur\"")).find("the model has no 'l2_fur'"),
            std::string::npos);
  EXPECT_NE(errorOf(without("\"launch\": {\"value\": ", "\"launch\": {\"value\": -"))
                .find("must be positive"),
            std::string::npos);
  EXPECT_NE(errorOf(without("  \"parameters\"", "  \"comment\": \"\",\n  \"parameters\""))
                .find("a calibration has no 'comment'"),
            std::string::npos);
  EXPECT_NE(errorOf(without("\"device\": \"h100-sxm\"", "\"device\": \"../h100-sxm\""))
                .find("which is no name of a device"),
            std::string::npos);
  EXPECT_NE(errorOf(without("\"sigma_ln\": 0.", "\"sigma_ln\": 10.")).find("plausible is"),
            std::string::npos);
  EXPECT_NE(errorOf(without("\"fitted\"", "\"guessed\"")).find("'guessed' is not known"),
            std::string::npos);
  EXPECT_NE(errorOf(text.substr(0, text.size() / 2)).find("c.json:"), std::string::npos);
}

/// A value far from what the device says prices nonsense, whichever parameter it is.
TEST(CalibrationFile, ValuesStayWithinReachOfTheirPriors) {
  for (int i = 0; i < parameterCount; ++i)
    for (double factor : {1e-300, 1e-3, 1e3}) {
      Calibration c = bundled();
      CalibratedParameter &p = c.parameters[size_t(i)];
      p.value =
          factor * p.prior * (factor < 1 ? parameterInfos()[i].low : parameterInfos()[i].high);
      auto read = parseCalibration("c.json", toJson(c));
      ASSERT_FALSE(static_cast<bool>(read)) << parameterInfos()[i].name << " " << factor;
      std::string message = takeDiag(read.takeError()).str();
      EXPECT_NE(message.find(parameterInfos()[i].name), std::string::npos) << message;
    }
}

/// A description's text decides whether a calibration is its own, not its name.
TEST(CalibrationFile, CarriesOverByContent) {
  auto text = llvm::cantFail(readFile("datasets/devices/h100-sxm.json"));
  auto described = [&](const std::string &name, const std::string &bandwidth,
                       const std::string &rate) {
    std::string changed = text;
    auto put = [&](const std::string &from, const std::string &to) {
      ASSERT_NE(changed.find(from), std::string::npos) << from;
      changed.replace(changed.find(from), from.size(), to);
    };
    put("\"name\": \"h100-sxm\"", "\"name\": \"" + name + "\"");
    put("\"value\": 3352", "\"value\": " + bandwidth);
    put("\"value\": 5.238", "\"value\": " + rate);
    return llvm::cantFail(parseDevice("d.json", changed));
  };
  const Calibration calibration = bundled();
  const Device half = described("h100-sxm", "1676", "2.619"),
               renamed = described("x", "1676", "2.619"), same = described("y", "3352", "5.238");
  EXPECT_TRUE(isFittedOn(calibration, h100()));
  EXPECT_TRUE(isFittedOn(calibration, same));
  EXPECT_FALSE(isFittedOn(calibration, half));
  EXPECT_EQ(toArray(parametersFor(calibration, half)),
            toArray(parametersFor(calibration, renamed)));
  EXPECT_EQ(toArray(parametersFor(calibration, same)), toArray(parametersFor(calibration, h100())));
  EXPECT_EQ(transferred(calibration, half).transferredFrom, "another description of h100-sxm");
  EXPECT_EQ(transferred(calibration, renamed).transferredFrom, "h100-sxm");
  EXPECT_EQ(transferred(calibration, h100()).transferredFrom, "");
  // No price is below what the bytes take at the description's own bandwidth.
  KernelPlan plan =
      llvm::cantFail(planFrom("kernel,dtype,d0,block,warps\ncopy1d,f32,134217728,4096,4\n"));
  Estimate e = llvm::cantFail(estimateTime(plan, half, calibration));
  EXPECT_GT(e.timeNs, 2 * 4 * 134217728.0 / 1676);
  EXPECT_EQ(e.timeNs, llvm::cantFail(estimateTime(plan, renamed, calibration)).timeNs);
  // A file that does not record its description is that of the device of its name, if it fits.
  Calibration old = calibration;
  old.deviceDigest.clear();
  EXPECT_TRUE(isFittedOn(old, h100()));
  EXPECT_FALSE(isFittedOn(old, half));
  EXPECT_FALSE(isFittedOn(old, same));
}

TEST(CalibrationFile, TheBundledOneIsOfTheBundledDevice) {
  EXPECT_EQ(bundled().deviceDigest, h100().digest);
  EXPECT_TRUE(bundled().converged);
}

/// The bundled calibration on whole groups of three shapes: catches changes of features and
/// formula that a wide bound on everything would hide.
TEST(Evaluate, Bf16GemmOfThreeShapes) {
  Dataset data = datasetOf({measured("gemm.csv.gz", [](std::string_view line) {
    return line.starts_with("gemm,bf16,8192,8192,8192,") ||
           line.starts_with("gemm,bf16,2048,2048,2048,") ||
           line.starts_with("gemm,bf16,16,28672,4096,");
  })});
  ASSERT_GT(data.rows.size(), 300u);
  EvaluationReport report = evaluate(data, h100(), bundled());
  EXPECT_LT(report.overall.mape, 0.10);
  EXPECT_GT(report.overall.oracleAt1, 0.93);
  EXPECT_GT(report.overall.oracleAt5, 0.98);
}

/// With no measurement at all the choice of tile is nearly as good; only the times are worse.
TEST(Evaluate, DeviceDescriptionAloneChoosesWell) {
  Dataset data = datasetOf({measured("gemm.csv.gz", [](std::string_view line) {
    return line.starts_with("gemm,bf16,4096,4096,4096,") ||
           line.starts_with("gemm,bf16,2048,2048,2048,");
  })});
  ASSERT_GT(data.rows.size(), 300u);
  EvaluationReport report = evaluate(data, h100(), priorCalibration(h100()));
  EXPECT_LT(report.overall.mape, 0.25);
  EXPECT_GT(report.overall.oracleAt1, 0.9);
  EXPECT_GT(report.overall.oracleAt1, report.overall.randomAt5);
}

TEST(Evaluate, LeftOutShapesOfCopies) {
  Dataset data = datasetOf({measured("memory.csv.gz", [](std::string_view line) {
    return line.starts_with("copy1d") || line.starts_with("bcast2d");
  })});
  auto report = evaluateLeftOut(data, h100());
  ASSERT_TRUE(static_cast<bool>(report));
  EXPECT_EQ(report->folds, 5);
  EXPECT_LT(report->overall.mape, 0.12);
  for (double predicted : report->predictedNs)
    ASSERT_GT(predicted, 0);
  auto oneFold = evaluateLeftOut(data, h100(), {}, 1);
  EXPECT_EQ(takeDiag(oneFold.takeError()).cls, DiagClass::BadInput);
}

TEST(Evaluate, FoldsDependOnTheShapeAlone) {
  std::set<int> seen;
  for (int m = 1; m < 200; ++m) {
    std::string shape = fmt::format("gemm|{}|4096|4096", m);
    int fold = foldOf(shape, 5);
    EXPECT_EQ(fold, foldOf(shape, 5));
    ASSERT_TRUE(fold >= 0 && fold < 5);
    seen.insert(fold);
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST(Evaluate, JsonHasTheDocumentedFields) {
  Dataset data = datasetOf({measured("attention.csv.gz", [](std::string_view) { return true; })});
  std::string json = toJson(evaluate(data, h100(), bundled()));
  for (const char *field :
       {"\"schema\": \"tilewright.evaluate\"", "\"families\"", "\"overall\"", "\"mape\"",
        "\"median_ape\"", "\"p90_ape\"", "\"bias\"", "\"oracle_at_1\"", "\"worst_at_1\"",
        "\"oracle_at_5\"", "\"oracle_at_10\"", "\"random_at_5\"", "\"unpriced_rows\": 0"})
    EXPECT_NE(json.find(field), std::string::npos) << field;
}

} // namespace
} // namespace tilewright
