#include "costmodel/templates.h"
#include "costmodel/testing/data.h"

#include <filesystem>

namespace tilewright {
namespace {

using testing::planFrom;

std::string messageOf(llvm::Error error) { return takeDiag(std::move(error)).str(); }

const std::string header = "kernel,dtype,d0,d1,d2,tile_m,tile_n,tile_k,warps,stages,group_m\n";

TEST(Templates, PlanHasTheRowsValues) {
  auto plan = planFrom(header + "gemm,bf16,256,512,1024,64,128,32,4,3,8\n");
  ASSERT_TRUE(static_cast<bool>(plan)) << messageOf(plan.takeError());
  EXPECT_EQ(plan->value("t0"), 64);
  EXPECT_EQ(plan->value("t1"), 128);
  EXPECT_EQ(plan->value("k0"), 32);
  Schedule schedule = plan->schedule();
  EXPECT_EQ(schedule.warps, 4);
  EXPECT_EQ(schedule.stages, 3);
  EXPECT_EQ(schedule.groupM, 8);
  EXPECT_EQ(schedule.splitK, 1); // no such column: the default
  EXPECT_EQ(schedule.instruction, Instruction::Wgmma);
  const Graph &graph = plan->ops();
  EXPECT_EQ(graph[graph.root()].shape.dims, (std::vector<int64_t>{256, 512}));
}

TEST(Templates, InstructionFollowsTileAndWarps) {
  EXPECT_EQ(planFrom(header + "gemm,bf16,256,512,1024,32,128,32,4,3,8\n")->instruction,
            Instruction::MmaSync);
  EXPECT_EQ(planFrom(header + "gemm,bf16,256,512,1024,64,128,32,2,3,8\n")->instruction,
            Instruction::MmaSync);
}

TEST(Templates, BadCellsAreLocated) {
  auto cell = planFrom(header + "gemm,bf16,256,512,1024,64x,128,32,4,3,8\n");
  EXPECT_NE(messageOf(cell.takeError()).find("row.csv:2:1: error: parameter 't0' is '64x'"),
            std::string::npos);
  auto zero = planFrom(header + "gemm,bf16,256,512,1024,64,0,32,4,3,8\n");
  EXPECT_NE(messageOf(zero.takeError()).find("'t1' is '0', allowed are whole numbers from 1"),
            std::string::npos);
  auto empty = planFrom(header + "gemm,bf16,256,512,1024,64,,32,4,3,8\n");
  EXPECT_NE(messageOf(empty.takeError()).find("column 'tile_n' is empty"), std::string::npos);
  auto dim = planFrom(header + "gemm,bf16,256,-5,1024,64,64,32,4,3,8\n");
  EXPECT_NE(messageOf(dim.takeError()).find("with this row's sizes"), std::string::npos);
  // What goes into the text of the ops is a number or a word, not more text.
  for (const char *dims : {"\"8,8\"", "5 12", "512]", "\x1b[31m"}) {
    auto text = planFrom(header + "gemm,bf16,256," + dims + ",1024,64,64,32,4,3,8\n");
    EXPECT_NE(messageOf(text.takeError()).find("row.csv:2:1: error: column 'd1' is '"),
              std::string::npos)
        << dims;
  }
  auto type = planFrom(header + "gemm,q7,256,512,1024,64,64,32,4,3,8\n");
  EXPECT_EQ(takeDiag(type.takeError()).cls, DiagClass::Unsupported);
  auto huge = planFrom(header + "gemm,bf16,256,512,1024,99999999999,64,32,4,3,8\n");
  EXPECT_FALSE(static_cast<bool>(huge));
  llvm::consumeError(huge.takeError());
}

TEST(Templates, IdentityKeepsADtypesShapeTogether) {
  TemplateLibrary templates = testing::bundledTemplates();
  auto table = llvm::cantFail(Table::parse(
      "t.csv", header + "gemm,bf16,256,512,1024,64,64,32,4,3,8\ngemm,f16,256,512,1024,64,64,32,4,"
                        "3,8\ngemm_nt,bf16,256,512,1024,64,64,32,4,3,8\n"));
  std::vector<RowIdentity> ids;
  for (size_t i = 0; i < 3; ++i) {
    TableRow row(table, i);
    ids.push_back(llvm::cantFail(templates.identify(*templates.match(row), row)));
  }
  EXPECT_EQ(ids[0].family, "gemm/bf16");
  EXPECT_EQ(ids[2].family, "gemm_nt/bf16");
  EXPECT_NE(ids[0].group, ids[1].group);
  EXPECT_NE(ids[0].group, ids[2].group);
  EXPECT_EQ(ids[0].shape, ids[1].shape);
  EXPECT_EQ(ids[0].shape, ids[2].shape);
}

/// A family that the tool has never seen, from a folder of the user's.
class UserTemplates : public ::testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("tilewright_templates_" +
              std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
    write("scale.hlo.txt", "HloModule scale\n\nENTRY main {\n  x = f32[${n}]{0} parameter(0)\n"
                           "  ROOT y = f32[${n}]{0} multiply(x, x)\n}\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string &name, const std::string &text) {
    llvm::cantFail(writeFileAtomically((folder / name).string(), text));
  }
  std::string errorOfManifest(const std::string &text) {
    write("scale.json", text);
    auto library = TemplateLibrary::load(folder.string());
    return library ? "" : messageOf(library.takeError());
  }

  static std::string manifest(const std::string &parameters) {
    return "{\"schema\": \"tilewright.template\", \"schema_version\": 1, \"family\": \"scale\",\n"
           "\"hlo\": \"scale.hlo.txt\", \"rows\": {\"kernel\": [\"scale\"]},\n"
           "\"variables\": {\"n\": {\"column\": \"n\"}},\n\"parameters\": {" +
           parameters +
           "},\n\"group\": [\"n\"], \"shape\": {\"name\": \"scale\", \"columns\": "
           "[\"n\"]}}\n";
  }

  std::filesystem::path folder;
};

TEST_F(UserTemplates, AddAFamily) {
  EXPECT_EQ(errorOfManifest(manifest("\"t0\": {\"column\": \"b\"}")), "");
  TemplateLibrary library = testing::bundledTemplates();
  size_t before = library.size();
  ASSERT_FALSE(library.addFolder(folder.string()));
  EXPECT_EQ(library.size(), before + 1);
  auto table = llvm::cantFail(Table::parse("t.csv", "kernel,n,b,time_ns\nscale,4096,256,1500\n"));
  std::vector<Table> tables = {table};
  auto data = loadDataset(tables, library, testing::h100());
  ASSERT_TRUE(static_cast<bool>(data));
  ASSERT_EQ(data->rows.size(), 1u);
  EXPECT_EQ(data->rows[0].features.ctas, 16);
}

TEST_F(UserTemplates, ErrorsInManifestsAreLocated) {
  std::string message = errorOfManifest(manifest("\"t0\": {\"col\": \"b\"}"));
  EXPECT_NE(message.find("scale.json:4:"), std::string::npos) << message;
  EXPECT_NE(message.find("'t0' needs a 'column' or a 'value'"), std::string::npos) << message;
  EXPECT_NE(errorOfManifest("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(errorOfManifest("{\"schema\": \"tilewright.template\", \"schema_version\": 2}")
                .find("schema version 2 is not known"),
            std::string::npos);
}

TEST_F(UserTemplates, AParameterWithoutAColumnIsUnsupported) {
  EXPECT_EQ(errorOfManifest(manifest("")), "");
  TemplateLibrary library;
  ASSERT_FALSE(library.addFolder(folder.string()));
  auto table = llvm::cantFail(Table::parse("t.csv", "kernel,n,b\nscale,4096,256\n"));
  TableRow row(table, 0);
  auto plan = library.planOf(0, row, testing::h100());
  Diag diag = takeDiag(plan.takeError());
  EXPECT_EQ(diag.cls, DiagClass::Unsupported);
  EXPECT_NE(diag.message.find("no column for tile parameter 't0'"), std::string::npos);
}

TEST(Dataset, CountsWhatItCanNotPrice) {
  auto table = llvm::cantFail(Table::parse(
      "t.csv", "kernel,dtype,d0,block,warps,time_ns,error\ncopy1d,bf16,4096,256,4,1500,\n"
               "copy1d,bf16,4096,256,4,,out of memory\nmystery,bf16,4096,256,4,1500,\n"));
  Dataset data = testing::datasetOf({table});
  EXPECT_EQ(data.rows.size(), 1u);
  EXPECT_EQ(data.failedRows, 1);
  ASSERT_EQ(data.unpriced.size(), 1u);
  EXPECT_EQ(data.unpriced[0].family, "mystery");
  EXPECT_EQ(data.unpriced[0].rows, 1);
}

TEST(Dataset, ATableWithoutTimesIsAnError) {
  auto table = llvm::cantFail(Table::parse("t.csv", "kernel\ncopy1d\n"));
  TemplateLibrary library = testing::bundledTemplates();
  std::vector<Table> tables = {table};
  auto data = loadDataset(tables, library, testing::h100());
  EXPECT_NE(messageOf(data.takeError()).find("no column 'time_ns'"), std::string::npos);
}

} // namespace
} // namespace tilewright
