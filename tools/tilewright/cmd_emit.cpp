// tilewright emit and check: lowers plans to kernels, and checks kernels against the reference
// evaluator.
#include "codegen/microbenchmarks.h"
#include "codegen/pack.h"
#include "codegen/pack_manifest.h"
#include "codegen/ptxas.h"
#include "costmodel/features.h"
#include "tools/tilewright/batch.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/command_line.h"
#include "tools/tilewright/compile_facts.h"
#include "tools/tilewright/coverage.h"

#include <fmt/format.h>
#include <optional>

namespace tilewright::cli {

namespace {

struct EmitArguments {
  std::vector<std::string> plans;
  std::vector<std::string> targets{"sm_90"};
  std::string pack, dump;
  std::string compareDevice; ///< empty: no comparison of compiled kernels with the estimates
  bool json = false, noAssemble = false, coverage = false, refuseSpills = false;
  bool microbenchmarks = false;
  uint64_t seed = 1;
  std::optional<uint64_t> checkSeed;
  uint64_t maxEvents = CheckOptions().maxEvents;
  uint64_t maxReferenceWork = CheckOptions().maxReferenceWork;
};

/// The cost model's minimum work of a plan. The device matters only for registers and the like.
std::function<std::optional<KernelWork>(const KernelPlan &)> workCounter() {
  llvm::Expected<Device> device = loadDevice("h100-sxm", dataFolder("devices"));
  if (!device) {
    llvm::consumeError(device.takeError());
    return {};
  }
  return [device = std::move(*device)](const KernelPlan &plan) -> std::optional<KernelWork> {
    llvm::Expected<Features> features = featuresOf(plan, device);
    if (!features) {
      llvm::consumeError(features.takeError());
      return std::nullopt;
    }
    return KernelWork{features->flops, features->tensorFlops, features->flopType,
                      features->readBytes, features->writeBytes};
  };
}

llvm::Expected<KernelSpec> readPlan(const std::string &path) {
  llvm::Expected<std::string> text = readFile(path);
  return text ? parsePlan(path, *text) : text.takeError();
}

int runEmit(const EmitArguments &options) {
  if (options.coverage)
    return runCoverage({options.plans, options.targets, options.json});
  if (options.targets.size() != 1 || options.pack.empty())
    return failInput(makeError(DiagClass::BadInput, "{}",
                               options.pack.empty() ? "--out is required without --coverage"
                                                    : "a pack has one --target"));
  if (options.plans.empty() != options.microbenchmarks)
    return failInput(makeError(DiagClass::BadInput, "{}",
                               options.microbenchmarks ? "--microbenchmarks takes no plans"
                                                       : "a plan is required"));
  llvm::Expected<Target> target = findTarget(options.targets[0]);
  if (!target)
    return failInput(target.takeError());
  llvm::Expected<Toolchain> toolchain = findToolchain(*target, !options.noAssemble);
  if (!toolchain)
    return fail(toolchain.takeError());
  std::vector<KernelSpec> specs;
  if (options.microbenchmarks) {
    llvm::Expected<std::vector<KernelSpec>> suite = microbenchmarks();
    if (!suite)
      return fail(suite.takeError());
    specs = std::move(*suite);
  }
  Batch batch("plans");
  for (const std::string &path : options.plans) {
    llvm::Expected<KernelSpec> spec = readPlan(path);
    if (spec)
      specs.push_back(std::move(*spec));
    else
      batch.fail(path, spec.takeError());
  }
  if (specs.empty())
    return batch.finish(options.plans.size());
  EmitOptions emitting;
  emitting.seed = options.seed;
  emitting.assemble = !options.noAssemble;
  emitting.refuseSpills = options.refuseSpills;
  emitting.dump = options.dump;
  emitting.workOf = workCounter();
  llvm::Expected<std::vector<EmittedKernel>> emitted =
      emitPack(specs, *target, options.pack, emitting);
  if (!emitted)
    return fail(emitted.takeError());
  bool isComplete = true;
  Json document = newDocument("emit");
  document["pack"] = options.pack;
  document["target"] = target->name;
  document["ptx"] = toolchain->versionReason;
  document["failures"] = batch.json();
  document["kernels"] = Json::array();
  for (const EmittedKernel &kernel : *emitted) {
    bool isThere = kernel.reason.empty();
    isComplete &= isThere;
    document["kernels"].push_back({{"name", kernel.name},
                                   {"emitted", isThere},
                                   {"cubin", kernel.hasCubin},
                                   {"reason", kernel.reason},
                                   {"note", kernel.note}});
    if (!options.json)
      say("{:<40} {}{}\n", kernel.name,
          !isThere          ? "left out: " + kernel.reason
          : kernel.hasCubin ? std::string("ptx and cubin")
                            : std::string("ptx"),
          kernel.note.empty() ? "" : "; " + kernel.note);
  }
  if (!options.json)
    say("written to {}: {} as {}\n", options.pack, target->name, toolchain->versionReason);
  if (!options.compareDevice.empty()) {
    auto device = loadDevice(options.compareDevice, dataFolder("devices"));
    if (!device)
      return failInput(device.takeError());
    std::vector<CompileFacts> facts = compileFacts(specs, *emitted, *device);
    document["compiled"] = toJson(facts);
    if (!options.json)
      printTable(facts);
  }
  if (options.json)
    print(document);
  if (int code = batch.finish(options.plans.size()))
    return code;
  return isComplete ? Fine : AnswerIsNo;
}

int runCheck(const EmitArguments &options) {
  PackCheckOptions checking;
  checking.check.maxEvents = options.maxEvents;
  checking.check.maxReferenceWork = options.maxReferenceWork;
  checking.seed = options.checkSeed;
  checking.workOf = workCounter();
  Progress progress("checked kernels");
  checking.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  llvm::Expected<CheckedPack> checked = checkPack(options.pack, checking);
  if (!checked)
    return failInput(checked.takeError());
  Json document = newDocument("check");
  document["passes"] = checked->passes();
  document["problems"] = checked->problems;
  document["kernels"] = Json::array();
  for (const CheckedKernel &kernel : checked->kernels) {
    const CheckOutcome &outcome = kernel.outcome;
    document["kernels"].push_back({{"name", kernel.name},
                                   {"status", toString(outcome.status)},
                                   {"max_relative_error", outcome.maxRelativeError},
                                   {"tolerance", outcome.tolerance},
                                   {"blocks", outcome.ctas},
                                   {"blocks_run", outcome.ctasRun},
                                   {"reason", outcome.reason}});
    if (!options.json)
      say("{:<40} {:<8} error {:.2e} (allowed {:.2e}), {} of {} CTAs{}{}\n", kernel.name,
          toString(outcome.status), outcome.maxRelativeError, outcome.tolerance, outcome.ctasRun,
          outcome.ctas, outcome.reason.empty() ? "" : ": ", outcome.reason);
  }
  if (options.json)
    print(document);
  else
    for (const std::string &problem : checked->problems)
      say("{:<40} {:<8} {}\n", "the pack", "fail", problem);
  return checked->passes() ? Fine : AnswerIsNo;
}

} // namespace

void addEmit(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<EmitArguments>();
  CLI::App *command = app.add_subcommand("emit", "Kernels of plans: LLVM IR, PTX, cubin");
  command->footer(
      "Example:\n"
      "  tilewright explore model.hlo.txt --out out\n"
      "  tilewright emit out/plans/000/*.json --target sm_90a --out pack\n"
      "  tilewright emit --coverage model.hlo.txt --target sm_80 --target sm_90a\n"
      "Exit code 1: some plans have no code; 2: some plans can't be read. They are listed with\n"
      "the reason, and the others are emitted.");
  takesStandardInput(command->add_option(
      "PLAN", options->plans, "Plan files, as explore --out writes them; - is standard input"));
  command
      ->add_option("--target", options->targets,
                   "sm_80, sm_86, sm_89, sm_90, sm_90a, …; with --coverage several")
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_option("-o,--out", options->pack, "Folder of the pack");
  command->add_flag("--coverage", options->coverage,
                    "Of models instead of plans: which kernels have code, assemble, and are right "
                    "on the emulator at reduced sizes");
  command->add_flag("--microbenchmarks", options->microbenchmarks,
                    "Kernels that each show one property of a device, in place of plans");
  command->add_option("--seed", options->seed, "Of the inputs' values")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t(0), uint64_t(INT64_MAX)));
  command->add_option("--dump", options->dump,
                      "Folder that gets every kernel's plan, steps, LLVM IR before and after "
                      "optimisation, PTX, ptxas log and SASS");
  command->add_flag("--refuse-spills", options->refuseSpills,
                    "Leave kernels out that spill registers; usually that is a note");
  command->add_option("--compare", options->compareDevice,
                      "Device whose estimates the compiled kernels are compared with: registers, "
                      "shared memory");
  command->add_flag("--no-assemble", options->noAssemble, "Do not look for ptxas");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runEmit(*options); }; });
}

void addCheck(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<EmitArguments>();
  CLI::App *command = app.add_subcommand(
      "check", "Run a pack's kernels on the CPU emulator against the reference evaluator");
  command->footer(
      "Example: tilewright check pack\n"
      "Every file and field is first compared with its digest and with what its plans make\n"
      "now. Exit code 1: the pack is another, or a kernel computes something else.");
  command->add_option("PACK", options->pack, "Folder that emit wrote")->required();
  command
      ->add_option("--seed", options->checkSeed, "Of the inputs' values (default: the pack's own)")
      ->check(CLI::Range(uint64_t(0), uint64_t(INT64_MAX)));
  command
      ->add_option("--max-events", options->maxEvents,
                   "Emulated memory operations for each kernel; over it some CTAs are run")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--max-reference-work", options->maxReferenceWork,
                   "Operations of the evaluator for each kernel; over it the kernel is skipped")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runCheck(*options); }; });
}

} // namespace tilewright::cli
