// Inputs that lie across the root: read through shared memory.
//
// Where neighbours of the root are far apart in an input (a transpose), the program's tile of the
// input is staged: loaded along the input's rows, stored to shared memory, read along the root's.
// The tile lies there as it does in memory, without padding, so that it takes as many bytes as the
// analysis says; its words (4 bytes, or an element that is larger) are permuted within lines of all
// banks by an xor with the number of the row, so that neither the rows nor the columns of a warp's
// access meet in a bank:
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

  /// Finds the inputs that lie across (analysis/tiling/across_inputs.h) and of which the root's
  /// tile is a box without gaps.
  void find();
  bool isEmpty() const { return inputs.empty(); }
  int64_t bytes() const { return totalBytes; }
  /// Neighbours of the root that a thread should make at once: 4 bytes of a staged input.
  unsigned lanes(unsigned most) const;

  /// Loads the tiles of the program with these tile numbers, with a barrier at the end, and makes
  /// the emitter read them from shared memory from then on. `lanes` is what is used afterwards.
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
    Coordinates origin;                    ///< of the current program's tile
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
