// tilewright audit: the kernels of a compiled module, as they run, and what would save time.
#include "analysis/support/diag.h"
#include "tools/tilewright/audit_output.h"
#include "tools/tilewright/device_choices.h"
#include "tools/tilewright/device_output.h"
#include "tools/tilewright/model_input.h"

namespace tilewright::cli {

namespace {

struct AuditArguments {
  std::string model, measured, csv;
  ModuleChoice choice;
  DeviceChoices devices;
  PlanChoices plans; ///< the calibration alone
  size_t top = 12, budget = AuditOptions().budget;
  double warmStart = SequenceParameters().warmStartNs;
  std::pair<double, double> l2Shares = {L2Shares().least, L2Shares().most};
  bool json = false, asMeasured = false, noBest = false, regroup = false;
};

/// What the command reads.
struct AuditInput {
  Module module;
  std::vector<AskedDevice> devices;
  std::vector<MeasuredKernel> measured;
};

llvm::Error checkArguments(const AuditArguments &arguments) {
  const auto [least, most] = arguments.l2Shares;
  if (!(least > 0 && least <= most && most <= 1))
    return makeError(DiagClass::BadInput,
                     "--l2-shares {} {}: two shares are needed, ascending, above 0 and at most 1",
                     least, most);
  if (!arguments.measured.empty() &&
      (arguments.devices.areSeveral() || !arguments.devices.sets.empty()))
    return makeError(DiagClass::BadInput,
                     "--measured: a list is of one device as it is; give it without --set and with "
                     "a single --device");
  return llvm::Error::success();
}

llvm::Error readInput(const AuditArguments &arguments, AuditInput &input) {
  llvm::Expected<Module> module = readModel(arguments.model, arguments.choice);
  if (!module)
    return module.takeError();
  input.module = std::move(*module);
  llvm::Expected<std::vector<AskedDevice>> devices =
      askedDevices(arguments.devices, arguments.plans);
  if (!devices)
    return devices.takeError();
  input.devices = std::move(*devices);
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

/// SMs before --set changed them: the module was compiled for the device as it was.
std::optional<double> smCountBefore(const AskedDevice &asked) {
  for (const ChangedNumber &change : asked.changes)
    if (change.key == "sm_count")
      return change.before;
  return std::nullopt;
}

AuditOptions auditOptions(const AuditArguments &arguments, const AuditInput &input,
                          const AskedDevice &asked) {
  AuditOptions options;
  options.measured = arguments.measured.empty() ? nullptr : &input.measured;
  options.usesMeasuredLaunch = arguments.asMeasured;
  options.compiledSmCount = smCountBefore(asked);
  options.findsBest = !arguments.noBest;
  options.budget = arguments.budget;
  options.regroups = arguments.regroup;
  options.sequence.warmStartNs = arguments.warmStart;
  options.sequence.shares = {arguments.l2Shares.first, arguments.l2Shares.second};
  return options;
}

int runAudit(const AuditArguments &arguments) {
  AuditInput input;
  if (llvm::Error error = checkArguments(arguments))
    return failInput(std::move(error));
  if (llvm::Error error = readInput(arguments, input))
    return failInput(std::move(error));
  DeviceAnswers answers("audit", arguments.devices, arguments.json);
  std::string csv = auditCsvHead();
  for (const AskedDevice &asked : input.devices) {
    Progress progress("audited kernels");
    AuditOptions options = auditOptions(arguments, input, asked);
    options.progress = [&](size_t done, size_t total) { progress.update(done, total); };
    llvm::Expected<Audit> audit =
        auditModule(input.module, asked.device, asked.calibration, options);
    if (!audit)
      return fail(audit.takeError());
    const AuditSubject subject{modelName(arguments.model),
                               input.module.name,
                               &asked.device,
                               transferred(asked.calibration, asked.device).label(),
                               options.measured,
                               arguments.measured};
    csv += auditCsvRows(*audit, subject);
    answers.begin(asked);
    if (!arguments.json) {
      printAudit(*audit, subject, arguments.top);
      printNotes(notesOn(asked.device, asked.calibration));
    }
    const bool isMatched = audit->unmatchedRows.empty() && audit->unmatchedKernels.empty();
    answers.add(asked, auditJson(*audit, subject), isMatched ? Fine : AnswerIsNo);
  }
  if (!arguments.csv.empty())
    if (llvm::Error error = writeFileAtomically(arguments.csv, csv))
      return fail(std::move(error));
  return answers.finish();
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
      "  tilewright audit model.hlo.txt --device h100,h200 --set as-is --set dram_bandwidth=*2\n"
      "MODEL is a dump from after optimisation (is_scheduled=true); of others there is an error, "
      "exit\n"
      "code 2. --measured takes the kernels of a run in order, with the columns kernel and "
      "time_ns,\n"
      "and if there are any grid_x, block_x and regs; without the two columns it is exit code 2.\n"
      "Exit code 1: kernels of the list or of the module that fit nothing, as of a list of "
      "another\n"
      "model or one that is cut off; they are listed.");
  command->add_option("MODEL", arguments->model, modelHelp)->required();
  addModuleChoice(*command, arguments->choice);
  addDeviceChoices(*command, arguments->devices);
  command->add_option("--calibration", arguments->plans.calibration,
                      "Calibration name or JSON file (default: the device's, else its priors)");
  CLI::Option *measured = command->add_option("--measured", arguments->measured,
                                              "CSV of the kernels of a run, in order");
  command
      ->add_flag("--as-measured", arguments->asMeasured,
                 "Take registers and launch sizes from the list")
      ->needs(measured);
  command
      ->add_option("--top", arguments->top,
                   "Kernels to list, those furthest above their bounds first; 0: all")
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
  command->add_option("--csv", arguments->csv, "File for a table of all kernels");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback(
      [arguments, &selection] { selection.run = [arguments] { return runAudit(*arguments); }; });
}

} // namespace tilewright::cli
