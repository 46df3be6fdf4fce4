#include "analysis/support/diag.h"
#include "tools/report/document.h"
#include "tools/report/testing/sample.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::report;

namespace {
llvm::Expected<Documents> read(const std::string &json) {
  ReportInput input{"d.json", json};
  return readDocuments({&input, 1});
}

Diag refusal(const std::string &json) {
  llvm::Expected<Documents> documents = read(json);
  if (documents) {
    ADD_FAILURE() << "accepted: " << json.substr(0, 200);
    return {};
  }
  return takeDiag(documents.takeError());
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
} // namespace

TEST(ReportDocument, ReadsAnExploration) {
  auto documents = read(sampleExploration(sampleFiveKernels(),
                                          R"(,"unsupported":[{"op":"sort.3","reason":"no map"}],
"no_kernel":[{"op":"Arg_0.1","reason":"parameter"}],"total_time_ns":87000,
"total_is_complete":false,"lower_bound_ns":40000)"));
  ASSERT_TRUE(static_cast<bool>(documents));
  ASSERT_EQ(documents->explorations.size(), 1u);
  const Exploration &exploration = documents->explorations[0];
  EXPECT_EQ(exploration.file, "d.json");
  EXPECT_EQ(exploration.calibration, "h100-sxm");
  EXPECT_EQ(exploration.device.peakFlopsPerS.size(), 3u);
  const Model &model = exploration.models.at(0);
  ASSERT_EQ(model.kernels.size(), 5u);
  EXPECT_FALSE(model.totalIsComplete);
  EXPECT_EQ(model.unsupported.at(0).op, "sort.3");
  const Kernel &kernel = model.kernels[0];
  EXPECT_EQ(kernel.plan.tile, (Parameters{{"t0", "1"}, {"t1", "128"}, {"k0", "64"}}));
  EXPECT_EQ(kernel.plan.schedule.at(0).first, "instruction");
  EXPECT_EQ(kernel.timeNs, 50000);
  EXPECT_EQ(kernel.alternatives.size(), 2u);
}

TEST(ReportDocument, ReadsAnEvaluation) {
  auto documents = read(sampleEvaluation());
  ASSERT_TRUE(static_cast<bool>(documents));
  const Evaluation &evaluation = documents->evaluations.at(0);
  ASSERT_EQ(evaluation.families.size(), 2u);
  EXPECT_EQ(evaluation.families[0].bias, -0.0123);
  EXPECT_FALSE(evaluation.families[1].mape);
  EXPECT_EQ(evaluation.rows.size(), 5u);
  EXPECT_EQ(evaluation.device, "h100-sxm");

  documents = read(replaced(sampleEvaluation(), "\"h100-sxm\"", "{\"name\":\"l4\"}"));
  ASSERT_TRUE(static_cast<bool>(documents));
  EXPECT_EQ(documents->evaluations.at(0).device, "l4");
}

TEST(ReportDocument, MissingAndNullFieldsReadAsMissing) {
  auto documents = read(R"({"schema":"tilewright.explore","schema_version":1,"calibration":null,
"models":[{"model":"m","kernels":[{"name":"k","time_ns":null}]}]})");
  ASSERT_TRUE(static_cast<bool>(documents));
  EXPECT_FALSE(documents->explorations[0].models[0].kernels[0].timeNs);
}

TEST(ReportDocument, RefusalsNameTheJsonPath) {
  const std::string good = sampleExploration(sampleFiveKernels());
  const std::string mapped = sampleExploration(sampleMappedKernel("k", ""));
  struct {
    std::string json, expected;
  } cases[] = {
      {replaced(good, "\"time_ns\":50000", "\"time_ns\":\"fast\""),
       "models[0].kernels[0].time_ns is a string, expected a number"},
      {replaced(good, "\"time_ns\":3000", "\"time_ns\":-3"),
       "models[0].kernels[2].time_ns is -3, allowed is 0 or more"},
      {replaced(good, "\"name\":\"k1_mid\",", ""),
       "models[0].kernels[1].name is missing, expected a string"},
      {replaced(good, "\"dot.1\"", "17"), "models[0].kernels[0].ops[0] is not a string"},
      {replaced(good, "\"warps\":4", "\"warps\":[4]"),
       "models[0].kernels[0].plan.schedule.warps is an array"},
      {replaced(good, "{\"k0\":64,\"t0\":1,\"t1\":128}", "7"),
       "models[0].kernels[0].plan.tile is a number, expected an object"},
      {replaced(good, "\"tensor\":100.0", "\"tensor\":true"),
       "models[0].kernels[0].terms.tensor is a boolean, expected a number"},
      {sampleExploration("5"), "models[0].kernels[0] is a number, expected an object"},
      {sampleExploration("", R"(,"unsupported":[{"reason":"x"}])"),
       "models[0].unsupported[0].op is missing"},
      {sampleExploration("", R"(,"total_is_complete":1)"),
       "models[0].total_is_complete is a number, expected true or false"},
      {R"({"schema":"tilewright.explore","schema_version":1})", "models is missing"},
      {replaced(good, "\"schema_version\":1", "\"schema_version\":2"),
       "schema_version is 2, known is 1"},
      {replaced(good, "tilewright.explore", "somebody.else"), "schema is \"somebody.else\""},
      {R"({"schema":5})", "schema is a number, expected a string"},
      {"{}", "schema is missing"},
      {"[]", "the document is an array, expected an object"},
      {replaced(sampleEvaluation(), "\"mape\":0.0834", "\"mape\":{}"),
       "families[0].mape is an object, expected a number"},
      {replaced(sampleEvaluation(), "\"predicted_ns\":5000", "\"predicted_ns\":[]"),
       "rows[1].predicted_ns is an array, expected a number"},
      {replaced(mapped, "2000,null]", "2000]"),
       "models[0].kernels[0].tile_map has 5 times, expected 2 rows x 3 columns"},
      {replaced(mapped, "\"cell\":5", "\"cell\":6"),
       "models[0].kernels[0].tile_map.refusals[0].cell is 6, allowed is 0 to 5"},
      {replaced(mapped, "[32,64]", "[32,\"x\"]"),
       "models[0].kernels[0].tile_map.rows.sizes[1] is a string, expected a number"},
      {replaced(mapped, "\"reads\":[]", "\"reads\":[3]"),
       "models[0].kernels[0].reads[0] is not a string"},
      {replaced(samplePlannedEvaluation(), "\"good\"", "{}"), "rows[0].group is an object"},
      {replaced(sampleCalibration(), "\"value\":800", "\"value\":\"x\""),
       "parameters.launch.value is a string, expected a number"},
      {replaced(sampleCalibration(), "\"parameters\"", "\"other\""), "parameters is missing"},
  };
  for (const auto &[json, expected] : cases) {
    Diag diag = refusal(json);
    EXPECT_EQ(diag.cls, DiagClass::BadInput);
    EXPECT_EQ(diag.file, "d.json");
    EXPECT_NE(diag.message.find(expected), std::string::npos)
        << diag.message << "\nexpected: " << expected;
  }
}

TEST(ReportDocument, InvalidJsonIsLocated) {
  Diag diag = refusal("{\n  \"schema\": \n}");
  EXPECT_EQ(diag.cls, DiagClass::BadInput);
  EXPECT_EQ(diag.line, 3u);
  EXPECT_EQ(diag.column, 1u);
  EXPECT_NE(diag.message.find("invalid JSON"), std::string::npos) << diag.message;
  EXPECT_EQ(diag.message.find("json.exception"), std::string::npos) << diag.message;

  for (const std::string &bad :
       {std::string(), std::string("\0\1\2\xff", 4), std::string("{\"a\":\"\xc3\x28\"}"),
        std::string("{\"a\":1e999}"), std::string("{\"a\":NaN}"), std::string("{} {}")})
    EXPECT_EQ(refusal(bad).cls, DiagClass::BadInput);
}

TEST(ReportDocument, EveryTruncationIsRefused) {
  const std::string good = sampleExploration(sampleKernel("k", 5, 6, 7));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_EQ(refusal(good.substr(0, length)).cls, DiagClass::BadInput);
}

TEST(ReportDocument, DeepNestingIsRefusedBeforeParsing) {
  Diag diag = refusal(std::string(200000, '['));
  EXPECT_NE(diag.message.find("deep"), std::string::npos) << diag.message;
  EXPECT_EQ(diag.column, 65u);
}

TEST(ReportDocument, NoDocumentsAreRefused) {
  Diag diag = takeDiag(readDocuments({}).takeError());
  EXPECT_EQ(diag.cls, DiagClass::BadInput);
}
