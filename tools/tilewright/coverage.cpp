#include "tools/tilewright/coverage.h"

#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/tiling/plan_text.h"
#include "codegen/coverage.h"
#include "tools/explore/explore.h"
#include "tools/tilewright/batch.h"
#include "tools/tilewright/command.h"

#include <cctype>
#include <fmt/format.h>
#include <map>

namespace tilewright::cli {

namespace {

/// The first described device, by name, that runs a target's code.
llvm::Expected<Device> deviceFor(const Target &target) {
  std::string folder = dataFolder("devices");
  for (const std::string &name : deviceNames(folder)) {
    llvm::Expected<Device> device = loadDevice(name, folder);
    if (!device)
      return device.takeError();
    if (device->computeCapability ==
        fmt::format("{}.{}", target.architecture / 10, target.architecture % 10))
      return device;
  }
  return makeError(DiagClass::Unsupported, "no device of architecture {} is described in {}",
                   target.architecture, folder);
}

struct Row {
  std::string model, target;
  size_t groups = 0, emitted = 0, assembled = 0, spilling = 0, checkedAligned = 0, checkedOdd = 0,
         covered = 0, opaque = 0;
};

std::string problemOf(const KernelCoverage &kernel) {
  if (!kernel.refusal.empty())
    return "refused: " + kernel.refusal;
  if (!kernel.assemblyError.empty())
    return "ptxas: " + kernel.assemblyError;
  if (kernel.spills())
    return fmt::format("spills: {} bytes stored, {} loaded, {} registers",
                       kernel.assembly.spillStoreBytes, kernel.assembly.spillLoadBytes,
                       kernel.assembly.registers);
  for (auto [outcome, sizes] : {std::pair(&kernel.aligned, "aligned"), {&kernel.odd, "odd"}})
    if (outcome->status != CheckOutcome::Status::Pass)
      return fmt::format("{} at {} sizes: {}", toString(outcome->status), sizes, outcome->reason);
  return "";
}

/// The text of a module without names and metadata: models repeat layers, and kernels that are
/// otherwise equal count once.
std::string withoutNames(std::string_view hlo) {
  std::string result;
  std::map<std::string_view, size_t> names;
  constexpr std::string_view metadata = ", metadata={";
  auto isNamePart = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  };
  for (size_t i = std::min(hlo.find('\n'), hlo.size()); i < hlo.size();) {
    if (hlo.substr(i, metadata.size()) == metadata) {
      bool isQuoted = false;
      for (i += metadata.size(); i < hlo.size() && (isQuoted || hlo[i] != '}'); ++i) {
        if (isQuoted && hlo[i] == '\\')
          ++i;
        else if (hlo[i] == '"')
          isQuoted = !isQuoted;
      }
      ++i;
    } else if (hlo[i] == '%') {
      size_t end = i + 1;
      while (end < hlo.size() && isNamePart(hlo[end]))
        ++end;
      result +=
          fmt::format("%{}", names.emplace(hlo.substr(i, end - i), names.size()).first->second);
      i = end;
    } else {
      result += hlo[i++];
    }
  }
  return result;
}

/// What models are covered for.
struct Setting {
  const Toolchain &toolchain;
  const Device &device;
  const Calibration &calibration;
  bool json = false;
  std::map<std::string, KernelCoverage> known = {}; ///< by ops and plan
};

llvm::Expected<KernelCoverage> coverPlan(const ExploredKernel &kernel, Setting &setting) {
  const KernelPlan &plan = kernel.plans.front().plan;
  KernelCoverage coverage;
  if (llvm::Expected<KernelSpec> spec = specOf(plan)) {
    std::string same = withoutNames(printHlo(*spec->module)) + planText(plan);
    auto found = setting.known.find(same);
    if (found == setting.known.end()) {
      llvm::Expected<KernelCoverage> covered = coverKernel(*spec, setting.toolchain);
      if (!covered)
        return covered.takeError();
      found = setting.known.emplace(std::move(same), std::move(*covered)).first;
    }
    coverage = found->second;
  } else {
    coverage.refusal = takeDiag(spec.takeError()).message;
  }
  coverage.name = kernel.name;
  return coverage;
}

/// A model's row of the table and its entry of the document.
llvm::Expected<std::pair<Row, Json>> coverModel(const std::string &path, const Module &module,
                                                Setting &setting) {
  llvm::Expected<ExploredModel> explored =
      exploreModel(module, setting.device, setting.calibration);
  if (!explored)
    return explored.takeError();
  Row row;
  row.model = path.substr(path.rfind('/') + 1);
  row.target = setting.toolchain.target.name;
  row.groups = explored->kernels.size();
  row.opaque = explored->unsupported.size();
  Json entry = {{"model", path}, {"target", row.target}};
  entry["device"] = setting.device.name;
  entry["kernels"] = Json::array();
  Progress progress("covering " + row.model);
  for (size_t i = 0; i < explored->kernels.size(); ++i) {
    progress.update(i, explored->kernels.size());
    const ExploredKernel &kernel = explored->kernels[i];
    llvm::Expected<KernelCoverage> coverage = coverPlan(kernel, setting);
    if (!coverage)
      return coverage.takeError();
    row.emitted += coverage->refusal.empty();
    row.assembled += coverage->isAssembled;
    row.spilling += coverage->spills();
    row.checkedAligned += coverage->aligned.status == CheckOutcome::Status::Pass;
    row.checkedOdd += coverage->odd.status == CheckOutcome::Status::Pass;
    row.covered += coverage->isCovered(setting.toolchain.ptxas.has_value());
    std::string problem = problemOf(*coverage), plan = planText(kernel.plans.front().plan);
    if (!problem.empty() && !setting.json)
      say("{} {} %{} ({}): {}\n", row.model, row.target, kernel.name, plan, problem);
    entry["kernels"].push_back({{"name", kernel.name},
                                {"kind", coverage->kind},
                                {"plan", plan},
                                {"emitted", coverage->refusal.empty()},
                                {"assembled", coverage->isAssembled},
                                {"registers", coverage->assembly.registers},
                                {"spill_bytes", coverage->assembly.spillStoreBytes},
                                {"aligned", toString(coverage->aligned.status)},
                                {"odd", toString(coverage->odd.status)},
                                {"problem", problem}});
  }
  entry["opaque"] = Json::array();
  for (const UnsupportedOp &op : explored->unsupported)
    entry["opaque"].push_back({{"op", op.op}, {"reason", op.reason}});
  return std::pair(std::move(row), std::move(entry));
}

void printTable(const std::vector<Row> &rows) {
  say("{:<40} {:<8} {:>6} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8} {:>7}\n", "model", "target", "groups",
      "emitted", "assembled", "spilling", "aligned", "odd", "covered", "opaque");
  for (const Row &row : rows)
    say("{:<40} {:<8} {:>6} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8} {:>7}\n", row.model, row.target,
        row.groups, row.emitted, row.assembled, row.spilling, row.checkedAligned, row.checkedOdd,
        row.covered, row.opaque);
}

} // namespace

int runCoverage(const CoverageRequest &request) {
  Batch batch("models");
  std::map<std::string, Module> modules; // those that could be read
  for (const std::string &path : request.models)
    if (llvm::Expected<Module> module = importFile(path))
      modules.emplace(path, std::move(*module));
    else
      batch.fail(path, module.takeError());
  if (modules.empty())
    return batch.finish(request.models.size());
  Json document = newDocument("coverage");
  document["models"] = Json::array();
  std::vector<Row> rows;
  bool isWhole = true;
  for (const std::string &name : request.targets) {
    llvm::Expected<Target> target = findTarget(name);
    if (!target)
      return failInput(target.takeError());
    llvm::Expected<Toolchain> toolchain = findToolchain(*target);
    if (!toolchain)
      return failInput(toolchain.takeError());
    llvm::Expected<Device> device = deviceFor(*target);
    if (!device)
      return failInput(device.takeError());
    llvm::Expected<Calibration> calibration =
        defaultCalibration(*device, dataFolder("calibrations"));
    if (!calibration)
      return failInput(calibration.takeError());
    Setting setting{*toolchain, *device, *calibration, request.json};
    for (const std::string &path : request.models) {
      auto module = modules.find(path);
      if (module == modules.end())
        continue;
      auto covered = coverModel(path, module->second, setting);
      if (!covered) {
        batch.fail(path, covered.takeError());
        continue;
      }
      isWhole = isWhole && covered->first.covered == covered->first.groups;
      rows.push_back(std::move(covered->first));
      document["models"].push_back(std::move(covered->second));
    }
  }
  document["failures"] = batch.json();
  if (request.json)
    print(document);
  else
    printTable(rows);
  if (int code = batch.finish(request.models.size() * request.targets.size()))
    return code;
  return isWhole ? Fine : AnswerIsNo;
}

} // namespace tilewright::cli
