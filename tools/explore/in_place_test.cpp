// Who may overwrite a buffer, and what a kernel that does moves.
#include "tools/explore/explore.h"
#include "tools/explore/named_kernel.h"
#include "tools/explore/testing/explore.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

ExploredModel explored(const std::string &text, const std::string &attributes = "") {
  static const Device device = llvm::cantFail(loadDevice("h100-sxm"));
  ExploreOptions options;
  options.search.maxPriced = 200;
  return llvm::cantFail(exploreModel(parseVerified("HloModule m" + attributes + "\n" + text),
                                     device, priorCalibration(device), options));
}

const ExploredKernel *find(const ExploredModel &model, const std::string &name) {
  auto it = std::find_if(model.kernels.begin(), model.kernels.end(),
                         [&](const ExploredKernel &kernel) { return kernel.name == name; });
  return it == model.kernels.end() ? nullptr : &*it;
}

std::string notesOf(const ExploredKernel &kernel) {
  return fmt::format("{}", fmt::join(kernel.notes, "; "));
}

double bytesOf(const ExploredKernel &kernel) {
  return kernel.plans.front().estimate.compulsoryBytes;
}

/// The update `put` writes a window of `bytes` bytes alone.
void expectInPlace(const ExploredModel &model, double bytes) {
  const ExploredKernel *kernel = find(model, "put");
  ASSERT_TRUE(kernel);
  EXPECT_NE(notesOf(*kernel).find("in place"), std::string::npos) << notesOf(*kernel);
  EXPECT_LE(bytesOf(*kernel), 3 * bytes + 64); // starts, too
  EXPECT_GE(bytesOf(*kernel), bytes);
  EXPECT_LT(kernel->plans.front().estimate.timeNs, 5000);
}

/// It writes all, for a reason.
void expectCopy(const ExploredModel &model, const std::string &reason) {
  const ExploredKernel *kernel = find(model, "put");
  ASSERT_TRUE(kernel);
  EXPECT_NE(notesOf(*kernel).find("writes all of its result: " + reason), std::string::npos)
      << notesOf(*kernel);
  EXPECT_GE(bytesOf(*kernel), 2.0 * 4096 * 1024 * 4 * 0.99);
}

/// An entry in which %put updates a row of %b.
std::string entry(const std::string &before, const std::string &after) {
  return "ENTRY main {\n  p = f32[4096,1024] parameter(0)\n  row = f32[1,1024] parameter(1)\n"
         "  at = s32[] parameter(2)\n  z = s32[] constant(0)\n" +
         before + "  put = f32[4096,1024] dynamic-update-slice(b, row, at, z)\n" + after + "}\n";
}
const char *isResult = "  ROOT r = (f32[4096,1024]) tuple(put)\n";
constexpr double rowBytes = 1024 * 4;

TEST(InPlace, ArgumentsMustBeDonated) {
  const std::string text = entry("  b = f32[4096,1024] bitcast(p)\n", isResult);
  expectCopy(explored(text), "%p is an argument that is not donated");
  expectInPlace(explored(text, ", input_output_alias={ {0}: (0, {}, may-alias) }"), rowBytes);
  expectInPlace(explored(text, ", buffer_donor={ (0, {}) }"), rowBytes);
  expectCopy(explored(text, ", input_output_alias={ {0}: (1, {}, may-alias) }"), "%p is an");
}

// By the names that explore lists, an update in place is the same kernel as by its root.
TEST(InPlace, AreFoundByTheirOps) {
  const Module module = parseVerified("HloModule m, buffer_donor={ (0, {}) }\n" +
                                      entry("  b = f32[4096,1024] bitcast(p)\n", isResult));
  const PreparedModel prepared = llvm::cantFail(prepareModel(module));
  size_t found = 0;
  for (const ExploredKernel &kernel :
       explored(entry("  b = f32[4096,1024] bitcast(p)\n", isResult), ", buffer_donor={ (0, {}) }")
           .kernels) {
    const KernelSource byRoot = llvm::cantFail(findKernel(prepared, kernel.source.name));
    const KernelSource byOps = llvm::cantFail(kernelOfOps(prepared, kernel.ops));
    EXPECT_EQ(byOps.graph, byRoot.graph) << kernel.name;
    EXPECT_EQ(byOps.group.ops, byRoot.group.ops) << kernel.name;
    found += byOps.graph != prepared.module->entryId;
  }
  EXPECT_GE(found, 1u);
  EXPECT_EQ(takeDiag(kernelOfOps(prepared, {}).takeError()).cls, DiagClass::BadInput);
}

TEST(InPlace, WhatAKernelMadeIsOverwrittenOnceNobodyReadsIt) {
  const std::string made = "  b = f32[4096,1024] exponential(p)\n";
  expectInPlace(explored(entry(made, isResult)), rowBytes);
  // Before the update is early enough.
  expectInPlace(explored(entry(made + "  early = f32[1024,4096] transpose(b), dimensions={1,0}\n",
                               "  ROOT r = (f32[4096,1024], f32[1024,4096]) tuple(put, early)\n")),
                rowBytes);
  expectCopy(explored(entry(made, "  late = f32[4096,1024] subtract(put, b)\n"
                                  "  ROOT r = (f32[4096,1024]) tuple(late)\n")),
             "%b is read by %late after the update");
  expectCopy(explored(entry(made, "  ROOT r = (f32[4096,1024], f32[4096,1024]) tuple(put, b)\n")),
             "%b is a result, too");
  // Of two updates one has the buffer.
  ExploredModel both =
      explored(entry(made, "  second = f32[4096,1024] dynamic-update-slice(b, row, z, z)\n"
                           "  ROOT r = (f32[4096,1024], f32[4096,1024]) tuple(put, second)\n"));
  expectCopy(both, "%b is updated by %second, too");
  EXPECT_NE(notesOf(*find(both, "second")).find("in place"), std::string::npos);
}

TEST(InPlace, AReaderInAKernelThatWaitsReadsTooLate) {
  // %half reads %b and could run early, but runs with %late, which needs %put.
  expectCopy(explored(entry("  b = f32[4096,1024] exponential(p)\n",
                            "  half = f32[4096,1024] negate(b)\n"
                            "  late = f32[4096,1024] add(half, put)\n"
                            "  ROOT r = (f32[4096,1024]) tuple(late)\n")),
             "%b is read by %half after the update");
}

/// A loop of 100 steps whose state is (i, x, all); `body` makes %put and the next state.
std::string loop(const std::string &body, const std::string &initial) {
  const char *state = "(s32[], f32[1024], f32[4096,1024])";
  return fmt::format(
      "cond {{\n  s = {0} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] constant(100)\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n"
      "body {{\n  s = {0} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[1024] get-tuple-element(s), index=1\n"
      "  all = f32[4096,1024] get-tuple-element(s), index=2\n"
      "  one = s32[] constant(1)\n  z = s32[] constant(0)\n"
      "  j = s32[] add(i, one)\n{1}}}\n"
      "ENTRY main {{\n  p = f32[4096,1024] parameter(0)\n"
      "  x0 = f32[1024] parameter(1)\n  z0 = s32[] constant(0)\n{2}"
      "  s0 = {0} tuple(z0, x0, init)\n"
      "  l = {0} while(s0), condition=cond, body=body\n"
      "  ROOT out = f32[4096,1024] get-tuple-element(l), index=2\n}}\n",
      state, body, initial);
}
const char *writeRow = "  y = f32[1024] tanh(x)\n  row = f32[1,1024] reshape(y)\n"
                       "  put = f32[4096,1024] dynamic-update-slice(all, row, i, z)\n";
const char *carry = "  ROOT next = (s32[], f32[1024], f32[4096,1024]) tuple(j, y, put)\n";
const char *zeros = "  f0 = f32[] constant(0)\n"
                    "  init = f32[4096,1024] broadcast(f0), dimensions={}\n";

TEST(InPlace, WhatALoopCarriesIsUpdatedInPlace) {
  ExploredModel model = explored(loop(std::string(writeRow) + carry, zeros));
  expectInPlace(model, 2 * rowBytes); // %y is written, too
  const ExploredKernel &put = *find(model, "put");
  EXPECT_EQ(put.ops, (std::vector<std::string>{"y", "put"})) << "made and written by one kernel";
  EXPECT_EQ(put.tripCount, 100);
  // The step's number is known to whoever launches it.
  EXPECT_EQ(find(model, "j"), nullptr);
  EXPECT_TRUE(std::any_of(model.noKernel.begin(), model.noKernel.end(),
                          [](const UnsupportedOp &op) { return op.op == "j"; }));
  // The zeros are made once and are the loop's own.
  EXPECT_EQ(model.kernels.size(), 2u);
}

TEST(InPlace, WhatALoopMayNotOverwriteIsCopiedOnceBefore) {
  const std::string text =
      loop(std::string(writeRow) + carry, "  init = f32[4096,1024] bitcast(p)\n");
  ExploredModel model = explored(text);
  expectInPlace(model, 2 * rowBytes);
  const ExploredKernel *copy = find(model, "l.copy2");
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->tripCount, 1);
  EXPECT_EQ(bytesOf(*copy), 2.0 * 4096 * 1024 * 4);
  EXPECT_NE(notesOf(*copy).find("%p is an argument that is not donated"), std::string::npos);
  EXPECT_EQ(find(explored(text, ", buffer_donor={ (0, {}) }"), "l.copy2"), nullptr);
}

TEST(InPlace, TheOldStateMayNotBeNeededLater) {
  expectCopy(explored(loop(std::string(writeRow) +
                               "  d = f32[4096,1024] subtract(put, all)\n"
                               "  ROOT next = (s32[], f32[1024], f32[4096,1024]) tuple(j, y, d)\n",
                           zeros)),
             "element 2 of the loop's state is not carried on in its place");
}

TEST(InPlace, LoopsInLoopsUpdateOneBuffer) {
  const char *state = "(s32[], f32[4096,1024])";
  const std::string text = fmt::format(
      "few {{\n  s = {0} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  n = s32[] constant(10)\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n"
      "inner {{\n  s = {0} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  b = f32[4096,1024] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
      "  z = s32[] constant(0)\n  j = s32[] add(i, one)\n  f = f32[] constant(1)\n"
      "  row = f32[1,1024] broadcast(f), dimensions={{}}\n"
      "  put = f32[4096,1024] dynamic-update-slice(b, row, i, z)\n"
      "  ROOT n = {0} tuple(j, put)\n}}\n"
      "outer {{\n  s = {0} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  b = f32[4096,1024] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n"
      "  z = s32[] constant(0)\n  j = s32[] add(i, one)\n  t = {0} tuple(z, b)\n"
      "  w = {0} while(t), condition=few, body=inner\n"
      "  again = f32[4096,1024] get-tuple-element(w), index=1\n  ROOT n = {0} tuple(j, again)\n}}\n"
      "ENTRY main {{\n  p = f32[4096,1024] parameter(0)\n  z = s32[] constant(0)\n"
      "  t = {0} tuple(z, p)\n  w = {0} while(t), condition=few, body=outer\n"
      "  ROOT r = f32[4096,1024] get-tuple-element(w), index=1\n}}\n",
      state);
  ExploredModel model = explored(text);
  expectInPlace(model, rowBytes);
  EXPECT_EQ(find(model, "put")->tripCount, 100);
  size_t copies = 0; // once, before the outer loop
  for (const ExploredKernel &kernel : model.kernels)
    copies += kernel.name.find(".copy") != std::string::npos;
  EXPECT_EQ(copies, 1u);
  EXPECT_TRUE(find(model, "w.copy1"));
}

/// A fusion `put` of an update of its first operand, made by a kernel.
std::string fused(const std::string &body, const std::string &type = "f32[4096,1024]") {
  return "put_body {\n  c = f32[4096,1024] parameter(0)\n  row = f32[1,1024] parameter(1)\n"
         "  at = s32[] parameter(2)\n  z = s32[] constant(0)\n" +
         body +
         "}\nENTRY main {\n  p = f32[4096,1024] parameter(0)\n  row = f32[1,1024] parameter(1)\n"
         "  at = s32[] parameter(2)\n  b = f32[4096,1024] exponential(p)\n  ROOT put = " +
         type + " fusion(b, row, at), kind=kLoop, calls=put_body\n}\n";
}

TEST(InPlace, FusionsWriteTheirWindow) {
  expectInPlace(explored(fused("  n = f32[1,1024] negate(row)\n"
                               "  ROOT u = f32[4096,1024] dynamic-update-slice(c, n, at, z)\n")),
                rowBytes);
  // The window's old values are there to be read.
  expectInPlace(
      explored(fused("  o = f32[1,1024] dynamic-slice(c, at, z), dynamic_slice_sizes={1,1024}\n"
                     "  n = f32[1,1024] add(row, o)\n"
                     "  ROOT u = f32[4096,1024] dynamic-update-slice(c, n, at, z)\n")),
      rowBytes);
  expectCopy(
      explored(fused("  o = f32[1,1024] dynamic-slice(c, z, at), dynamic_slice_sizes={1,1024}\n"
                     "  n = f32[1,1024] add(row, o)\n"
                     "  ROOT u = f32[4096,1024] dynamic-update-slice(c, n, at, z)\n")),
      "%o reads more of %c than what it writes");
  expectCopy(explored(fused("  n = f32[4096,1024] negate(c)\n"
                            "  ROOT u = f32[4096,1024] dynamic-update-slice(n, row, at, z)\n")),
             "%n is made in the same kernel");
}

TEST(InPlace, AFusionMayHaveOtherResults) {
  ExploredModel model = explored(fused("  n = f32[1,1024] negate(row)\n"
                                       "  u = f32[4096,1024] dynamic-update-slice(c, n, at, z)\n"
                                       "  ROOT t = (f32[1,1024], f32[4096,1024]) tuple(n, u)\n",
                                       "(f32[1,1024], f32[4096,1024])"));
  expectInPlace(model, 2 * rowBytes);
}

TEST(InPlace, ScattersReadAndWriteWhatTheyHit) {
  auto text = [](const char *buffer) {
    return std::string("plus {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                       "  ROOT s = f32[] add(a, b)\n}\n"
                       "ENTRY main {\n  p = f32[4096,1024] parameter(0)\n"
                       "  at = s32[512,1] parameter(1)\n  v = f32[512,1024] parameter(2)\n"
                       "  b = f32[4096,1024] ") +
           buffer +
           "\n  ROOT put = f32[4096,1024] scatter(b, at, v), update_window_dims={1}, "
           "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
           "to_apply=plus\n}\n";
  };
  ExploredModel model = explored(text("exponential(p)"));
  const ExploredKernel *put = find(model, "put");
  ASSERT_TRUE(put);
  EXPECT_NE(notesOf(*put).find("in place"), std::string::npos) << notesOf(*put);
  const double rows = 512 * rowBytes;
  EXPECT_GE(bytesOf(*put), 3 * rows); // old values, updates, new ones
  EXPECT_LE(bytesOf(*put), 3.1 * rows);
  EXPECT_EQ(put->flops, 512 * 1024);
  expectCopy(explored(text("bitcast(p)")), "%p is an argument that is not donated");
}

// Rows of a window lie apart by the rows of what it is a window of.
TEST(InPlace, NarrowWindowsAreWrittenInPieces) {
  auto partialSectors = [](int64_t rows, int64_t columns) {
    ExploredModel model = explored(fmt::format(
        "ENTRY main {{\n  p = f32[16384,1024] parameter(0)\n  w = f32[{0},{1}] parameter(1)\n"
        "  at = s32[] parameter(2)\n  z = s32[] constant(0)\n"
        "  b = f32[16384,1024] exponential(p)\n"
        "  ROOT put = f32[16384,1024] dynamic-update-slice(b, w, at, z)\n}}\n",
        rows, columns));
    return find(model, "put")->plans.front().estimate.term("partial sectors");
  };
  EXPECT_EQ(partialSectors(64, 1024), 0);
  EXPECT_GT(partialSectors(16384, 4), 0); // a sector each for 16 bytes
}

} // namespace
} // namespace tilewright
