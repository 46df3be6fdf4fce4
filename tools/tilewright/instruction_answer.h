// What why-not says of an instruction: rules, what an assembler answered, and limits that no
// assembler sees.
#pragma once

#include "analysis/instructions/ruling.h"
#include "datasets/instruction_table.h"
#include "tools/tilewright/command.h"

namespace tilewright::cli {

struct InstructionQuestion {
  std::string instruction, shape, types, swizzle; ///< empty: not given
  std::optional<IsaTarget> target;                ///< none: any
};

struct InstructionAnswer {
  InstructionQuestion question;
  bool isTaken = false;
  std::vector<std::string> reasons, nearest;
  std::vector<std::string> forms;   ///< that fit, whatever the target
  std::vector<std::string> targets; ///< of the tables' that take it
  std::string source;               ///< who says so
  std::string assembler;            ///< its words for the very row, if there is one
};

/// Errors (BadInput): text that is no instruction, shape, type or swizzle.
llvm::Expected<InstructionAnswer> answerInstruction(const InstructionTable &table,
                                                    const InstructionQuestion &question);

std::string textOf(const InstructionAnswer &answer);
Json toJson(const InstructionAnswer &answer);

} // namespace tilewright::cli
