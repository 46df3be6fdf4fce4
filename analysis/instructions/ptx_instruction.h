// An instruction as people and PTX write it, taken apart.
#pragma once

#include "analysis/support/diag.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

enum class InstructionUnit : uint8_t {
  MmaSync,
  Wgmma,
  Tcgen05Mma,
  Tcgen05Load,
  Tcgen05Store,
  Tcgen05Copy,
  Tcgen05Alloc,
  Tcgen05Commit,
  Tcgen05Shift,
  Ldmatrix,
  Stmatrix,
  Movmatrix,
  CpAsync,
  Tma,
  Bulk,
  SetMaxNReg,
  Other, ///< one that only the tables have
};

/// "mma.sync", "tcgen05.ld".
std::string_view toString(InstructionUnit unit);
/// Names of all units with rules.
std::vector<std::string> instructionUnits();

struct PtxInstruction {
  InstructionUnit unit = InstructionUnit::Other;
  std::string text; ///< as it was written
  /// Modifiers are all there, as in a name of PTX; else those not written are left open.
  bool isWhole = false;
  std::vector<std::string> modifiers; ///< without those that all forms of the unit have
  /// m, n and k; the third is also the one number of what has no shape (bytes, registers).
  std::array<std::optional<int64_t>, 3> shape;
  std::string a, b, sums; ///< empty: left open. "f32 from f16": D and C differ

  bool has(std::string_view modifier) const;
  /// "m64n40k16", "240"; empty where nothing is given.
  std::string shapeText() const;
};

/// Reads a name of PTX, whole ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") or in part
/// ("wgmma", "mma.sync.sp", "cp.async.cg 8"). "tma" is cp.async.bulk.tensor. Unit Other keeps the
/// text alone. Errors (BadInput): an empty or overlong name, a number out of range, more types than
/// an instruction has.
llvm::Expected<PtxInstruction> parseInstruction(std::string_view text);

/// "64,40,32" as m, n and k; fewer or "-" leave one open. Errors (BadInput) name the part.
llvm::Expected<std::array<std::optional<int64_t>, 3>> parseMatrixShape(std::string_view text);

/// Puts "s8,s8,s32" into the instruction: A, B and the sums, fewer leave them open.
llvm::Error setTypes(PtxInstruction &instruction, std::string_view text);

/// Bits of an element ("bf16": 16); 0 for no type.
unsigned instructionTypeBits(std::string_view type);

} // namespace tilewright
