// Old and new code of a kernel side by side: the best plans of the dots and chains of the bundled
// models, made by the lowering of their kind of group and from their tile program, assembled, and
// counted.
//
//   code_compare [--device h100-sxm] [--target sm_90a] [--instruction mma.sync] [--file HLO]
//   [NAME…]
//
// One line a plan: SASS instructions of the innermost loop with the most products, of the whole
// kernel, registers, spilled bytes, shared bytes. NAME: a part of the kernel's name. The text of
// the code goes to the folder that CODE_COMPARE_SASS names.
#include "analysis/explore/kernel_plans.h"
#include "analysis/import/import_file.h"
#include "analysis/program/pass/of_plan.h"
#include "analysis/tiling/plan_text.h"
#include "analysis/tiling/resources.h"
#include "codegen/compile.h"
#include "codegen/emit/emit.h"
#include "codegen/lower.h"
#include "tests/tilings/bundled_kernels.h"

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace tilewright;

namespace {

struct Code {
  size_t loop = 0, products = 0, whole = 0; ///< instructions
  int64_t registers = 0, spills = 0, shared = 0;
};

/// The text of a cubin's code by nvdisasm, which has to be on PATH.
std::string disassembled(const std::string &cubin) {
  std::string file = "/tmp/code_compare_" + std::to_string(getpid()) + ".cubin";
  std::ofstream(file, std::ios::binary) << cubin;
  std::string text;
  if (FILE *pipe = popen(("nvdisasm -c " + file + " 2>&1").c_str(), "r")) {
    char buffer[4096];
    while (size_t count = fread(buffer, 1, sizeof buffer, pipe))
      text.append(buffer, count);
    pclose(pipe);
  }
  std::remove(file.c_str());
  if (const char *folder = std::getenv("CODE_COMPARE_SASS")) {
    static int number = 0;
    std::ofstream(std::string(folder) + "/" + std::to_string(number++) + ".sass") << text;
  }
  return text;
}

bool isProduct(const std::string &line) {
  for (const char *name : {"HMMA", "IMMA", "QMMA", "GMMA", "FFMA", "DFMA", "IMAD "})
    if (line.find(name) != std::string::npos)
      return true;
  return false;
}

void countLoop(const std::string &sass, Code &code) {
  std::istringstream in(sass);
  std::map<std::string, size_t> labels;
  std::vector<size_t> products{0};
  struct Loop {
    size_t begin, end;
  };
  std::vector<Loop> loops;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(".L_x_", 0) == 0)
      labels[line.substr(0, line.find(':'))] = code.whole;
    size_t address = line.find("/*");
    if (address == std::string::npos || address + 6 >= line.size() ||
        !std::isxdigit(static_cast<unsigned char>(line[address + 2])) ||
        line.find(';') == std::string::npos)
      continue;
    ++code.whole;
    products.push_back(products.back() + isProduct(line));
    size_t at = line.find(".L_x_");
    // Loops go round under a predicate; what stands out of line comes back without one.
    if (line.find("BRA") == std::string::npos || line.find('@') == std::string::npos ||
        at == std::string::npos)
      continue;
    std::string label = line.substr(at, line.find_first_of(")`;", at) - at);
    if (auto known = labels.find(label); known != labels.end())
      loops.push_back({known->second, code.whole});
  }
  for (const Loop &loop : loops) {
    size_t here = products[loop.end] - products[loop.begin], size = loop.end - loop.begin;
    if (here > code.products || (here == code.products && here && size < code.loop)) {
      code.products = here;
      code.loop = size;
    }
  }
}

llvm::Expected<Code> codeOfKernel(KernelModule kernel, const Toolchain &toolchain) {
  llvm::Expected<CompiledKernel> compiled = compileKernel(kernel, toolchain);
  if (!compiled)
    return compiled.takeError();
  if (!compiled->assembled)
    return makeError(DiagClass::Internal, "{}", compiled->assemblyError);
  Code code;
  code.registers = compiled->assembled->report.registers;
  code.spills = compiled->assembled->report.spillStoreBytes;
  code.shared = kernel.launch.sharedBytes;
  countLoop(disassembled(compiled->assembled->cubin), code);
  return code;
}

llvm::Expected<Code> newCode(const KernelPlan &plan, const Toolchain &toolchain) {
  llvm::Expected<program::PlanProgram> built = program::programOfPlan(plan);
  if (!built)
    return built.takeError();
  llvm::Expected<program::Program> concrete = concreteProgram(*built);
  if (!concrete)
    return concrete.takeError();
  llvm::Expected<KernelModule> kernel = emitProgram(*concrete, CodeMode::Device);
  if (!kernel)
    return kernel.takeError();
  return codeOfKernel(std::move(*kernel), toolchain);
}

llvm::Expected<Code> oldCode(const KernelPlan &plan, const Toolchain &toolchain) {
  llvm::Expected<KernelModule> kernel = lowerPlan(plan, CodeMode::Device);
  if (!kernel)
    return kernel.takeError();
  return codeOfKernel(std::move(*kernel), toolchain);
}

std::string shown(llvm::Expected<Code> code) {
  if (!code)
    return takeDiag(code.takeError()).message;
  return fmt::format("loop {} ({} products) of {}, {} registers, {} spilled, {} shared", code->loop,
                     code->products, code->whole, code->registers, code->spills, code->shared);
}

} // namespace

int main(int argc, char **argv) {
  std::string deviceName = "h100-sxm", targetName = "sm_90a", file;
  std::optional<Instruction> instruction;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.rfind("--", 0) != 0 || i + 1 == argc) {
      names.push_back(argument);
      continue;
    }
    std::string value = argv[++i];
    if (argument == "--device")
      deviceName = value;
    else if (argument == "--target")
      targetName = value;
    else if (argument == "--file")
      file = value;
    for (Instruction each : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma})
      if (argument == "--instruction" && value == toString(each))
        instruction = each;
  }
  const Device device = llvm::cantFail(loadDevice(deviceName));
  const Calibration calibration = llvm::cantFail(defaultCalibration(device));
  const Toolchain toolchain = llvm::cantFail(findToolchain(llvm::cantFail(findTarget(targetName))));
  std::set<std::string> seen;
  std::vector<BundledKernel> kernels;
  if (!file.empty()) {
    auto module = std::make_shared<const Module>(llvm::cantFail(importFile(file)));
    addKernels(file, module, kernels);
  } else {
    kernels = llvm::cantFail(bundledKernels());
  }
  for (const BundledKernel &kernel : kernels) {
    bool isNamed = names.empty();
    for (const std::string &name : names)
      isNamed = isNamed || kernel.name.find(name) != std::string::npos;
    if (!isNamed)
      continue;
    PlanOptions options;
    options.instruction = instruction;
    llvm::Expected<KernelPlans> plans =
        kernelPlans(kernel.module, kernel.source, device, calibration, options);
    if (!plans) {
      llvm::consumeError(plans.takeError());
      continue;
    }
    const PlanRanking ranking = llvm::cantFail(plans->search({.top = 1, .maxPriced = 300}));
    if (ranking.best.empty())
      continue;
    const KernelPlan &plan = ranking.best[0].plan;
    const CodeKind kind = kindOfCode(plan.ops(), *plan.tiled).kind;
    if (kind != CodeKind::Dot && kind != CodeKind::Chain)
      continue;
    std::string before = shown(oldCode(plan, toolchain));
    std::string after = shown(newCode(plan, toolchain));
    if (!seen.insert(before + after).second)
      continue;
    std::string values;
    for (size_t i = 0; i < plan.values.size(); ++i)
      values += fmt::format(" {}={}", plan.tiled->space.parameters[i].name, plan.values[i]);
    fmt::print("{} {}{}\n  old {}\n  new {}\n", kernel.name, toString(plan.instruction), values,
               before, after);
    std::fflush(stdout);
  }
  return 0;
}
