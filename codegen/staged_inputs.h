// Transposed inputs, staged through shared memory.
//
// Where the output's fastest dim is strided in an input, the CTA's tile of the input is staged:
// loaded along the input's rows (coalesced), stored to shared memory, and read along the root's
// rows. The tile keeps its layout in memory, without padding, so that it takes as many bytes as the
// analysis says. Its words (4 bytes, or one larger element) are permuted within lines of all banks
// by an xor with the row number, so that neither row nor column accesses of a warp have bank
// conflicts:
//
//   word w of row b, W words a row:  (b·W + w) xor (⌊b / step⌋·scale mod span)
#pragma once

#include "analysis/tiling/across_inputs.h"
#include "codegen/lowering.h"

namespace tilewright {

class StagedInputs {
public:
  StagedInputs(Lowering &lowering, const std::vector<int64_t> &rootTile)
      : lowering(lowering), rootTile(rootTile) {}

  /// Finds the transposed inputs (analysis/tiling/across_inputs.h) whose tile is a box without
  /// gaps.
  void find();
  bool isEmpty() const { return inputs.empty(); }
  int64_t bytes() const { return totalBytes; }
  /// Neighbours of the root that a thread should make at once: 4 bytes of a staged input.
  unsigned lanes(unsigned most) const;

  /// Loads the tiles of the CTA with these tile numbers, ends with a barrier, and makes the emitter
  /// read them from shared memory from then on. `lanes` is the vector width of those reads.
  llvm::Error emitLoads(const Coordinates &pids, unsigned lanes);

private:
  struct Input {
    OpId op;
    std::vector<AcrossInput::Dim> dims;
    std::vector<int64_t> box;   ///< extents of the tile
    std::vector<int64_t> order; ///< minor to major
    int64_t offset = 0, elementBytes = 1;
    size_t row = 0;                        ///< the dim that follows the root's fastest
    int64_t perWord = 1;                   ///< elements
    int64_t span = 1, step = 1, scale = 1; ///< of the permutation
    Coordinates origin;                    ///< of the current CTA's tile
  };

  void choosePermutation(Input &input, int64_t lanes) const;
  llvm::Error load(Input &input);
  llvm::Value *address(const Input &input, const Coordinates &local, unsigned lane);
  llvm::Expected<std::optional<Values>> supply(OpId op, const Coordinates &at, unsigned count);

  Lowering &lowering;
  const std::vector<int64_t> &rootTile;
  std::vector<Input> inputs;
  int64_t totalBytes = 0;
};

} // namespace tilewright
