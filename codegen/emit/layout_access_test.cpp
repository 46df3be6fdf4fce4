// Passes of shared memory that layouts predict against those that the emulator counts: rows,
// padding, swizzles and permutations, written in one layout and read in another one.
#include "analysis/program/layout/program_layouts.h"
#include "codegen/emit/testing/emulate.h"

namespace tilewright::emit::testing {
namespace {

using program::Program;

std::string textOfCopy(std::string_view type, std::string_view buffer, std::string_view written,
                       std::string_view read) {
  return fmt::format("kernel k(a: {0}[64, 64]) -> c: {0}[64, 64]\n"
                     "warps 4\n"
                     "axis i < 64, j < 64\n"
                     "shared S: {0}[i,j]{1}\n"
                     "x = load a[i, j] @ {2}\n"
                     "write S <- x\n"
                     "y = read S @ {3}\n"
                     "store c[i, j] = y\n",
                     type, buffer, written, read);
}

struct Passes {
  int64_t least = 0, all = 0;
  bool operator==(const Passes &) const = default;
};

std::optional<Passes> predicted(const Program &program, const std::string &what) {
  llvm::Expected<layout::ProgramLayouts> layouts = layout::layoutsOf(program);
  EXPECT_TRUE(bool(layouts)) << what;
  if (!layouts) {
    llvm::consumeError(layouts.takeError());
    return std::nullopt;
  }
  Passes passes;
  for (const layout::SharedUse &use : layouts->shared) {
    EXPECT_TRUE(use.access) << what << use.reason;
    if (!use.access)
      return std::nullopt;
    passes.least += use.access->leastPasses;
    passes.all += use.access->passes;
  }
  return passes;
}

void compare(std::string_view type, std::string_view buffer, std::string_view written,
             std::string_view read, int &conflicts) {
  std::string text = textOfCopy(type, buffer, written, read);
  Program program = program::testing::parsed(text, "copy");
  EmulationOptions options;
  options.countBankConflicts = true;
  Tensor input(Shape{*parseDType(type), {64, 64}});
  llvm::Expected<Emulated> run = emulate(program, std::span(&input, 1), options);
  ASSERT_TRUE(bool(run)) << text << takeDiag(run.takeError()).str();
  std::optional<Passes> wanted = predicted(program, text);
  ASSERT_TRUE(wanted);
  EXPECT_EQ(run->counts.sharedAccesses, wanted->least) << text;
  EXPECT_EQ(run->counts.sharedWavefronts, wanted->all) << text;
  conflicts += wanted->all > wanted->least;
}

TEST(LayoutAccess, PassesAreThoseOfTheEmulator) {
  int conflicts = 0, compared = 0;
  for (std::string_view type : {"f32", "bf16", "s8"})
    for (std::string_view buffer :
         {"", " pad 4", " pad 8", " swizzle 32", " swizzle 64", " swizzle 128", " permute 4"})
      for (auto [written, read] :
           {std::pair("flat(4)", "across(1)"), std::pair("across(4)", "flat(4)"),
            std::pair("rows(2, 8)", "wgmma(1, 1)"), std::pair("mma(2, 2)", "flat(2)")}) {
        if (type == "s8" && buffer == " swizzle 128") // rows of 64 bytes
          continue;
        ++compared;
        compare(type, buffer, written, read, conflicts);
      }
  EXPECT_GT(conflicts, 20);
  EXPECT_GT(compared - conflicts, 5);
}

} // namespace
} // namespace tilewright::emit::testing
