// tilewright audit: the kernels of a compiled module, as they run, and what would save time.
#include "tools/tilewright/audit_output.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/model_input.h"
#include "tools/tilewright/plan_options.h"

namespace tilewright::cli {

namespace {

struct AuditArguments {
  std::string model, device = "h100-sxm", calibration, measured;
  ModuleChoice choice;
  size_t top = 12, budget = AuditOptions().budget;
  double warmStart = SequenceParameters().warmStartNs;
  std::pair<double, double> l2Shares = {L2Shares().least, L2Shares().most};
  bool json = false, asMeasured = false, noBest = false, regroup = false;
};

/// What the command reads.
struct AuditInput {
  Module module;
  Device device;
  Calibration calibration;
  std::vector<MeasuredKernel> measured;
};

llvm::Error readInput(const AuditArguments &arguments, AuditInput &input) {
  llvm::Expected<Module> module = readModel(arguments.model, arguments.choice);
  if (!module)
    return module.takeError();
  input.module = std::move(*module);
  llvm::Expected<Device> device = loadDevice(arguments.device);
  if (!device)
    return device.takeError();
  input.device = std::move(*device);
  llvm::Expected<Calibration> calibration =
      calibrationFor(input.device, arguments.calibration, dataFolder("calibrations"));
  if (!calibration)
    return calibration.takeError();
  input.calibration = std::move(*calibration);
  if (arguments.measured.empty())
    return llvm::Error::success();
  llvm::Expected<Table> table = Table::read(arguments.measured);
  if (!table)
    return table.takeError();
  llvm::Expected<std::vector<MeasuredKernel>> rows = readKernelList(*table);
  if (!rows)
    return rows.takeError();
  input.measured = std::move(*rows);
  return llvm::Error::success();
}

int runAudit(const AuditArguments &arguments) {
  AuditInput input;
  const auto [least, most] = arguments.l2Shares;
  if (!(least > 0 && least <= most && most <= 1))
    return failInput(
        makeError(DiagClass::BadInput,
                  "--l2-shares {} {}: two shares are needed, ascending, above 0 and at "
                  "most 1",
                  least, most));
  if (llvm::Error error = readInput(arguments, input))
    return failInput(std::move(error));
  Progress progress("audited kernels");
  AuditOptions options;
  const bool isMeasured = !arguments.measured.empty();
  options.measured = isMeasured ? &input.measured : nullptr;
  options.usesMeasuredLaunch = arguments.asMeasured;
  options.findsBest = !arguments.noBest;
  options.budget = arguments.budget;
  options.regroups = arguments.regroup;
  options.sequence.warmStartNs = arguments.warmStart;
  options.sequence.shares = {arguments.l2Shares.first, arguments.l2Shares.second};
  options.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  llvm::Expected<Audit> audit = auditModule(input.module, input.device, input.calibration, options);
  if (!audit)
    return fail(audit.takeError());
  const AuditSubject subject{modelName(arguments.model),
                             input.module.name,
                             &input.device,
                             transferred(input.calibration, input.device).label(),
                             options.measured,
                             arguments.measured};
  if (arguments.json) {
    print(auditJson(*audit, subject));
  } else {
    printAudit(*audit, subject, arguments.top);
    printNotes(notesOn(input.device, input.calibration));
  }
  return audit->unmatchedRows.empty() && audit->unmatchedKernels.empty() ? Fine : AnswerIsNo;
}

} // namespace

void addAudit(CLI::App &app, Selection &selection) {
  auto arguments = std::make_shared<AuditArguments>();
  CLI::App *command = app.add_subcommand(
      "audit", "The kernels of a module that XLA has compiled, as they run, and what would save "
               "time");
  command->footer(
      "Examples:\n"
      "  tilewright audit datasets/models/gpt2_block.xla_optimized.hlo.txt\n"
      "  tilewright audit dump/ --module jit_step --measured kernels.csv\n"
      "MODEL is a dump from after optimisation (is_scheduled=true). --measured takes the kernels "
      "of\n"
      "a run in order, with the columns kernel and time_ns, and if there are any grid_x, block_x\n"
      "and regs. Exit code 1: kernels of the list or of the module that fit nothing; they are\n"
      "listed.");
  command->add_option("MODEL", arguments->model, modelHelp)->required();
  addModuleChoice(*command, arguments->choice);
  command->add_option("--device", arguments->device, "Device name or JSON file")
      ->capture_default_str();
  command->add_option("--calibration", arguments->calibration,
                      "Calibration name or JSON file (default: the device's, else its priors)");
  CLI::Option *measured = command->add_option("--measured", arguments->measured,
                                              "CSV of the kernels of a run, in order");
  command
      ->add_flag("--as-measured", arguments->asMeasured,
                 "Take registers and launch sizes from the list")
      ->needs(measured);
  command->add_option("--top", arguments->top, "Kernels to list, the longest first; 0: all")
      ->capture_default_str();
  command->add_option("--budget", arguments->budget, "Plans to price for the best plan of a kernel")
      ->capture_default_str()
      ->check(CLI::Range(size_t(1), size_t(1) << 30));
  command
      ->add_option("--warm-start", arguments->warmStart,
                   "ns of a launch that a kernel behind others saves")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command
      ->add_option("--l2-shares", arguments->l2Shares,
                   "Shares of L2 between which data stay in it: two numbers")
      ->capture_default_str();
  command->add_flag("--no-best", arguments->noBest, "Look for no better plans");
  command->add_flag("--regroup", arguments->regroup,
                    "Also undo the fusions and price the kernels that explore would make");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback(
      [arguments, &selection] { selection.run = [arguments] { return runAudit(*arguments); }; });
}

} // namespace tilewright::cli
