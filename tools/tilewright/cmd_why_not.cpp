// tilewright why-not: whether a target takes an instruction, and if not, why and what it takes.
#include "costmodel/device.h"
#include "tools/tilewright/command_line.h"
#include "tools/tilewright/instruction_answer.h"

#include <fmt/ranges.h>

namespace tilewright::cli {

namespace {

struct WhyNotOptions {
  std::string instruction, device, target, shape, types, swizzle, tables;
  bool json = false;
};

llvm::Expected<std::optional<IsaTarget>> targetAsked(const WhyNotOptions &options) {
  if (options.target.empty() && options.device.empty())
    return std::nullopt;
  std::optional<IsaTarget> found;
  if (!options.target.empty()) {
    llvm::Expected<IsaTarget> target = IsaTarget::parse(options.target);
    if (!target)
      return target.takeError();
    return *target;
  }
  llvm::Expected<Device> device = loadDevice(options.device);
  if (!device)
    return device.takeError();
  llvm::Expected<IsaTarget> target = targetOfCapability(device->computeCapability);
  if (!target)
    return target.takeError();
  return *target;
}

llvm::Expected<InstructionAnswer> answerTo(const WhyNotOptions &options) {
  llvm::Expected<InstructionTable> table =
      options.tables.empty() ? InstructionTable::load() : InstructionTable::load(options.tables);
  if (!table)
    return table.takeError();
  llvm::Expected<std::optional<IsaTarget>> target = targetAsked(options);
  if (!target)
    return target.takeError();
  return answerInstruction(
      *table, {options.instruction, options.shape, options.types, options.swizzle, *target});
}

int runWhyNot(const WhyNotOptions &options) {
  llvm::Expected<InstructionAnswer> answer = answerTo(options);
  if (!answer)
    return failInput(answer.takeError());
  if (options.json)
    print(toJson(*answer));
  else
    say("{}", textOf(*answer));
  return answer->isTaken ? Fine : AnswerIsNo;
}

} // namespace

void addWhyNot(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<WhyNotOptions>();
  CLI::App *command =
      app.add_subcommand("why-not", "Whether a device takes an instruction, and why not");
  command->footer(
      "Examples:\n"
      "  tilewright why-not wgmma --device h100 --shape 64,40,32 --types s8,s8,s32\n"
      "  tilewright why-not mma.sync.sp --target sm_89 --types bf16\n"
      "  tilewright why-not tcgen05.mma.cta_group::2 --device b200 --shape 256,24,16 --types f16\n"
      "  tilewright why-not tma --shape 64,128 --types bf16 --swizzle 128\n"
      "INSTRUCTION is a name of PTX, whole or its beginning with the modifiers that matter; docs/"
      "instructions.md\nlists them. Without a target: does any take it? Exit code 1: no.");
  command->add_option("INSTRUCTION", options->instruction, "Name in PTX")->required();
  auto *device = command->add_option("-d,--device", options->device, "Device name or JSON file");
  command->add_option("--target", options->target, "Target of the assembler: sm_90a")
      ->excludes(device);
  command->add_option("--shape", options->shape,
                      "M,N,K of a product, - for any; the box of a TMA copy, fastest dim last");
  command->add_option("--types", options->types, "A,B,SUMS of a product; fewer leave them open");
  command->add_option("--swizzle", options->swizzle,
                      "Bytes of the swizzle of a TMA copy or a matrix descriptor: 0, 32, 64, 128");
  command->add_option("--tables", options->tables, "Folder with other instruction tables");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runWhyNot(*options); }; });
}

} // namespace tilewright::cli
