#include "codegen/ptxas.h"

#include "codegen/nvptx.h"
#include "codegen/subprocess.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cctype>
#include <cstdlib>

namespace tilewright {

namespace {

std::string locatePtxas() {
  if (auto onPath = llvm::sys::findProgramByName("ptxas"))
    return *onPath;
  std::vector<std::string> homes;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(variable); value && *value)
      homes.push_back(value);
  homes.push_back("/usr/local/cuda");
  for (const std::string &home : homes) {
    llvm::SmallString<128> path(home);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return std::string(path);
  }
  return "";
}

/// The number that ends just before `at`, which follows it after blanks: "174 registers".
int64_t numberBefore(std::string_view text, size_t at) {
  size_t end = at;
  while (end > 0 && text[end - 1] == ' ')
    --end;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])))
    --begin;
  int64_t value = 0;
  if (llvm::StringRef(text.data() + begin, end - begin).getAsInteger(10, value))
    return -1;
  return value;
}

} // namespace

std::optional<std::pair<int, int>> parsePtxasRelease(std::string_view text) {
  llvm::StringRef all(text.data(), text.size());
  // The version stands in both "release 12.4" and "V12.4.131"; wrappers may print lines of their
  // own.
  for (llvm::StringRef marker : {"release ", " V"}) {
    for (size_t at = all.find(marker); at != llvm::StringRef::npos; at = all.find(marker, at + 1)) {
      llvm::StringRef rest = all.substr(at + marker.size());
      int major = 0, minor = 0;
      if (rest.consumeInteger(10, major) || !rest.consume_front(".") ||
          rest.consumeInteger(10, minor))
        continue;
      if (major > 0 && major < 1000 && minor >= 0 && minor < 1000)
        return std::pair(major, minor);
    }
  }
  return std::nullopt;
}

std::string parsePtxasVersion(std::string_view text) {
  auto release = parsePtxasRelease(text);
  if (!release)
    return "";
  std::string version = fmt::format("{}.{}", release->first, release->second);
  size_t at = text.find(version + ".");
  if (at == text.npos)
    return version;
  size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
  while (end > at && text[end - 1] == '.')
    --end;
  return std::string(text.substr(at, end - at));
}

std::string writerOfCubin(std::string_view cubin) {
  constexpr std::string_view note = "Cuda compilation tools, release ";
  const size_t start = cubin.find(note);
  if (start == std::string_view::npos)
    return "";
  const size_t end = cubin.find_first_of(std::string_view("\0\n", 2), start);
  return parsePtxasVersion(cubin.substr(start, end - start));
}

llvm::Expected<std::optional<Ptxas>> findPtxas() {
  Ptxas ptxas;
  ptxas.path = locatePtxas();
  if (ptxas.path.empty())
    return std::nullopt;
  std::string arguments[] = {"--version"};
  auto result = runProcess(ptxas.path, arguments, std::chrono::seconds(10));
  if (!result)
    return result.takeError();
  if (result->timedOut)
    return makeError(DiagClass::Unsupported, "{} --version gave no answer in 10 s", ptxas.path);
  auto release = parsePtxasRelease(result->output);
  auto newest = release ? ptxOfCudaRelease(release->first, release->second) : std::nullopt;
  if (!newest)
    return makeError(DiagClass::Unsupported,
                     "{} --version names no CUDA release from 11.0 on (exit code {})", ptxas.path,
                     result->exitCode);
  ptxas.releaseMajor = release->first;
  ptxas.releaseMinor = release->second;
  ptxas.version = parsePtxasVersion(result->output);
  ptxas.newestPtx = *newest;
  return ptxas;
}

AssemblyReport parseAssemblyLog(std::string_view log) {
  AssemblyReport report;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(log.data(), log.size()).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    std::string_view text(line.data(), line.size());
    if (size_t at = text.find("registers"); at != text.npos && text.find("Used") != text.npos)
      report.registers = numberBefore(text, at);
    if (size_t at = text.find("bytes spill stores"); at != text.npos)
      report.spillStoreBytes = numberBefore(text, at);
    if (size_t at = text.find("bytes spill loads"); at != text.npos)
      report.spillLoadBytes = numberBefore(text, at);
    if (size_t at = text.find("bytes smem"); at != text.npos)
      report.staticSharedBytes = numberBefore(text, at);
    // Among the information are losses of speed, such as "(C7510) Potential Performance Loss:
    // wgmma.mma_async instructions are serialized".
    if (text.find("warning") != text.npos || text.find("Performance Loss") != text.npos ||
        text.find("(C7504)") != text.npos || text.find("(C7508)") != text.npos)
      report.warnings.push_back(line.trim().str());
  }
  return report;
}

llvm::Expected<Assembled> assemble(const Ptxas &ptxas, const Target &target,
                                   const std::string &ptx) {
  llvm::SmallString<128> folder;
  if (auto error = llvm::sys::fs::createUniqueDirectory("tilewright-ptxas", folder))
    return makeError(DiagClass::Internal, "no temporary folder: {}", error.message());
  std::string source = (folder + "/kernel.ptx").str(), cubin = (folder + "/kernel.cubin").str();
  auto run = [&]() -> llvm::Expected<Assembled> {
    if (auto error = writeFileAtomically(source, ptx))
      return error;
    std::string arguments[] = {"-arch=" + target.name, "-v", source, "-o", cubin};
    auto result = runProcess(ptxas.path, arguments, std::chrono::minutes(2));
    if (!result)
      return result.takeError();
    if (result->timedOut)
      return makeError(DiagClass::BudgetSpent, "ptxas took more than 120 s");
    if (result->exitCode != 0) {
      llvm::StringRef first = llvm::StringRef(result->output).ltrim().split('\n').first;
      // The message starts with the path of our temporary file, which says nothing.
      first.consume_front("ptxas ");
      first.consume_front(source);
      return makeError(DiagClass::Internal, "ptxas refused the PTX (exit code {}): {}",
                       result->exitCode, first.str());
    }
    auto bytes = readFile(cubin);
    if (!bytes)
      return bytes.takeError();
    return Assembled{std::move(*bytes), result->output, parseAssemblyLog(result->output)};
  };
  auto assembled = run();
  llvm::sys::fs::remove_directories(folder);
  return assembled;
}

PtxReader readerOf(const Ptxas &ptxas) {
  return {fmt::format("ptxas {}.{}", ptxas.releaseMajor, ptxas.releaseMinor), ptxas.newestPtx};
}

llvm::Expected<Toolchain> findToolchain(const Target &target, bool assembling) {
  std::optional<Ptxas> ptxas;
  if (assembling) {
    auto found = findPtxas();
    if (!found)
      return found.takeError();
    ptxas = *found;
  }
  std::vector<PtxReader> readers{{llvmVersion(), newestLlvmPtx()}};
  if (ptxas)
    readers.push_back(readerOf(*ptxas));
  if (auto driver = findDriver())
    readers.push_back(*driver);
  auto choice = choosePtxVersion(target, readers);
  if (!choice)
    return choice.takeError();
  return Toolchain{target, choice->version, ptxas, choice->reason};
}

} // namespace tilewright
