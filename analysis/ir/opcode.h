// HLO's opcodes, with the class that decides how analyses treat them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright {

enum class Opcode : uint16_t {
#define TILEWRIGHT_OPCODE(name, text, cls) name,
#include "analysis/ir/opcodes.def"
};

/// See opcodes.def.
enum class OpClass : uint8_t { Elementwise, Structured, Leaf, Tuple, Call, Collective, Opaque };

std::string_view toString(Opcode opcode);
std::optional<Opcode> parseOpcode(std::string_view text);
OpClass opClass(Opcode opcode);

} // namespace tilewright
