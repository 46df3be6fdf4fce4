#include "codegen/target.h"

#include "codegen/nvptx.h"
#include "codegen/ptxas.h"

#include <algorithm>
#include <dlfcn.h>

namespace tilewright {

namespace {

struct KnownTarget {
  const char *name;
  int architecture;
  PtxVersion minimumPtx;
};

// PTX ISA manual, "Supported targets" and the release notes of each version.
constexpr KnownTarget knownTargets[] = {
    {"sm_80", 80, {7, 0}},   {"sm_86", 86, {7, 1}},    {"sm_88", 88, {9, 0}},
    {"sm_89", 89, {7, 8}},   {"sm_90", 90, {7, 8}},    {"sm_90a", 90, {8, 0}},
    {"sm_100", 100, {8, 6}}, {"sm_100a", 100, {8, 6}}, {"sm_100f", 100, {8, 8}},
    {"sm_103", 103, {8, 8}}, {"sm_103a", 103, {8, 8}}, {"sm_103f", 103, {8, 8}},
    {"sm_110", 110, {9, 0}}, {"sm_110a", 110, {9, 0}}, {"sm_110f", 110, {9, 0}},
    {"sm_120", 120, {8, 7}}, {"sm_120a", 120, {8, 7}}, {"sm_120f", 120, {8, 8}},
    {"sm_121", 121, {8, 8}}, {"sm_121a", 121, {8, 8}}, {"sm_121f", 121, {8, 8}},
};

struct CudaRelease {
  int major, minor;
  PtxVersion ptx;
};

// PTX ISA manual, "Release notes": the version that came with each CUDA release.
constexpr CudaRelease cudaReleases[] = {
    {11, 0, {7, 0}}, {11, 1, {7, 1}}, {11, 2, {7, 2}}, {11, 3, {7, 3}}, {11, 4, {7, 4}},
    {11, 5, {7, 5}}, {11, 6, {7, 6}}, {11, 7, {7, 7}}, {11, 8, {7, 8}}, {12, 0, {8, 0}},
    {12, 1, {8, 1}}, {12, 2, {8, 2}}, {12, 3, {8, 3}}, {12, 4, {8, 4}}, {12, 5, {8, 5}},
    {12, 6, {8, 5}}, {12, 7, {8, 6}}, {12, 8, {8, 7}}, {12, 9, {8, 8}}, {13, 0, {9, 0}},
};

/// The consumers of PTX on this machine; a ptxas that doesn't answer is left out.
std::vector<PtxReader> ptxReaders() {
  std::vector<PtxReader> readers;
  if (auto ptxas = findPtxas(); !ptxas)
    llvm::consumeError(ptxas.takeError());
  else if (*ptxas)
    readers.push_back(readerOf(**ptxas));
  if (auto driver = findDriver())
    readers.push_back(*driver);
  return readers;
}

} // namespace

std::string PtxVersion::str() const { return fmt::format("{}.{}", major, minor); }
std::string PtxVersion::feature() const { return fmt::format("ptx{}{}", major, minor); }

llvm::Expected<Target> findTarget(std::string_view name) {
  auto known = std::find_if(std::begin(knownTargets), std::end(knownTargets),
                            [&](const KnownTarget &target) { return name == target.name; });
  if (known == std::end(knownTargets)) {
    std::string all;
    for (const KnownTarget &target : knownTargets)
      all += (all.empty() ? "" : ", ") + std::string(target.name);
    return makeError(DiagClass::BadInput, "unknown target '{}'; targets are {}", name, all);
  }
  if (!llvmKnowsProcessor(known->name)) {
    std::string readers;
    for (const PtxReader &reader : ptxReaders())
      readers += fmt::format("; {} reads up to {}", reader.name, reader.newest.str());
    return makeError(DiagClass::Unsupported,
                     "{} needs PTX {} or newer, but {} has no such target and writes up to {}{}",
                     known->name, known->minimumPtx.str(), llvmVersion(), newestLlvmPtx().str(),
                     readers.empty() ? "; no ptxas and no driver is found" : readers);
  }
  return Target{known->name, known->architecture, name.back() == 'a', name.back() == 'f',
                known->minimumPtx};
}

std::vector<std::string> targetNames() {
  std::vector<std::string> names;
  for (const KnownTarget &target : knownTargets)
    if (llvmKnowsProcessor(target.name))
      names.push_back(target.name);
  return names;
}

PtxVersion newestLlvmPtx() {
  static const PtxVersion newest = [] {
    PtxVersion best;
    for (const std::string &feature : llvmFeatures()) {
      // "ptx85" is 8.5: all versions so far have one digit after the point.
      if (feature.size() != 5 || feature.compare(0, 3, "ptx") != 0)
        continue;
      best = std::max(best, PtxVersion{feature[3] - '0', feature[4] - '0'});
    }
    return best;
  }();
  return newest;
}

std::optional<PtxVersion> ptxOfCudaRelease(int major, int minor) {
  std::optional<PtxVersion> result;
  for (const CudaRelease &release : cudaReleases)
    if (std::pair(release.major, release.minor) <= std::pair(major, minor))
      result = release.ptx;
  return result;
}

llvm::Expected<PtxChoice> choosePtxVersion(const Target &target,
                                           std::span<const PtxReader> readers) {
  const PtxReader *least = &readers.front();
  for (const PtxReader &reader : readers)
    if (reader.newest < least->newest)
      least = &reader;
  std::string others;
  for (const PtxReader &reader : readers)
    if (&reader != least)
      others +=
          fmt::format("{}{}: {}", others.empty() ? "" : ", ", reader.name, reader.newest.str());
  std::string all = others.empty() ? "" : fmt::format(" ({})", others);
  if (least->newest < target.minimumPtx)
    return makeError(DiagClass::Unsupported, "{} needs PTX {} or newer, but {} knows up to {}{}",
                     target.name, target.minimumPtx.str(), least->name, least->newest.str(), all);
  return PtxChoice{least->newest, fmt::format("PTX {}, the newest that {} knows{}",
                                              least->newest.str(), least->name, all)};
}

std::optional<PtxReader> findDriver() {
  void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return std::nullopt;
  int number = 0; // 1000·major + 10·minor of the CUDA release
  auto ask = reinterpret_cast<int (*)(int *)>(dlsym(library, "cuDriverGetVersion"));
  bool answers = ask && ask(&number) == 0;
  dlclose(library);
  if (!answers)
    return std::nullopt;
  int major = number / 1000, minor = number % 1000 / 10;
  auto newest = ptxOfCudaRelease(major, minor);
  if (!newest)
    return std::nullopt;
  return PtxReader{fmt::format("the driver's CUDA {}.{}", major, minor), *newest};
}

} // namespace tilewright
