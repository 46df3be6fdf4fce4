#include "codegen/pack.h"

#include "analysis/support/folder_digest.h"
#include "analysis/support/new_folder.h"
#include "codegen/dump.h"
#include "codegen/pack_maker.h"

#include "llvm/Support/FileSystem.h"

namespace tilewright {

namespace fs = llvm::sys::fs;

namespace {

constexpr uint64_t maxPackFile = 64 << 20;

/// True if `folder` may be replaced by a pack.
llvm::Error checkReplaceable(const std::string &folder) {
  if (!fs::exists(folder))
    return llvm::Error::success();
  if (!fs::is_directory(folder))
    return makeError(DiagClass::BadInput, "{} exists and is not a folder", folder);
  std::error_code error;
  if (fs::directory_iterator(folder, error) == fs::directory_iterator() && !error)
    return llvm::Error::success();
  auto manifest = readFile(folder + "/manifest.json", maxPackFile);
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    return makeError(DiagClass::BadInput, "{} exists and is neither empty nor a pack", folder);
  }
  if (manifest->find("\"tilewright.pack\"") == std::string::npos)
    return makeError(DiagClass::BadInput, "{} exists and its manifest is not a pack's", folder);
  return llvm::Error::success();
}

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
  auto making = NewFolder::at(place);
  if (!making)
    return making.takeError();
  std::optional<OutputFolder> dump;
  if (!options.dump.empty()) {
    auto opened = OutputFolder::open(options.dump, "dump", {});
    if (!opened)
      return opened.takeError();
    dump.emplace(std::move(*opened));
    dump->removeAllBut({}); // steps of kernels that are not made now
  }
  PackMaker maker(*toolchain, options);
  FolderDigest digest;
  auto write = [&](const std::string &name, const std::string &bytes) {
    digest.add(name, bytes);
    return making->write(name, bytes);
  };
  std::vector<EmittedKernel> emitted;
  for (const KernelSpec &spec : specs) {
    auto kernel = maker.add(spec);
    if (!kernel)
      return kernel.takeError();
    for (const auto &[name, bytes] : kernel->files)
      if (auto error = write(name, bytes))
        return error;
    if (dump && !kernel->dump.base.empty())
      if (auto error = writeDump(*dump, kernel->dump))
        return error;
    emitted.push_back(std::move(kernel->report));
  }
  if (auto error = write("manifest.json", printManifest(maker.manifest())))
    return error;
  if (auto error = making->write(FolderDigest::fileName, digest.text()))
    return error;
  if (dump)
    if (auto error = dump->finish())
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

} // namespace tilewright
