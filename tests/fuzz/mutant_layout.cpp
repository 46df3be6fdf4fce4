// Mutants of layouts, of casts, and of loops that are scheduled: of each that is read, everything
// that commands ask of it has an answer.
#include "analysis/program/inference/explain.h"
#include "analysis/program/layout/access.h"
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout/images.h"
#include "analysis/program/layout/picture.h"
#include "analysis/program/layout/program_layouts.h"
#include "analysis/program/layout_text.h"
#include "analysis/program/pipeline/pipeline_choice.h"
#include "analysis/program/substitute.h"
#include "analysis/program/text.h"
#include "analysis/program/verify.h"
#include "tests/fuzz/mutant_formats.h"

#include <charconv>
#include <fmt/format.h>

namespace tilewright::test {

namespace {

namespace tp = tilewright::program;

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines(1);
  for (char c : text)
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  return lines;
}

llvm::Error faultOfLayout(std::string what) { return makeError(DiagClass::Internal, "{}", what); }

/// A program without ops whose axes are a, b, …, of the sizes in a line: "64 16".
llvm::Expected<tp::Program> axesOf(const std::string &line) {
  tp::Program program;
  const char *at = line.data(), *end = at + line.size();
  while (at != end) {
    int64_t extent = 0;
    auto [next, status] = std::from_chars(at, end, extent);
    if (status != std::errc() || extent < 1 || extent > 1 << 14 || program.axes.size() > 3 ||
        (next != end && *next != ' '))
      return makeError(DiagClass::BadInput, "'{}' are no sizes", line);
    tp::Axis axis;
    axis.name = std::string(1, static_cast<char>('a' + program.axes.size()));
    axis.var = program.context->variable(VarKind::Dim, axis.name);
    axis.extent = program.context->constant(extent);
    axis.origin = program.context->constant(0);
    program.axes.push_back(std::move(axis));
    at = next == end ? end : next + 1;
  }
  program.warps = program.context->constant(4);
  return program;
}

/// Everything that `tilewright layout` says of a layout by itself.
llvm::Error askLayout(const layout::TileLayout &held) {
  constexpr int64_t mostPoints = 1 << 14; // keeps a mutant quick
  if (held.registers() * held.threads() > mostPoints || held.boxSize() > mostPoints)
    return llvm::Error::success();
  const std::string fault = held.fault();
  if (held.str().empty())
    return faultOfLayout("a layout without words");
  llvm::Expected<layout::TileLayout> again = layout::TileLayout::make(
      held.dims(), held.digits(layout::Hardware::Register), held.digits(layout::Hardware::Lane),
      held.digits(layout::Hardware::Warp));
  if (!again)
    return again.takeError();
  if (!(*again == held))
    return faultOfLayout("the normal form of " + held.str() + " is " + again->str());
  int64_t size = 1;
  for (const layout::TileDim &dim : held.dims())
    size *= dim.extent;
  if (llvm::Expected<layout::TileLayout> flat = layout::reshaped(held, {{"flat", size}}); !flat)
    llvm::consumeError(flat.takeError());
  if (held.rank() > 0 && fault.empty()) {
    std::vector<size_t> over{held.rank() - 1};
    layout::reduced(held, over);
    std::vector<int64_t> at(held.rank(), 0);
    if (held.holders(at).empty())
      return faultOfLayout("nobody holds the first element of " + held.str());
  }
  for (int64_t swizzle : {0, 128}) {
    auto shared = swizzle == 0 ? layout::SharedLayout::rows(held.dims(), 16, 0)
                               : layout::SharedLayout::panels(held.dims(), 16, swizzle);
    if (!shared)
      llvm::consumeError(shared.takeError());
  }
  return llvm::Error::success();
}

llvm::Error readLayout(const std::string &text) {
  const std::vector<std::string> lines = linesOf(text);
  if (lines.size() < 3)
    return makeError(DiagClass::BadInput, "no sizes, no type or no layout");
  llvm::Expected<tp::Program> program = axesOf(lines[0]);
  if (!program)
    return program.takeError();
  std::optional<DType> type = parseDType(lines[1]);
  if (!type)
    return makeError(DiagClass::BadInput, "'{}' is no element type", lines[1]);
  tp::AxisSet axes;
  layout::TileDims dims;
  for (uint32_t a = 0; a < program->axes.size(); ++a) {
    axes.push_back({a});
    dims.emplace_back(program->axes[a].name, program->axes[a].extent.constant());
  }
  if (lines[2].empty() || lines[2].front() != '@') {
    llvm::Expected<layout::TileLayout> held = layout::instantiate(lines[2], dims);
    return held ? askLayout(*held) : held.takeError();
  }
  llvm::Expected<tp::LayoutSpec> spec =
      tp::parseLayoutSpec(*program, std::make_shared<SourceBuffer>("layout", lines[2]));
  if (!spec)
    return spec.takeError();
  llvm::Expected<layout::TileLayout> held =
      layout::tileLayoutOf(*program, program->layoutFor(*spec, axes, *type), axes);
  return held ? askLayout(*held) : held.takeError();
}

const char *const castProgram = R"(kernel add(a: bf16[64, 64], b: f32[64, 64]) -> c: f32[64, 64]
warps 2
grid p < 4, q < 4
axis i < 16 at 16 * p of 64, j < 16 at 16 * q of 64
x = load a[j, i]
y = load b[i, j]
m = reduce max y over j
store c[i, j] = x + y * m
)";

/// Lines of VALUE=LAYOUT: casts, behind "?" preferences.
llvm::Error readCasts(const std::string &text) {
  static const tp::Program program = llvm::cantFail(tp::parseProgram(castProgram, "cast.tile"));
  inference::InferenceOptions options;
  options.mostLabels = 40;
  options.labels.maxCells = 200'000;
  for (const std::string &line : linesOf(text)) {
    if (line.empty())
      continue;
    const bool isHard = line.front() != '?';
    const std::string wish = isHard ? line : line.substr(1);
    const size_t equals = wish.find('=');
    if (equals == std::string::npos || options.wishes.size() > 3)
      return makeError(DiagClass::BadInput, "'{}' is not VALUE=LAYOUT", line);
    options.wishes.push_back({wish.substr(0, equals), wish.substr(equals + 1), isHard});
  }
  auto problem = inference::LayoutProblem::make(program, options);
  if (!problem)
    return problem.takeError();
  const inference::InferenceAnswer answer = inference::inferLayouts(**problem);
  using Outcome = inference::InferenceAnswer::Outcome;
  if (answer.outcome == Outcome::Found && answer.layouts.cost < answer.layouts.floor)
    return faultOfLayout("layouts that cost less than any can");
  if (answer.outcome != Outcome::Found && answer.outcome != Outcome::BudgetSpent &&
      answer.reasons.empty())
    return faultOfLayout("a refusal without a reason");
  return llvm::Error::success();
}

/// Schedules of what the verifier accepts.
llvm::Error readPipeline(const std::string &text) {
  llvm::Expected<tp::Program> read = tp::parseProgram(text, "mutant.tile");
  if (!read)
    return read.takeError();
  if (!tp::freeSizes(*read).empty())
    return makeError(DiagClass::BadInput, "sizes without numbers");
  if (llvm::Error error = tp::verify(*read).error(*read))
    return error;
  pipeline::PipelineOptions options;
  options.mostSlots = 2;
  options.times.tensorFlopsPerClock = [](DType) { return 4096.0; };
  options.times.lanesOf = [](Opcode, DType) { return pipeline::LaneWork{1, 0, 0}; };
  for (size_t i = 0; i < pipeline::copyingLoops(*read).size(); ++i) {
    llvm::Expected<pipeline::PipelineAnswer> answer = pipeline::choosePipeline(*read, i, options);
    if (!answer)
      return answer.takeError();
    const pipeline::LoopSchedule &best = answer->chosen();
    if (std::string fault =
            pipeline::faultOf(best.loop.loop, best.schedule.interval, best.schedule.places);
        !fault.empty())
      return faultOfLayout("a schedule that " + fault);
  }
  return llvm::Error::success();
}

} // namespace

MutantFormat layoutFormat() {
  return {"layout",
          {"64 16\nbf16\n@ wgmma(1, 1)", "64 64\nf32\n@ flat(4)", "16 8 32\nf16\n@ rows(2, 8)",
           "32 64\ns8\n@ mma(2, 2)", "64 32\nbf16\n@ mma.a(2, 2)", "64 64\nu8\nupcast_4x",
           "128 64\nf32\ntmem_native_2", "8 64\nf32\n@ across(2) of b,a",
           "64 16\nf32\n@ digits(2:1@b 2:8@a 2:8@b, 4:2@b 8:1@a, 4:16@a)"},
          {"@ ", "flat(", "across(", "rows(", "columns(", "mma.b(", "wgmma.a(", "like ", " of ",
           "wgmma", "tcgen05", "upcast_2x", ",", "cdiv(", "4611686018427387904", "\n"},
          readLayout};
}

MutantFormat castFormat() {
  return {"cast",
          {"x=@ flat(4)\ny=@ flat(4)", "m=@ rows(2, 8)", "?x=@ across(2)\ny=@ rows(4, 4)",
           "y=@ across(8) of i,j"},
          {"x=", "y=", "m=", "?", "@ flat(", "@ across(", "@ mma(1, 2)", "wgmma", "strided",
           " of j", "c=", "\n"},
          readCasts};
}

MutantFormat pipelineFormat() {
  return {
      "pipeline",
      {R"(kernel gemm(a: bf16[64, 256], b: bf16[256, 64]) -> c: bf16[64, 64]
warps 4
grid p < 2, q < 1
axis i < 32 at 32 * p of 64, j < 64 at 64 * q of 64, k < 64 at 64 * t of 256
ring A: bf16[i,k] x 2 swizzle 128
ring B: bf16[k,j] x 2 swizzle 128
acc = full 0 f32[i,j] @ mma(2, 2)
for t < 4 ahead 1
  issue
    copy A <- a[i, k]
    copy B <- b[k, j]
  acc += dot(A, B) over k mma.sync
store c[i, j] = acc
)",
       R"(kernel attention(q: bf16[128, 64], k: bf16[256, 64], v: bf16[256, 64]) -> o: bf16[128, 64]
warps 4 producer 1
grid p < 2
axis i < 64 at 64 * p of 128, j < 64 at 64 * t of 256, d < 64 of 64
shared Q: bf16[i,d] swizzle 128
ring K: bf16[j,d] x 2 swizzle 128
ring V: bf16[j,d] x 2 swizzle 128
m = full -inf f32[i] @ wgmma(1, 1)
l = full 0 f32[i] @ wgmma(1, 1)
acc = full 0 f32[i,d] @ wgmma(1, 1)
copy Q <- q[i, d] via tma
for t < 4
  issue
    copy K <- k[j, d] via tma
    copy V <- v[j, d] via tma
  s = dot(Q, K) over d wgmma
  n = reduce max s over j
  h = map max(m, n)
  f = map exp(m - h)
  e = map exp(s - h)
  r = reduce add e over j
  l = map l * f + r
  acc = map acc * f
  m = map h
  acc += dot(bf16(e), V) over j wgmma wait 1
store o[i, d] = acc / l
)"},
      {" wait 1", " ahead 1", " x 3", "barrier\n", "issue\n", "  n = reduce max s over j\n",
       "  acc = map acc * 2\n", " via regs", " wgmma", " producer 1", "if eq(p, 0)\n  "},
      readPipeline};
}

} // namespace tilewright::test
