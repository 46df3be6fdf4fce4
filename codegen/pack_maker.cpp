#include "codegen/pack_maker.h"

#include "analysis/import/hlo_text.h"
#include "analysis/ir/evaluator.h"
#include "analysis/tiling/plan_text.h"
#include "codegen/compile.h"
#include "codegen/kernel_steps.h"
#include "codegen/lower.h"
#include "codegen/nvptx.h"

#include <fmt/ranges.h>

namespace tilewright {

namespace {

/// What is said of a kernel, with its plan.
std::string withPlan(const std::string &text, const KernelSpec &spec) {
  std::string sequential;
  for (const KernelSpec::Sequential &tile : spec.sequential)
    sequential += fmt::format(" %{} dim {}: {},", tile.op, tile.dim, tile.size);
  return fmt::format("{}; plan: tile {},{} {} warps, {} stages, {}", text,
                     fmt::join(spec.rootTile, "x"), sequential, spec.schedule.warps,
                     spec.schedule.stages, toString(spec.schedule.instruction));
}

/// A warning; empty where nothing spills.
std::string spillText(const KernelSpec &spec, const AssemblyReport &report) {
  if (!report.spills())
    return "";
  return withPlan(fmt::format("spills {} bytes to memory and {} back at {} registers",
                              report.spillStoreBytes, report.spillLoadBytes, report.registers),
                  spec);
}

void remark(EmittedKernel &report, const std::string &text) {
  report.note += (report.note.empty() ? "" : "; ") + text;
}

/// `wanted`, or with a number behind it where that is taken.
std::string freeName(const std::set<std::string> &taken, const std::string &wanted) {
  std::string name = wanted;
  for (unsigned i = 2; taken.contains(name); ++i)
    name = fmt::format("{}_{}", wanted, i);
  return name;
}

std::string planHashOf(const KernelSpec &spec) {
  KernelSpec unnamed = spec;
  unnamed.name.clear();
  return hashOf(printPlan(unnamed));
}

/// What tells a plan with loops or layouts of its own from the one without, in a line of text.
std::string recordedText(const KernelSpec &spec) {
  std::string text, layouts;
  for (const PlanLoop &loop : spec.loops) {
    text += fmt::format("{}{}", text.empty() ? " loops=" : ",", loop.loop);
    if (loop.ahead)
      text += fmt::format(":ahead{}", *loop.ahead);
    if (loop.wait)
      text += fmt::format(":wait{}", *loop.wait);
  }
  for (const PlanLayout &layout : spec.layouts)
    layouts += fmt::format("{}: {}\n", layout.of, layout.layout);
  return layouts.empty() ? text : text + " layouts=" + hashOf(layouts);
}

} // namespace

PackMaker::PackMaker(Toolchain toolchainToUse, const EmitOptions &options)
    : toolchain(std::move(toolchainToUse)), options(options) {
  made.target = toolchain.target.name;
  made.isSpecific = toolchain.target.isSpecific;
  made.ptxVersion = toolchain.version.str();
  made.llvm = llvmVersion();
  if (toolchain.ptxas)
    made.ptxas = toolchain.ptxas->version;
}

Manifest PackMaker::manifest() const { return made; }

llvm::Expected<PackedKernel> PackMaker::add(const KernelSpec &spec,
                                            const ManifestKernel *assembled) {
  PackedKernel result;
  result.report.name = result.entry.name = spec.name;
  result.entry.planHash = planHashOf(spec);
  if (auto twin = plans.find(result.entry.planHash); twin != plans.end()) {
    result.report.reason = fmt::format("the same plan as {}", twin->second);
    return result;
  }
  if (auto error = compile(spec, assembled, result))
    return error;
  if (!result.report.reason.empty()) {
    result.files.clear();
    result.report.hasCubin = false;
    return result;
  }
  addFacts(result.entry);
  names.insert(result.entry.llFile.substr(0, result.entry.llFile.size() - 3));
  plans.emplace(result.entry.planHash, spec.name);
  made.kernels.push_back(result.entry);
  return result;
}

llvm::Error PackMaker::compile(const KernelSpec &spec, const ManifestKernel *assembled,
                               PackedKernel &result) {
  EmittedKernel &report = result.report;
  auto kernel = lowerKernel(spec, CodeMode::Device);
  if (!kernel) {
    Diag diag = takeDiag(kernel.takeError());
    if (diag.cls == DiagClass::Internal)
      return makeError(std::move(diag));
    report.reason = withPlan(diag.message, spec);
    return llvm::Error::success();
  }
  if (std::string problem = targetProblem(*kernel, toolchain); !problem.empty()) {
    report.reason =
        withPlan(fmt::format("{} {}", toString(spec.schedule.instruction), problem), spec);
    return llvm::Error::success();
  }
  report.launch = kernel->launch;
  report.code = kernel->code;
  for (const std::string &note : kernel->notes)
    remark(report, note);
  auto compiled = compileKernel(*kernel, toolchain, assembled ? assembled->minCtasPerSm : 0);
  if (!compiled)
    return compiled.takeError();
  std::string base = freeName(names, kernel->entry);
  std::string dumpBase = freeName(dumpNames, kernel->entry);
  dumpNames.insert(dumpBase);
  result.dump = {dumpBase,
                 printPlan(spec),
                 printSteps(*kernel),
                 kernel->llvmText(),
                 std::move(compiled->optimisedIr),
                 compiled->ptx,
                 {},
                 {}};
  ManifestKernel &entry = result.entry;
  entry.kind = kernel->kind;
  entry.entry = kernel->entry;
  entry.launch = kernel->launch;
  entry.parameters = kernel->parameters;
  entry.workspaces = kernel->workspaces;
  entry.tensorMaps = kernel->tensorMaps;
  entry.notes = kernel->notes;
  entry.llFile = base + ".ll";
  entry.ptxFile = base + ".ptx";
  entry.seed = options.seed;
  entry.tolerance = toleranceOf(spec.graph(), kernel->code.instruction);
  entry.spec = spec;
  entry.minCtasPerSm = compiled->minCtasPerSm;
  result.files = {{entry.llFile, kernel->llvmText()}, {entry.ptxFile, compiled->ptx}};
  if (!compiled->assemblyError.empty()) {
    result.dump.log = compiled->assemblyError + "\n";
    remark(report, compiled->assemblyError);
  }
  if (const std::optional<Assembled> &made = compiled->assembled) {
    result.dump.log = made->log;
    result.dump.cubin = made->cubin;
    entry.cubinFile = base + ".cubin";
    entry.assembly = report.assembly = made->report;
    result.files.emplace_back(entry.cubinFile, made->cubin);
    report.hasCubin = true;
    if (std::string spills = spillText(spec, made->report); spills.empty())
      ;
    else if (options.refuseSpills)
      report.reason = spills;
    else
      remark(report, spills);
    if (!made->report.warnings.empty())
      remark(report, made->report.warnings[0]);
  } else if (assembled && !toolchain.ptxas && !assembled->cubinFile.empty()) {
    entry.cubinFile = base + ".cubin";
    entry.assembly = assembled->assembly;
  }
  return llvm::Error::success();
}

/// Adds what the runner needs to know beyond the code: problem, plan and work.
void PackMaker::addFacts(ManifestKernel &kernel) {
  const Module &module = *kernel.spec.module;
  auto [known, isNew] = problems.try_emplace(printHlo(module), made.problems.size());
  if (isNew) {
    ExpectationOptions expecting;
    expecting.seed = options.seed;
    made.problems.push_back(makeProblem(kernel.spec, expecting));
    ranges.emplace_back();
    for (const ArgumentFill &fill : argumentFills(module, module.entryId))
      ranges.back().push_back(fill.range);
  }
  kernel.problem = made.problems[known->second].hash;
  kernel.ranges = ranges[known->second];
  if (auto plan = planOf(kernel.spec)) {
    kernel.planText = planText(*plan) + recordedText(kernel.spec);
    if (options.workOf)
      kernel.work = options.workOf(*plan);
  } else {
    llvm::consumeError(plan.takeError()); // a group that only code generation takes
  }
}

} // namespace tilewright
