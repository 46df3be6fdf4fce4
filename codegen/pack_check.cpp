// Is a pack what emit makes of its plans, and are its kernels right?
#include "analysis/support/folder_digest.h"
#include "analysis/support/json_text.h"
#include "analysis/support/printable.h"
#include "codegen/nvptx.h"
#include "codegen/pack_maker.h"

#include <algorithm>
#include <filesystem>
#include <llvm/Support/MemoryBuffer.h>

namespace tilewright {

namespace {

using Json = nlohmann::ordered_json;
constexpr uint64_t maxManifestBytes = 256 << 20;
constexpr size_t maxNamedDifferences = 3;

std::string shown(const Json &value) { return shortened(value.dump(), 60); }

/// A value of the manifest that is not what the plans make, "grid: is [1,1,1], …".
struct FieldDifference {
  std::string path, text;
};

/// Collects the differences of two documents, innermost values first named by their path.
void compare(const Json &held, const Json &made, const std::string &path,
             std::vector<FieldDifference> &found) {
  if (held == made)
    return;
  if (held.is_object() && made.is_object()) {
    auto below = [&](const std::string &key) { return path.empty() ? key : path + "." + key; };
    for (const auto &[key, value] : made.items())
      if (auto at = held.find(key); at == held.end())
        found.push_back({below(key), "is missing, the plan makes " + shown(value)});
      else
        compare(*at, value, below(key), found);
    for (const auto &[key, value] : held.items())
      if (!made.contains(key))
        found.push_back({below(key), "is no field of it"});
    return;
  }
  if (held.is_array() && made.is_array() && held.size() == made.size() && held.size() < 1000 &&
      !held.empty() && held[0].is_structured()) {
    for (size_t i = 0; i < held.size(); ++i)
      compare(held[i], made[i], fmt::format("{}[{}]", path, i), found);
    return;
  }
  found.push_back({path, fmt::format("is {}, the plan makes {}", shown(held), shown(made))});
}

/// The index in "kernels[3].grid", and the rest of that path.
std::optional<size_t> kernelOf(std::string &path) {
  constexpr std::string_view start = "kernels[";
  if (!path.starts_with(start))
    return std::nullopt;
  size_t index = std::stoul(path.substr(start.size()));
  size_t dot = path.find('.');
  path = dot == std::string::npos ? "" : path.substr(dot + 1);
  return index;
}

/// The version of PTX of that name, if this LLVM writes it.
std::optional<PtxVersion> versionOf(const std::string &text) {
  std::vector<std::string> features = llvmFeatures();
  for (PtxVersion version = newestLlvmPtx(); version.major > 5;
       version = version.minor > 0 ? PtxVersion{version.major, version.minor - 1}
                                   : PtxVersion{version.major - 1, 9})
    if (version.str() == text &&
        std::find(features.begin(), features.end(), version.feature()) != features.end())
      return version;
  return std::nullopt;
}

/// A pack on its way through the check.
class PackCheck {
public:
  PackCheck(const std::string &folder, const PackCheckOptions &options)
      : folder(folder), options(options) {}

  llvm::Expected<CheckedPack> run() {
    auto text = readFile(file(), maxManifestBytes);
    if (!text)
      return text.takeError();
    manifestText = std::move(*text);
    auto parsed = parseManifest(file(), manifestText);
    if (!parsed)
      return parsed.takeError();
    manifest = std::move(*parsed);
    result.problems = folderProblems(folder);
    if (manifest.kernels.empty())
      result.problems.push_back("it holds no kernels");
    if (!result.problems.empty())
      return std::move(result);
    for (const ManifestKernel &kernel : manifest.kernels)
      result.kernels.push_back({kernel.name, {}});
    remarks.resize(manifest.kernels.size());
    if (auto error = derive())
      return error;
    if (!result.passes()) {
      skipTheRest();
      return std::move(result);
    }
    for (size_t i = 0; i < manifest.kernels.size(); ++i) {
      if (options.progress)
        options.progress(i, manifest.kernels.size());
      emulate(i);
    }
    return std::move(result);
  }

private:
  std::string file() const { return folder + "/manifest.json"; }

  /// The toolchain that the pack was made with; nothing, with a problem, where this is another.
  std::optional<Toolchain> toolchain() {
    auto refuse = [&](std::string why) {
      result.problems.push_back(std::move(why));
      return std::nullopt;
    };
    if (manifest.llvm != llvmVersion())
      return refuse(fmt::format("it was made with {}, this is {}, which writes other code; emit it "
                                "again",
                                manifest.llvm, llvmVersion()));
    auto target = findTarget(manifest.target);
    if (!target)
      return refuse("'target': " + takeDiag(target.takeError()).message);
    auto version = versionOf(manifest.ptxVersion);
    if (!version || *version < target->minimumPtx)
      return refuse(fmt::format("'ptx_version' is {}, {} takes {} to {}", manifest.ptxVersion,
                                target->name, target->minimumPtx.str(), newestLlvmPtx().str()));
    Toolchain made{*target, *version, std::nullopt, ""};
    if (manifest.ptxas.empty())
      return made;
    auto ptxas = findPtxas();
    if (!ptxas)
      llvm::consumeError(ptxas.takeError());
    else if (*ptxas && (*ptxas)->version == manifest.ptxas)
      made.ptxas = **ptxas;
    return made;
  }

  /// Compares everything with what the plans make.
  llvm::Error derive() {
    auto tools = toolchain();
    if (!tools)
      return llvm::Error::success();
    EmitOptions emitting;
    emitting.seed = manifest.kernels[0].seed;
    emitting.workOf = options.workOf;
    PackMaker maker(*tools, emitting);
    FolderDigest held = FolderDigest::ofFolder(folder, result.problems);
    std::set<std::string> files{"manifest.json"};
    if (!held.has("manifest.json", manifestText)) // readFile() unpacks
      result.problems.push_back("manifest.json is compressed; unpack it");
    for (size_t i = 0; i < manifest.kernels.size(); ++i) {
      const ManifestKernel &kernel = manifest.kernels[i];
      auto made = maker.add(kernel.spec, manifest.ptxas.empty() ? nullptr : &kernel);
      if (!made) {
        Diag diag = takeDiag(made.takeError());
        if (diag.cls == DiagClass::Internal)
          return makeError(std::move(diag));
        fail(i, diag.message);
        continue;
      }
      if (!made->report.reason.empty()) {
        fail(i, "its plan has no code: " + made->report.reason);
        continue;
      }
      for (const auto &[name, bytes] : made->files) {
        files.insert(name);
        if (!held.has(name))
          fail(i, name + " is missing; emit the pack again");
        else if (!held.has(name, bytes))
          fail(i, fmt::format("{} is not what this version makes of the plan; emit the pack again",
                              name));
      }
      if (!kernel.cubinFile.empty() && !tools->ptxas) {
        files.insert(made->entry.cubinFile);
        if (!held.has(made->entry.cubinFile))
          fail(i, made->entry.cubinFile + " is missing; emit the pack again");
        else
          checkWriter(i, made->entry.cubinFile);
        remarks[i] =
            fmt::format("{} was not assembled again: no ptxas {} here; the digest covers it",
                        made->entry.cubinFile, manifest.ptxas);
      }
    }
    if (!result.passes())
      return llvm::Error::success();
    Manifest made = maker.manifest();
    made.ptxas = manifest.ptxas;
    compareManifest(printManifest(made));
    nameUnknownFiles(files);
    return llvm::Error::success();
  }

  /// A manifest that names another ptxas than wrote the cubin hides that it was not assembled
  /// again.
  void checkWriter(size_t i, const std::string &cubin) {
    auto bytes = llvm::MemoryBuffer::getFile(folder + "/" + cubin, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
    const std::string writer =
        bytes ? writerOfCubin({(*bytes)->getBufferStart(), (*bytes)->getBufferSize()}) : "";
    if (!writer.empty() && writer != manifest.ptxas)
      fail(i, fmt::format("{} was written by ptxas {}, 'ptxas' says {}; emit the pack again", cubin,
                          shortened(writer, 40), shortened(manifest.ptxas, 40)));
  }

  void compareManifest(const std::string &made) {
    if (withoutSpace(made) == withoutSpace(manifestText))
      return; // only white space has no meaning
    std::vector<FieldDifference> differences;
    compare(Json::parse(manifestText), Json::parse(made), "", differences);
    for (size_t i = 0; i < std::min(differences.size(), maxNamedDifferences); ++i) {
      auto &[path, text] = differences[i];
      LineColumn place =
          lineColumn(manifestText, static_cast<uint32_t>(jsonPlace(manifestText, path)));
      text = fmt::format("{} (manifest.json:{}:{})", text, place.line, place.column);
      if (auto kernel = kernelOf(path); kernel && *kernel < result.kernels.size())
        fail(*kernel, fmt::format("'{}' {}", path, text));
      else
        result.problems.push_back(fmt::format("'{}' {}", path, text));
    }
    if (differences.empty())
      result.problems.push_back("manifest.json says the same in other words: other order, numbers "
                                "or escapes than emit writes");
  }

  void nameUnknownFiles(const std::set<std::string> &known) {
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(folder, error))
      if (std::string name = entry.path().filename().string();
          !known.contains(name) && name != FolderDigest::fileName)
        result.problems.push_back(name + " belongs to none of the kernels");
  }

  void fail(size_t kernel, std::string reason) {
    CheckOutcome &outcome = result.kernels[kernel].outcome;
    outcome.status = CheckOutcome::Status::Fail;
    outcome.reason += (outcome.reason.empty() ? "" : "; ") + reason;
  }

  /// Kernels that nothing is said of yet were not run.
  void skipTheRest() {
    for (CheckedKernel &kernel : result.kernels)
      if (kernel.outcome.status == CheckOutcome::Status::Pass) {
        kernel.outcome.status = CheckOutcome::Status::Skipped;
        kernel.outcome.reason = "not run: the pack is not what emit makes";
      }
  }

  void emulate(size_t i) {
    const ManifestKernel &kernel = manifest.kernels[i];
    CheckOptions own = options.check;
    own.seed = options.seed.value_or(kernel.seed);
    CheckOutcome &outcome = result.kernels[i].outcome;
    outcome = checkKernel(kernel.spec, own);
    if (!remarks[i].empty())
      outcome.reason += (outcome.reason.empty() ? "" : "; ") + remarks[i];
  }

  const std::string &folder;
  const PackCheckOptions &options;
  std::string manifestText;
  Manifest manifest;
  CheckedPack result;
  std::vector<std::string> remarks; ///< of each kernel
};

} // namespace

bool CheckedPack::passes() const {
  return problems.empty() && std::none_of(kernels.begin(), kernels.end(), [](const auto &kernel) {
           return kernel.outcome.status == CheckOutcome::Status::Fail;
         });
}

llvm::Expected<CheckedPack> checkPack(const std::string &folder, const PackCheckOptions &options) {
  return PackCheck(folder, options).run();
}

} // namespace tilewright
