// Operand tiles of dots by TMA, laid out as wgmma reads them.
//
// A stage holds an operand as panels: lines of `width` bytes (the swizzle: 128, 64 or 32). A
// K-minor operand has a line for each row or column of the tile with `width` bytes of K, and a
// panel for each such piece of the K step. A K-major operand has a line for each k with `width`
// bytes of rows or columns, and a panel for each such piece of them. One copy loads one panel.
#pragma once

#include "codegen/lowering.h"
#include "codegen/tensor_view.h"

namespace tilewright {

/// The part of an op that a tile covers: a step of its contracted dims as one (K), and in the other
/// dims the values of the digits, variables that each take `sizes` values.
struct TensorTile {
  OpId op;
  std::vector<int64_t> batch, contracted; ///< dims of the op; a batch dim has one element
  int64_t kExtent = 1, kStep = 1;
  int64_t kPadded = 1; ///< elements of K in shared memory: whole products
  Coordinates digits;
  std::vector<int64_t> sizes, order; ///< order: digits, fastest-varying first
  Coordinates at, first; ///< in the op, and with all digits zero; contracted dims don't matter
  int64_t padded = 1;    ///< rows or columns in shared memory
};

class TensorOperand {
public:
  /// Errors: Unsupported where TMA can't copy the tile, with the reason.
  static llvm::Expected<TensorOperand> plan(Lowering &lowering, const TensorTile &tile);

  bool isKMinor = true;
  int64_t bytes = 0;          ///< of shared memory, a multiple of 1024
  std::vector<int64_t> order; ///< order of the digits along rows or columns, fastest first
  TensorMap map;

  int64_t copiedBytes() const { return panels * panelBytes; }
  int64_t lineBytes() const { return width; }
  /// Starts the copies; called by one thread. `translate` is applied to the tile's first
  /// coordinates.
  void copy(ValueEmitter &emitter, unsigned mapNumber, llvm::Value *kFirst,
            llvm::Value *sharedOffset, llvm::Value *barrier,
            const std::function<Expr(Expr)> &translate = {}) const;

  /// Byte offset in the operand of `across` (a multiple of 8 lines or of the panels' width) and
  /// 32-byte step `kBlock` of K.
  int64_t step(int64_t across, int64_t kBlock) const;
  llvm::Value *descriptor(KernelBuilder &k, llvm::Value *sharedOffset) const;

private:
  struct Step {
    size_t otherDim = 0;
    int64_t innerOffset = 0; ///< elements in the innermost dim
    int64_t otherOffset = 0; ///< elements in otherDim
    Step(size_t otherDim, int64_t innerOffset) : otherDim(otherDim), innerOffset(innerOffset) {}
  };

  llvm::Error layOut(const TensorTile &tile, std::vector<BoxDim> boxes, int64_t kStride,
                     const StridedView &view);

  unsigned buffer = 0;
  DType type = DType::F16;
  int64_t elementBytes = 2;
  int64_t width = 128; ///< bytes of a line: the swizzle
  int64_t panels = 1, panelBytes = 0;
  int64_t pieces = 1;       ///< copies that a panel is brought in
  std::vector<Step> steps;  ///< where each panel starts
  std::vector<BoxDim> dims; ///< of the tensor map
  size_t kDim = 0;          ///< position of K among them
};

} // namespace tilewright
