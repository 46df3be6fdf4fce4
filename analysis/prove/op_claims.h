// The claims about each op, and the status of their proofs.
//
// For each op and each example of a grid (examples.h):
//   maps      the index maps in both directions equal the reference evaluator's reads, at every
//   element of the example (checked, by running it) tile      for a tile of the result: the rule's
//   tile of each operand holds all that is read and,
//             where the rule calls it exact, nothing else (proved by Z3, tile_relation.h)
//   reverse   the same for a tile of an operand and the result
// The tile that comes in is one of several kinds:
//   root      CTA pid's tile of a root: [pid·t : t], masked at the dim; all t in [1, D] one by
//             one, all pid
//   any       any offset, size and masks, with a valid element
//   masked    any offset, size and masks, also none valid
//   strided, backwards   any offset, size and masks with stride 3 or -1
#pragma once

#include "analysis/indexing/indexing.h"
#include "analysis/prove/examples.h"
#include "analysis/prove/tile_relation.h"

#include <optional>

namespace tilewright::prove {

struct ClaimResult {
  enum class Status : uint8_t {
    Proved,  ///< by Z3
    Checked, ///< by running the reference evaluator
    Refuted,
    Unknown,
    None, ///< no such claim: no rule, or nothing to compare; see `reason`
  };
  enum class Kind : uint8_t { Maps, Covers, NoExtra, Rule };
  Opcode opcode = Opcode::Add;
  std::string example;
  Kind kind = Kind::Maps;
  bool isReverse = false; ///< from an operand's tile to the result's
  int operand = -1;       ///< -1: all of them
  std::string incoming;   ///< kind of tile that comes in
  Status status = Status::None;
  std::string reason;
  uint64_t spent = 0;
  size_t queries = 0;
};

std::string_view toString(ClaimResult::Status status);
/// "operand 0 covers, any tile".
std::string describe(const ClaimResult &result);

struct ProveOptions {
  std::optional<Opcode> only;
  Grid grid = Grid::Small;
  ProofOptions proof;
  std::function<void(size_t done, size_t total)> onProgress;
};

/// The result of an example's op that the claims are about, if there are several.
ResultPath resultPathOf(const Op &op);

/// Claims of one op, in order.
std::vector<ClaimResult> proveOp(Opcode opcode, const ProveOptions &options);
/// Of all ops, in the order of opcodes.def.
std::vector<ClaimResult> proveAll(const ProveOptions &options);

} // namespace tilewright::prove
