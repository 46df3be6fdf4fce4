#include "profiler/testing/fake_gpu.h"

#include "analysis/ir/numeric.h"
#include "profiler/text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <unistd.h>

namespace tilewright::profile::fake {

namespace {
std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}
} // namespace

FakeGpu &FakeGpu::instance() {
  static FakeGpu gpu;
  return gpu;
}

FakeGpu::FakeGpu() {
  std::string once = environment("TILEWRIGHT_FAKE_ONCE");
  bool areOver = !once.empty() && access(once.c_str(), F_OK) == 0;
  std::istringstream words(areOver ? "" : environment("TILEWRIGHT_FAKE_FAULTS"));
  for (std::string word; words >> word;) {
    size_t colon = word.find(':'), equals = word.find('=');
    if (colon == std::string::npos || equals == std::string::npos)
      std::abort(); // a test that says something else than it means
    std::string number = word.substr(colon + 1, equals - colon - 1);
    faults.push_back(
        {word.substr(0, colon), number == "*" ? 0 : std::stoul(number), word.substr(equals + 1)});
  }
  std::istringstream folders(environment("TILEWRIGHT_FAKE_PACK"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (auto read = readPack(folder))
      packs.push_back(std::move(*read));
}

std::string FakeGpu::setting(const std::string &name, const std::string &otherwise) const {
  std::istringstream words(environment("TILEWRIGHT_FAKE_GPU"));
  for (std::string word; words >> word;)
    if (word.compare(0, name.size() + 1, name + "=") == 0)
      return word.substr(name.size() + 1);
  return otherwise;
}

int FakeGpu::call(const char *symbol) {
  size_t number = ++calls[symbol];
  for (const Fault &fault : faults)
    if (fault.point == symbol && (fault.number == 0 || fault.number == number)) {
      markOnce();
      return std::atoi(fault.action.c_str());
    }
  return 0;
}

void FakeGpu::markOnce() const {
  if (std::string once = environment("TILEWRIGHT_FAKE_ONCE"); !once.empty())
    if (FILE *mark = std::fopen(once.c_str(), "w"))
      std::fclose(mark);
}

int FakeGpu::at(const char *point) {
  size_t number = ++calls[point], any = ++calls["any"];
  int status = 0;
  for (const Fault &fault : faults) {
    bool applies = (fault.point == point && (fault.number == 0 || fault.number == number)) ||
                   (fault.point == "any" && (fault.number == 0 || fault.number == any));
    if (!applies)
      continue;
    markOnce();
    if (fault.action == "kill") {
      kill(getppid(), SIGKILL);
      raise(SIGKILL);
    } else if (fault.action == "crash") {
      raise(SIGKILL);
    } else if (fault.action == "hang") {
      isHanging = true;
    } else if (fault.action == "slow") {
      isSlow = true;
    } else if (fault.action == "short") {
      isShort = true;
    } else if (fault.action == "lost") {
      losesRecord = true;
    } else if (fault.action == "back") {
      goesBack = true;
    } else if (fault.action == "wrong" || fault.action == "partial") {
      spoil = fault.action;
    } else {
      status = std::atoi(fault.action.c_str());
    }
  }
  return status;
}

size_t FakeGpu::totalBytes() const { return std::stoull(setting("memory", "4294967296")); }

int FakeGpu::allocate(unsigned long long *pointer, size_t bytes) {
  if (used + bytes > totalBytes())
    return cuda::outOfMemory;
  // Large blocks are never touched by tests that only flush, so that they cost nothing.
  void *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!block)
    return cuda::outOfMemory;
  *pointer = reinterpret_cast<unsigned long long>(block);
  memory[*pointer] = bytes;
  used += bytes;
  return 0;
}

int FakeGpu::release(unsigned long long pointer) {
  auto block = memory.find(pointer);
  if (block == memory.end())
    return 1;
  used -= block->second;
  memory.erase(block);
  std::free(reinterpret_cast<void *>(pointer));
  return 0;
}

bool FakeGpu::isAllocated(unsigned long long pointer, size_t bytes) const {
  auto next = memory.upper_bound(pointer);
  if (next == memory.begin())
    return false;
  auto block = std::prev(next);
  return pointer + bytes <= block->first + block->second;
}

const PackKernel *FakeGpu::findKernel(const std::string &entry) const {
  for (const Pack &pack : packs)
    for (const PackKernel &kernel : pack.kernels)
      if (kernel.entry == entry)
        return &kernel;
  return nullptr;
}

void FakeGpu::pass(double ns) {
  clock += static_cast<uint64_t>(ns);
  isCold = true;
}

double FakeGpu::durationNs(const PackKernel &kernel) const {
  if (isShort)
    return 1;
  double work = kernel.work ? kernel.work->flops / 4e5 +
                                  (kernel.work->readBytes + kernel.work->writeBytes) / 2e3
                            : 0;
  double ns =
      2000 + work +
      static_cast<double>(splitmix64(7, std::stoull(hashText(kernel.entry), nullptr, 16)) % 5000);
  ns *= isCold ? 1.5 : 1.0;
  ns *= isSlow ? 1.2 : 1.0;
  return ns + static_cast<double>(splitmix64(11, kernelsLaunched) % 40); // jitter
}

int FakeGpu::launch(const PackKernel &kernel, const unsigned grid[3], const unsigned block[3],
                    void **arguments, unsigned gapNs) {
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    auto pointer = *static_cast<unsigned long long *>(arguments[i]);
    if (!isAllocated(pointer, kernel.parameters[i].bytes))
      return 700; // CUDA_ERROR_ILLEGAL_ADDRESS
  }
  for (size_t i = 0; i < kernel.workspaces.size(); ++i) {
    auto pointer = *static_cast<unsigned long long *>(arguments[kernel.parameters.size() + i]);
    if (!isAllocated(pointer, kernel.workspaces[i].bytes))
      return 700;
    const auto *bytes = reinterpret_cast<const unsigned char *>(pointer);
    if (kernel.workspaces[i].isZeroed)
      for (uint64_t at = 0; at < kernel.workspaces[i].bytes; ++at)
        if (bytes[at] != 0)
          return 719; // it would add to what is there
  }
  compute(kernel, arguments, std::exchange(spoil, ""));
  ++kernelsLaunched;
  double ns = durationNs(kernel);
  lastKernelNs = ns;
  uint64_t start = clock + gapNs;
  clock = start + static_cast<uint64_t>(ns);
  if (isRecording && !std::exchange(losesRecord, false)) {
    KernelInterval record{
        start, clock, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}};
    if (std::exchange(goesBack, false))
      std::swap(record.startNs, record.endNs);
    records.push_back(record);
  }
  isCold = isShort = false;
  return 0;
}

void FakeGpu::compute(const PackKernel &kernel, void **arguments, const std::string &spoiled) {
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const PackParameter &parameter = kernel.parameters[i];
    if (!parameter.isOutput)
      continue;
    auto *bytes = reinterpret_cast<std::byte *>(*static_cast<unsigned long long *>(arguments[i]));
    std::memset(bytes, 0, spoiled == "partial" ? parameter.bytes / 2 : parameter.bytes);
    unsigned bits = bitWidth(parameter.dtype);
    for (const PackExpectation &expectation : kernel.expectations) {
      if (expectation.parameter != i || bits < 8)
        continue;
      for (size_t k = 0; k < expectation.positions.size(); ++k) {
        auto at = static_cast<uint64_t>(expectation.positions[k]) * bits / 8;
        if (spoiled == "partial" && at >= parameter.bytes / 2)
          continue;
        double value = expectation.values[k];
        if (spoiled == "wrong")
          value = value + 2 * (1 + std::max(std::abs(value), expectation.scale));
        uint64_t word = isFloat(parameter.dtype)
                            ? std::bit_cast<uint64_t>(value)
                            : static_cast<uint64_t>(static_cast<int64_t>(value));
        uint64_t code = encodeWord(parameter.dtype, word);
        for (unsigned b = 0; b < bits / 8; ++b)
          bytes[at + b] = std::byte(code >> (8 * b) & 0xff);
      }
    }
  }
}

} // namespace tilewright::profile::fake
