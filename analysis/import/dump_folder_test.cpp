#include "analysis/import/dump_folder.h"
#include "analysis/support/diag.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tilewright;
namespace fs = std::filesystem;

namespace {

/// A folder with empty files of the given names, removed in the end.
class Dump {
public:
  explicit Dump(const std::vector<std::string> &files) {
    root = fs::path(testing::TempDir()) /
           testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root);
    fs::create_directories(root);
    for (const std::string &file : files)
      std::ofstream(root / file) << "HloModule m\n";
  }
  ~Dump() { fs::remove_all(root); }

  /// The chosen files' names, or the error's message behind the folder's name.
  std::vector<std::string> chosen(DumpStage stage, std::string_view name = {}) const {
    auto modules = modulesOfDump(root.string(), stage, name);
    if (!modules) {
      const std::string message = takeDiag(modules.takeError()).message;
      EXPECT_TRUE(message.starts_with(root.string() + ": ")) << message;
      return {message.substr(std::min(message.size(), root.string().size() + 2))};
    }
    std::vector<std::string> names;
    for (const DumpedModule &module : *modules)
      names.push_back(fs::path(module.path).filename().string());
    return names;
  }

  fs::path root;
};

using Names = std::vector<std::string>;

} // namespace

TEST(DumpFolder, TakesTheOptimisedModuleUnlessItIsForACpu) {
  const std::string gpu = "module_0003.jit_f.sm_9.0_gpu_after_optimizations.txt",
                    gpuBefore = "module_0003.jit_f.before_optimizations.txt",
                    cpu = "module_0005.jit_g.cpu_after_optimizations.txt",
                    cpuBefore = "module_0005.jit_g.before_optimizations.txt";
  Dump dump({gpu, gpuBefore, cpu, cpuBefore});
  EXPECT_EQ(dump.chosen(DumpStage::Auto), (Names{gpu, cpuBefore}));
  EXPECT_EQ(dump.chosen(DumpStage::Before), (Names{gpuBefore, cpuBefore}));
  EXPECT_EQ(dump.chosen(DumpStage::After), (Names{gpu, cpu}));
}

TEST(DumpFolder, SaysWhichFileItTakes) {
  Dump dump({"module_0003.jit_f.sm_10.0a_gpu_after_optimizations.txt",
             "module_0003.jit_f.before_optimizations.txt"});
  auto noteAt = [&](DumpStage stage) {
    return llvm::cantFail(modulesOfDump(dump.root.string(), stage)).front().note;
  };
  EXPECT_EQ(noteAt(DumpStage::Auto), "after optimisation for sm_10.0a_gpu");
  EXPECT_EQ(noteAt(DumpStage::Before), "before optimisation");
}

// Names as XLA gives them: other files of a module, dumps of passes, versions, time stamps, names
// with dots, compression.
TEST(DumpFolder, LeavesOtherFilesAlone) {
  Dump dump({"module_0001.jit_f", "module_0001.jit_f.debug_options",
             "module_0001.jit_f.gpu_after_optimizations-buffer-assignment.txt",
             "module_0001.jit_f.gpu_after_optimizations-memory-usage-report.pb",
             "module_0001.jit_f.gpu_after_optimizations.dot", "module_0001.jit_f.ir-no-opt.ll",
             "module_0001.jit_f.0004.layout.after_pipeline-start.before_algsimp.txt",
             "module_0001.jit_f.0007.fusion.after_priority-fusion.before_optimizations.dot",
             "1700000000.module_0002.jit_a.b.1.gfx90a_gpu_after_optimizations.hlo.pb.gz",
             "module_0003.jit_c.after_optimizations.hlo", "after_optimizations.txt"});
  EXPECT_EQ(dump.chosen(DumpStage::Auto),
            (Names{"1700000000.module_0002.jit_a.b.1.gfx90a_gpu_after_optimizations.hlo.pb.gz",
                   "module_0003.jit_c.after_optimizations.hlo"}));
}

TEST(DumpFolder, TakesTextBeforeProtos) {
  Dump dump({"module_0001.f.gpu_after_optimizations.hlo.pb",
             "module_0001.f.gpu_after_optimizations.txt",
             "module_0001.f.gpu_after_optimizations.hlo.pb.gz"});
  EXPECT_EQ(dump.chosen(DumpStage::Auto), (Names{"module_0001.f.gpu_after_optimizations.txt"}));
}

TEST(DumpFolder, ChoosesByName) {
  const std::string f = "module_0001.f.before_optimizations.txt",
                    g = "module_0002.g.before_optimizations.txt",
                    again = "module_0003.g.before_optimizations.txt";
  Dump dump({f, g, again});
  EXPECT_EQ(dump.chosen(DumpStage::Auto, "f"), Names{f});
  EXPECT_EQ(dump.chosen(DumpStage::Auto, "module_0003.g"), Names{again});
  EXPECT_EQ(dump.chosen(DumpStage::Auto, "g"),
            Names{"2 modules are called 'g': module_0002.g, module_0003.g"});
  EXPECT_EQ(dump.chosen(DumpStage::Auto, "h"),
            Names{"there is no module 'h', there is module_0001.f, module_0002.g, module_0003.g"});
  EXPECT_EQ(dump.chosen(DumpStage::After),
            Names{"none of its 3 modules is there after optimisation; leave out --stage"});
}

TEST(DumpFolder, RefusesFoldersWithoutModules) {
  Dump dump({"weights.bin", "module_0001.f.txt"});
  EXPECT_TRUE(dump.chosen(DumpStage::Auto)
                  .front()
                  .starts_with("the folder holds no module of --xla_dump_to"));
  auto modules = modulesOfDump((dump.root / "gone").string(), DumpStage::Auto);
  ASSERT_FALSE(modules);
  EXPECT_NE(takeDiag(modules.takeError()).message.find("cannot read the folder"),
            std::string::npos);
}
