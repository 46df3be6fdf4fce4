// Attributes of HLO's protocol buffers as HLO text. Internal to the folder.
#pragma once

#include "analysis/import/proto/wire.h"

#include <functional>
#include <string>
#include <string_view>

namespace tilewright {

// Field numbers of HloInstructionProto in xla/service/hlo.proto that are read in several places.
namespace instruction_field {
enum : uint32_t {
  Name = 1,
  Opcode = 2,
  Shape = 3,
  Literal = 8,
  ParameterNumber = 9,
  Dimensions = 14,
  Id = 35,
  OperandIds = 36,
  Predecessors = 37,
  CalledIds = 38,
};
}

/// An instruction whose attributes are written.
struct ProtoInstruction {
  const WireMessage &message;
  std::string_view opcode;
  bool isOfTruthValue; ///< its first operand is a pred
  /// The name of a computation, or of an instruction of this one, with '%'; empty after an error.
  std::function<std::string(int64_t)> computation, instruction;
};

/// Appends `, name=value` for all that differs from what is taken where it is left out, in the
/// order of XLA's text.
void appendAttributes(const ProtoInstruction &op, std::string &out, WireError &error);

} // namespace tilewright
