#include "codegen/pack.h"

#include "analysis/import/hlo_text.h"
#include "analysis/ir/evaluator.h"
#include "analysis/tiling/plan_text.h"
#include "codegen/compile.h"
#include "codegen/dump.h"
#include "codegen/kernel_steps.h"
#include "codegen/lower.h"
#include "codegen/nvptx.h"
#include "codegen/pack_manifest.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fmt/ranges.h>
#include <map>
#include <set>

namespace tilewright {

namespace fs = llvm::sys::fs;

namespace {

constexpr uint64_t maxPackFile = 64 << 20;

std::string inFolder(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

/// May `folder` be replaced by a pack?
llvm::Error checkReplaceable(const std::string &folder) {
  if (!fs::exists(folder))
    return llvm::Error::success();
  if (!fs::is_directory(folder))
    return makeError(DiagClass::BadInput, "{} is there and is not a folder", folder);
  std::error_code error;
  if (fs::directory_iterator(folder, error) == fs::directory_iterator() && !error)
    return llvm::Error::success();
  auto manifest = readFile(inFolder(folder, "manifest.json"), maxPackFile);
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    return makeError(DiagClass::BadInput, "{} is there and is neither empty nor a pack", folder);
  }
  if (manifest->find("\"tilewright.pack\"") == std::string::npos)
    return makeError(DiagClass::BadInput, "{} is there and its manifest is not that of a pack",
                     folder);
  return llvm::Error::success();
}

/// A folder beside the one that is to appear; removed unless it is moved there.
class FolderInTheMaking {
public:
  static llvm::Expected<FolderInTheMaking> beside(const std::string &target) {
    std::string parent = llvm::sys::path::parent_path(target).str();
    if (!parent.empty())
      if (auto error = fs::create_directories(parent))
        return makeError(DiagClass::BadInput, "can't create {}: {}", parent, error.message());
    FolderInTheMaking result;
    result.target = target;
    for (unsigned i = 0;; ++i) {
      result.path = fmt::format("{}.tmp{}", target, i);
      auto error = fs::create_directory(result.path, false);
      if (!error)
        return result;
      if (error != std::errc::file_exists || i > 100) {
        result.path.clear();
        return makeError(DiagClass::BadInput, "can't create {}: {}", target, error.message());
      }
    }
  }
  FolderInTheMaking(FolderInTheMaking &&other) noexcept
      : path(std::exchange(other.path, "")), target(std::move(other.target)) {}
  FolderInTheMaking &operator=(FolderInTheMaking &&) = delete;
  ~FolderInTheMaking() {
    if (!path.empty())
      fs::remove_directories(path);
  }

  llvm::Error write(const std::string &name, const std::string &bytes) {
    return writeFileAtomically(inFolder(path, name), bytes);
  }

  void remove(const std::string &name) { fs::remove(inFolder(path, name)); }

  llvm::Error moveIntoPlace() {
    std::string old;
    if (fs::exists(target)) {
      old = path + ".old";
      if (auto error = fs::rename(target, old))
        return makeError(DiagClass::BadInput, "can't replace {}: {}", target, error.message());
    }
    if (auto error = fs::rename(path, target)) {
      if (!old.empty())
        fs::rename(old, target);
      return makeError(DiagClass::BadInput, "can't create {}: {}", target, error.message());
    }
    path.clear();
    if (!old.empty())
      fs::remove_directories(old);
    return llvm::Error::success();
  }

private:
  FolderInTheMaking() = default;
  std::string path, target;
};

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

/// Adds what the runner needs to know beyond the code: problem, plan and work.
class RunnerFacts {
public:
  explicit RunnerFacts(const EmitOptions &options) : options(options) {}

  /// Errors: a plan that the pack holds already.
  llvm::Error add(ManifestKernel &kernel) {
    std::string hlo = printHlo(*kernel.spec.module);
    auto [known, isNew] = problems.try_emplace(hlo);
    if (isNew) {
      ExpectationOptions expecting;
      expecting.seed = options.seed;
      known->second = made.size();
      made.push_back(makeProblem(kernel.spec, expecting));
      ranges.emplace_back();
      for (const ArgumentFill &fill :
           argumentFills(*kernel.spec.module, kernel.spec.module->entryId))
        ranges.back().push_back(fill.range);
    }
    kernel.problem = made[known->second].hash;
    kernel.ranges = ranges[known->second];
    if (auto plan = planOf(kernel.spec)) {
      kernel.planText = planText(*plan);
      if (options.workOf)
        kernel.work = options.workOf(*plan);
    } else {
      llvm::consumeError(plan.takeError()); // a group that only code generation takes
    }
    KernelSpec unnamed = kernel.spec;
    unnamed.name.clear();
    kernel.planHash = hashOf(printPlan(unnamed));
    if (auto [twin, isFirst] = plans.try_emplace(kernel.planHash, kernel.name); !isFirst)
      return makeError(DiagClass::BadInput, "the same plan as {}", twin->second);
    return llvm::Error::success();
  }

  std::vector<KernelProblem> takeProblems() { return std::move(made); }

private:
  const EmitOptions &options;
  std::map<std::string, size_t> problems; ///< by ops
  std::map<std::string, std::string> plans;
  std::vector<KernelProblem> made;
  std::vector<std::vector<FillRange>> ranges;
};

} // namespace

llvm::Expected<std::vector<EmittedKernel>> emitPack(std::span<const KernelSpec> specs,
                                                    const Target &target, const std::string &folder,
                                                    const EmitOptions &options) {
  std::string place = llvm::StringRef(folder).rtrim('/').str();
  if (place.empty())
    return makeError(DiagClass::BadInput, "a pack needs a folder");
  if (auto error = checkReplaceable(place))
    return error;
  auto toolchain = findToolchain(target, options.assemble);
  if (!toolchain)
    return toolchain.takeError();
  const std::optional<Ptxas> &ptxas = toolchain->ptxas;
  auto making = FolderInTheMaking::beside(place);
  if (!making)
    return making.takeError();

  Manifest manifest;
  manifest.target = target.name;
  manifest.isSpecific = target.isSpecific;
  manifest.ptxVersion = toolchain->version.str();
  manifest.llvm = llvmVersion();
  if (ptxas)
    manifest.ptxas = fmt::format("{}.{}", ptxas->releaseMajor, ptxas->releaseMinor);
  std::vector<EmittedKernel> emitted;
  std::set<std::string> names;
  RunnerFacts facts(options);
  for (const KernelSpec &spec : specs) {
    EmittedKernel report;
    report.name = spec.name;
    auto kernel = lowerKernel(spec, CodeMode::Device);
    if (!kernel) {
      Diag diag = takeDiag(kernel.takeError());
      if (diag.cls == DiagClass::Internal)
        return makeError(std::move(diag));
      report.reason = withPlan(diag.message, spec);
      emitted.push_back(std::move(report));
      continue;
    }
    if (std::string problem = targetProblem(*kernel, *toolchain); !problem.empty()) {
      report.reason =
          withPlan(fmt::format("{} {}", toString(spec.schedule.instruction), problem), spec);
      emitted.push_back(std::move(report));
      continue;
    }
    report.launch = kernel->launch;
    report.code = kernel->code;
    auto remark = [&](const std::string &text) {
      report.note += (report.note.empty() ? "" : "; ") + text;
    };
    for (const std::string &note : kernel->notes)
      remark(note);
    std::string base = kernel->entry;
    for (unsigned i = 2; !names.insert(base).second; ++i)
      base = fmt::format("{}_{}", kernel->entry, i);
    auto compiled = compileKernel(*kernel, *toolchain);
    if (!compiled)
      return compiled.takeError();
    KernelDump dump{base,
                    printPlan(spec),
                    printSteps(*kernel),
                    kernel->llvmText(),
                    std::move(compiled->optimisedIr),
                    compiled->ptx,
                    {},
                    {}};
    ManifestKernel entry;
    entry.name = spec.name;
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
    entry.tolerance = std::max(kernel->tolerance, toleranceOf(spec.graph()));
    entry.spec = spec;
    if (auto error = facts.add(entry)) {
      report.reason = takeDiag(std::move(error)).message;
      emitted.push_back(std::move(report));
      continue;
    }
    if (auto error = making->write(entry.llFile, kernel->llvmText()))
      return error;
    if (auto error = making->write(entry.ptxFile, compiled->ptx))
      return error;
    if (!compiled->assemblyError.empty()) {
      dump.log = compiled->assemblyError + "\n";
      remark(compiled->assemblyError);
    }
    if (const std::optional<Assembled> &assembled = compiled->assembled) {
      dump.log = assembled->log;
      dump.cubin = assembled->cubin;
      entry.cubinFile = base + ".cubin";
      entry.assembly = report.assembly = assembled->report;
      if (std::string spills = spillText(spec, assembled->report); !spills.empty()) {
        if (options.refuseSpills)
          report.reason = spills;
        else
          remark(spills);
      }
      if (!assembled->report.warnings.empty())
        remark(assembled->report.warnings[0]);
      if (auto error = making->write(entry.cubinFile, assembled->cubin))
        return error;
      report.hasCubin = true;
    }
    if (!options.dump.empty())
      if (auto error = writeDump(options.dump, dump))
        return error;
    if (!report.reason.empty()) {
      for (const std::string &file : {entry.llFile, entry.ptxFile, entry.cubinFile})
        making->remove(file);
      report.hasCubin = false;
      emitted.push_back(std::move(report));
      continue;
    }
    manifest.kernels.push_back(std::move(entry));
    emitted.push_back(std::move(report));
  }
  manifest.problems = facts.takeProblems();
  if (auto error = making->write("manifest.json", printManifest(manifest)))
    return error;
  if (auto error = making->moveIntoPlace())
    return error;
  return emitted;
}

llvm::Expected<std::vector<EmittedKernel>> emitPack(std::span<const KernelPlan> plans,
                                                    const Target &target, const std::string &folder,
                                                    const EmitOptions &options) {
  std::vector<KernelSpec> specs;
  std::vector<EmittedKernel> all(plans.size());
  std::vector<size_t> positions; // of specs among the plans
  for (size_t i = 0; i < plans.size(); ++i) {
    auto spec = specOf(plans[i]);
    if (!spec) {
      all[i].name = plans[i].name;
      all[i].reason = takeDiag(spec.takeError()).message;
      continue;
    }
    positions.push_back(i);
    specs.push_back(std::move(*spec));
  }
  auto emitted = emitPack(specs, target, folder, options);
  if (!emitted)
    return emitted.takeError();
  for (size_t i = 0; i < emitted->size(); ++i)
    all[positions[i]] = std::move((*emitted)[i]);
  return all;
}

llvm::Expected<std::vector<CheckedKernel>> checkPack(const std::string &folder,
                                                     const CheckOptions &options) {
  std::string file = inFolder(folder, "manifest.json");
  auto text = readFile(file, maxPackFile);
  if (!text)
    return text.takeError();
  auto manifest = parseManifest(file, *text);
  if (!manifest)
    return manifest.takeError();
  std::vector<CheckedKernel> checked;
  for (const ManifestKernel &kernel : manifest->kernels) {
    CheckedKernel result;
    result.name = kernel.name;
    CheckOptions own = options;
    own.seed = kernel.seed;
    if (own.tolerance <= 0)
      own.tolerance = kernel.tolerance;
    result.outcome = checkKernel(kernel.spec, own);
    // What was checked must be what the pack holds. Another LLVM prints IR in another way.
    if (result.outcome.status == CheckOutcome::Status::Pass && manifest->llvm == llvmVersion()) {
      auto device = lowerKernel(kernel.spec, CodeMode::Device);
      // A name with a separator could lead out of the folder.
      bool isPlain = kernel.llFile.find('/') == std::string::npos;
      auto held = readFile(inFolder(folder, isPlain ? kernel.llFile : "."), maxPackFile);
      bool isSame = device && held && device->llvmText() == *held;
      if (!device)
        llvm::consumeError(device.takeError());
      if (!held)
        llvm::consumeError(held.takeError());
      if (!isSame) {
        result.outcome.status = CheckOutcome::Status::Fail;
        result.outcome.reason = fmt::format(
            "{} is not what this version makes of the plan; emit the pack again", kernel.llFile);
      }
    }
    checked.push_back(std::move(result));
  }
  return checked;
}

} // namespace tilewright
