// Random programs that write a window into a buffer: what is priced equals what the emulator counts
// of the very kernel, in place where the buffer is the update's to overwrite, and all of it where
// it isn't.
//
// TILEWRIGHT_FUZZ_PROGRAMS sets how many programs there are, TILEWRIGHT_FUZZ_SEED where their seeds
// start; the test of label `soak` has many more than the usual one.
#include "analysis/compiled/launch_shape.h"
#include "codegen/check.h"
#include "costmodel/features.h"
#include "tests/fuzz/random_generator.h"
#include "tools/explore/explore.h"
#include "tools/explore/testing/explore.h"

#include <cstdlib>

namespace tilewright {
namespace {

using fuzz::Dice;
using fuzz::Dims;

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Whose the buffer is.
enum class Owner {
  Donated,
  Donor,
  Argument,
  Made,
  MadeReadEarly,
  MadeReadLate,
  MadeResult,
  Carried
};
constexpr std::array owners = {Owner::Donated,    Owner::Donor,         Owner::Argument,
                               Owner::Made,       Owner::MadeReadEarly, Owner::MadeReadLate,
                               Owner::MadeResult, Owner::Carried};

bool mayOverwrite(Owner owner) {
  return owner != Owner::Argument && owner != Owner::MadeReadLate && owner != Owner::MadeResult;
}

int64_t product(const Dims &dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
}

/// An update named %put, and what it must move.
struct UpdateProgram {
  Owner owner = Owner::Made;
  bool isScatter = false, isFused = false, readsOld = false;
  std::string type;
  Dims buffer, update; ///< of a scatter: rows of the buffer, one an index
  int64_t trips = 1;

  UpdateProgram(uint64_t seed, Owner owner) : owner(owner), dice(seed * 8 + uint64_t(owner)) {
    isScatter = dice.oneIn(3);
    isFused = dice.oneIn(2);
    type = dice.of<std::string>({"f32", "f32", "bf16", "s32"});
    size_t rank = isScatter ? 2 : 1 + dice.below(3);
    if (owner == Owner::MadeReadEarly) // by a transpose, which moves elements of two dims alone
      rank = std::max<size_t>(rank, 2);
    for (size_t d = 0; d < rank; ++d) {
      const bool isLast = d + 1 == rank;
      buffer.push_back(int64_t(1) << (isLast ? 6 + dice.below(3) : 1 + dice.below(5)));
      const auto most = uint64_t(std::countr_zero(uint64_t(buffer.back())));
      update.push_back(isLast ? buffer.back() : int64_t(1) << dice.below(most + 1));
    }
    if (isScatter)
      update[0] = int64_t(1) << dice.below(6);
    readsOld = !isScatter && isFused && dice.oneIn(3);
    trips = owner == Owner::Carried ? 2 + int64_t(dice.below(4)) : 1;
  }

  int64_t elementBytes() const { return type == "bf16" ? 2 : 4; }
  double windowBytes() const { return double(product(update) * elementBytes()); }
  /// Indices that are no constants.
  double indexBytes() const { return isScatter ? 4.0 * double(update[0]) : 4; }
  double bufferBytes() const { return double(product(buffer) * elementBytes()); }
  /// In place: the update, and with the indices the old values where they are read or combined.
  double readBytes() const {
    return windowBytes() +
           (readsBuffer() ? std::min(windowBytes(), bufferBytes()) + indexBytes() : 0);
  }
  bool readsBuffer() const { return isScatter || readsOld; }

  std::string shape(const Dims &dims) const {
    return fmt::format("{}[{}]", type, fmt::join(dims, ","));
  }
  std::string indexShape() const {
    return isScatter ? fmt::format("s32[{},1]", update[0]) : "s32[]";
  }

  /// Lines that make `result` of %b, %u and %at.
  std::string lines(const std::string &result) const {
    std::string text =
        fmt::format("  m = {} {}(u)\n", shape(update), type == "s32" ? "not" : "negate");
    if (isScatter)
      return text + fmt::format("  {} = {} scatter(b, at, m), update_window_dims={{1}}, "
                                "inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                                "index_vector_dim=1, to_apply=plus\n",
                                result, shape(buffer));
    text += "  z = s32[] constant(0)\n";
    std::string starts = "at";
    for (size_t d = 1; d < buffer.size(); ++d)
      starts += ", z";
    std::string value = "m";
    if (readsOld) {
      text += fmt::format("  o = {0} dynamic-slice(b, {1}), dynamic_slice_sizes={{{2}}}\n"
                          "  n = {0} add(m, o)\n",
                          shape(update), starts, fmt::join(update, ","));
      value = "n";
    }
    return text + fmt::format("  {} = {} dynamic-update-slice(b, {}, {})\n", result, shape(buffer),
                              value, starts);
  }

  std::string fusedBody() const {
    return fmt::format("put_body {{\n  b = {} parameter(0)\n  u = {} parameter(1)\n"
                       "  at = {} parameter(2)\n{}}}\n",
                       shape(buffer), shape(update), indexShape(), lines("ROOT w"));
  }
  /// Makes %put of %b, %u and %at.
  std::string put() const {
    return isFused ? fmt::format("  put = {} fusion(b, u, at), kind={}, calls=put_body\n",
                                 shape(buffer), isScatter ? "kInput" : "kLoop")
                   : lines("put");
  }

  std::string text() const {
    std::string head = "HloModule m";
    if (owner == Owner::Donated)
      head += ", input_output_alias={ {0}: (0, {}, may-alias) }";
    if (owner == Owner::Donor)
      head += ", buffer_donor={ (0, {}) }";
    head += fmt::format("\nplus {{\n  x = {0}[] parameter(0)\n  y = {0}[] parameter(1)\n"
                        "  ROOT s = {0}[] add(x, y)\n}}\n",
                        type);
    if (isFused)
      head += fusedBody();
    return head + (owner == Owner::Carried ? loop() : entry());
  }

private:
  std::string parameters() const {
    return fmt::format("  p = {} parameter(0)\n  u = {} parameter(1)\n  at = {} parameter(2)\n",
                       shape(buffer), shape(update), indexShape());
  }

  std::string entry() const {
    const std::string all = shape(buffer);
    const char *negated = type == "s32" ? "not" : "negate";
    const bool isMade = owner >= Owner::Made;
    std::string text = "ENTRY main {\n" + parameters() +
                       fmt::format("  b = {} {}(p)\n", all, isMade ? negated : "bitcast");
    Dims turned(buffer.rbegin(), buffer.rend());
    std::string order;
    for (size_t d = buffer.size(); d-- > 0;)
      order += fmt::format("{}{}", order.empty() ? "" : ",", d);
    std::string results = "put", types = all;
    if (owner == Owner::MadeReadEarly) {
      text += fmt::format("  early = {} transpose(b), dimensions={{{}}}\n", shape(turned), order);
      results += ", early";
      types += ", " + shape(turned);
    }
    text += put();
    if (owner == Owner::MadeReadLate) {
      text += fmt::format("  late = {} subtract(put, b)\n", all);
      results = "late";
    }
    if (owner == Owner::MadeResult) {
      results += ", b";
      types += ", " + all;
    }
    return text + fmt::format("  ROOT r = ({}) tuple({})\n}}\n", types, results);
  }

  std::string loop() const {
    const std::string state =
        fmt::format("(s32[], {}, {}, {})", indexShape(), shape(update), shape(buffer));
    return fmt::format(
        "cond {{\n  s = {0} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant({1})\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n"
        "step {{\n  s = {0} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  at = {2} get-tuple-element(s), index=1\n  u = {3} get-tuple-element(s), index=2\n"
        "  b = {4} get-tuple-element(s), index=3\n  one = s32[] constant(1)\n"
        "  j = s32[] add(i, one)\n{5}  ROOT t = {0} tuple(j, at, u, put)\n}}\n"
        "ENTRY main {{\n{6}  zero = s32[] constant(0)\n  s = {0} tuple(zero, at, u, p)\n"
        "  w = {0} while(s), condition=cond, body=step\n"
        "  ROOT r = {4} get-tuple-element(w), index=3\n}}\n",
        state, trips, indexShape(), shape(update), shape(buffer), put(), parameters());
  }

  Dice dice;
};

/// The plan with its windows side by side, which code is written for: how many bytes are moved does
/// not depend on where a window's rows lie.
KernelPlan withPackedWindows(const KernelPlan &plan) {
  KernelPlan packed = plan;
  auto tiled = std::make_shared<TiledGroup>(*plan.tiled);
  tiled->group.within.clear();
  packed.tiled = std::move(tiled);
  return packed;
}

/// What the emulator counts of the kernel's best plan, beside what is priced. Threads ask for an
/// index again and again; all else they ask for once.
void compare(const ExploredKernel &kernel, const Device &device, double written, double read,
             bool isExact) {
  const KernelPlan &plan = kernel.plans.front().plan;
  const Features features = llvm::cantFail(featuresOf(plan, device));
  EXPECT_EQ(features.writeBytes, written);
  EXPECT_EQ(features.readBytes, read);
  EXPECT_EQ(kernel.plans.front().estimate.compulsoryBytes, written + read);
  llvm::Expected<KernelSpec> spec = specOf(withPackedWindows(plan));
  ASSERT_TRUE(bool(spec)) << takeDiag(spec.takeError()).message;
  const CheckOutcome outcome = checkKernel(*spec);
  ASSERT_EQ(outcome.status, CheckOutcome::Status::Pass) << outcome.reason;
  ASSERT_EQ(outcome.ctasRun, outcome.ctas);
  EXPECT_EQ(double(outcome.counts.globalWrittenBytes), written);
  const auto counted = double(outcome.counts.globalReadBytes + outcome.counts.asyncCopyBytes +
                              outcome.counts.tensorCopyBytes);
  if (isExact)
    EXPECT_EQ(counted, read);
  else // nothing is written that isn't read
    EXPECT_GE(counted, written);
}

std::string notesIn(const ExploredKernel &kernel) {
  return fmt::format("{}", fmt::join(kernel.notes, "; "));
}

TEST(InPlaceFuzz, WhatIsPricedIsWhatTheEmulatorCounts) {
  const uint64_t first = fromEnvironment("TILEWRIGHT_FUZZ_SEED", 1),
                 count = fromEnvironment("TILEWRIGHT_FUZZ_PROGRAMS", 6);
  Explored explored;
  ExploreOptions options;
  options.search.top = 1;
  size_t inPlace = 0, copied = 0;
  for (uint64_t seed = first; seed < first + count; ++seed)
    for (Owner owner : owners) {
      const UpdateProgram program(seed, owner);
      SCOPED_TRACE(fmt::format("seed {}, owner {}\n{}", seed, int(owner), program.text()));
      const ExploredModel model = explored.run(parseVerified(program.text()), options);
      const auto put = std::find_if(model.kernels.begin(), model.kernels.end(), [](auto &kernel) {
        return kernel.name == "put" && !kernel.notes.empty();
      });
      ASSERT_NE(put, model.kernels.end());
      EXPECT_EQ(put->tripCount, program.trips);
      const bool isInPlace = notesIn(*put).starts_with("in place");
      EXPECT_EQ(isInPlace, mayOverwrite(owner)) << notesIn(*put);
      if (isInPlace)
        compare(*put, explored.device, program.windowBytes(), program.readBytes(),
                !program.readsBuffer());
      else if (!program.isScatter)
        compare(*put, explored.device, program.bufferBytes(),
                program.bufferBytes() + program.windowBytes() + program.indexBytes(), false);
      (isInPlace ? inPlace : copied) += 1;
    }
  EXPECT_EQ(inPlace, 5 * count);
  EXPECT_EQ(copied, 3 * count);
}

// The same fusions as kernels of XLA's emitters: bytes, evaluations, threads and loads follow the
// update.
TEST(InPlaceFuzz, EmittersTouchWhatIsUpdated) {
  const uint64_t first = fromEnvironment("TILEWRIGHT_FUZZ_SEED", 1),
                 count = fromEnvironment("TILEWRIGHT_FUZZ_PROGRAMS", 6) * 20;
  constexpr double smCount = 132, mostInstructions = 64;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    UpdateProgram program(seed, Owner::Donated);
    program.isFused = true;
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, program.text()));
    const Module module = parseVerified(program.text());
    const Op &put = module.entry()[module.entry().find("put")];
    const FusionWork work = fusionWork(module, put, false);
    const auto updated = double(product(program.update));
    ASSERT_EQ(work.results.size(), 1u);
    EXPECT_EQ(work.results[0].inPlaceOf, 0);
    EXPECT_EQ(work.results[0].bytes, program.windowBytes());
    EXPECT_EQ(work.results[0].elements, updated);
    ASSERT_EQ(work.operands.size(), 3u);
    EXPECT_EQ(work.operands[0].bytes, program.readsBuffer() ? program.windowBytes() : 0);
    EXPECT_EQ(work.operands[1].bytes, program.windowBytes());
    EXPECT_EQ(work.operands[2].bytes, program.indexBytes());
    for (const FusionOperand &operand : work.operands)
      for (const auto &[path, loaded] : operand.loads)
        EXPECT_LE(loaded, 2 * updated + program.indexBytes());
    EXPECT_LE(work.instructions, mostInstructions * updated);
    const LaunchDims launch = launchDimsOf(module, put, launchKindOf(module, put), work, smCount);
    EXPECT_LE(launch.ctas * launch.threads, std::max(128.0, 2 * updated));
  }
}

} // namespace
} // namespace tilewright
