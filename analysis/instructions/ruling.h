// Does a target take an instruction, and if not, why?
#pragma once

#include "analysis/instructions/form.h"

namespace tilewright {

struct InstructionRuling {
  bool isTaken = false;
  /// Why not, in words: the target, then modifiers, types or the shape.
  std::vector<std::string> reasons;
  /// Forms that fit what is asked, whatever the target; of several, those of the target first.
  std::vector<const InstructionForm *> forms;
  /// The nearest that is taken: shapes ("m64n32k32"), best first, or modifiers that would do.
  std::vector<std::string> nearest;
  /// Who says so.
  FormSource source = FormSource::Assembled;
};

/// By the rules of form.h, for one target or for any; not for unit Other, which has none.
InstructionRuling ruleOn(const PtxInstruction &instruction,
                         const std::optional<IsaTarget> &target = std::nullopt);

/// An error (BadInput) for a modifier that no form of the unit has, nor any like it.
llvm::Error checkModifiers(const PtxInstruction &instruction);

/// "sm_90a", or what else the forms' targets are, one behind the other.
std::string targetsOf(const std::vector<const InstructionForm *> &forms);

/// "m64n8..256k16 .kind::mxf4 f16 x f16 + f32".
std::string describe(const InstructionForm &form);

} // namespace tilewright
