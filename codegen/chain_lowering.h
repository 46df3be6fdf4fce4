// Lowering of back-to-back dots by wgmma: the result of the first stays in registers as an operand
// of the second. By mma.sync their code is that of their tile program.
//
//     S = Q·Kᵀ,   P = f(S),   O = P·V
//
// f may reduce over the second dot's contracted dim ("keys"), as a softmax does. One pass visits
// the keys in steps and corrects the running reductions after each step (online softmax, see
// analysis/tiling/carried_state.h). Reductions without an online form take all keys as one step.
//
// Each warp owns some of the rows, with all of their keys and all columns of O, so that rows are
// reduced by shuffles within four lanes. Shared memory holds Q once, and K and V in stages. P goes
// from the first product's registers straight to the second's: accumulator and operand fragments
// agree.
//
// Where the argument of the exponential is c·S (masked or not) with a constant c > 0, scores and
// their maximum are computed without the factor: e^(c·s - c·m) = 2^((s - m)·c·log2 e) is one
// subtraction, one product and one exp2 a score, and exactly 1 where s is the maximum.
#pragma once

#include "analysis/tiling/masks.h"
#include "analysis/tiling/tiled_group.h"
#include "codegen/dot_sides.h"
#include "codegen/producer_warps.h"
#include "codegen/tensor_operand.h"

namespace tilewright {

class ChainLowering {
public:
  ChainLowering(const KernelSpec &spec, CodeMode mode) : spec(spec), mode(mode) {}
  llvm::Expected<KernelModule> run();

private:
  /// A reduction over the keys.
  struct Reduction {
    OpId op, input;
    Combiner combiner = Combiner::Add;
    size_t dim = 0; ///< the reduced one, of the input
    Coordinates at; ///< over the placeholders
    DType type = DType::F32;
    double start = 0; ///< what it is of nothing
  };
  /// A select's predicate: true where all conditions are at least 0.
  struct Mask {
    OpId predicate;
    std::vector<AffineValue> conditions;
    Coordinates at;         ///< over the placeholders
    bool isCertain = false; ///< true in every step for which the last isWhole() condition holds
  };

  llvm::Error analyse();
  llvm::Error collectReductions();
  llvm::Error chooseTiles();
  llvm::Error locate();
  bool dependsOn(OpId op, OpId other) const;
  void findFactor();
  llvm::Error checkSharedBytes() const;
  int64_t sharedBytes() const;
  void analyseSteps();
  void findMasks();
  void findSteps();
  void placeCta();
  llvm::Value *isWhole(Expr step, Expr firstRow, int64_t rows);
  int64_t rowBlocks() const { return rowsOfWarp / 16; }
  int64_t lines() const { return rowBlocks() * 2; }
  // wgmma
  llvm::Error chooseWarpgroups();
  int64_t liveRegisters() const;
  llvm::Expected<TensorOperand> tensorOf(const char *what, TensorTile tile, OpId dot, bool isLeft,
                                         const Coordinates &at, const Coordinates &first);
  llvm::Error planTensors();
  llvm::Error emitWarpgroupProgram();
  void emitCopies();
  llvm::Error emitProducts(llvm::Value *group);
  Values startScores(llvm::Value *group, llvm::Value *stage);
  Values startOutputs(llvm::Value *stage, const std::vector<Values> &fragments, Values outputs);
  void keepBehind(const Values &state, const std::function<void()> &never);
  Values waitFor(unsigned pending, bool isScores, const Values &started);
  // Between the dots
  /// P, and the factors by which running sums are rescaled.
  struct SoftmaxStep {
    Values scores;  ///< as products have them: [row block][8 keys][4]
    Values factors; ///< by line; empty: all are 1
  };
  /// P as left operands: [row block · key blocks + key block], four words.
  std::vector<Values> fragmentsOf(const Values &scores);
  Values initialState();
  std::vector<bool> provisionalOps() const;
  llvm::Expected<SoftmaxStep> onlineSoftmaxStep(Expr step, const Values &sums, Values &state,
                                                bool isWhole);
  llvm::Expected<SoftmaxStep> maskedSoftmaxStep(Expr step, Expr firstRow, int64_t rows,
                                                const Values &sums, Values &state);
  void rescale(Values &outputs, const Values &factors);
  llvm::Expected<Values> quotients(const Op &op, const Coordinates &at, unsigned count);
  llvm::Expected<Values> exponentials(const Op &op, const Coordinates &at, unsigned count);
  Guard rowGuard(Expr row) const;
  Coordinates rootAt(Expr row, Expr column) const;
  Coordinates scoresAt(Expr row, Expr key) const;       ///< coordinates of P
  Coordinates firstAt(const Coordinates &scores) const; ///< of S, for coordinates of P
  llvm::Error emitResults(const Values &outputs, const Values &state);
  llvm::Expected<Values> rowValue(OpId op, Expr row);
  llvm::Value *atLeastLowest(DType type, llvm::Value *value);
  llvm::Value *powerOf(llvm::Value *x);
  llvm::Expected<llvm::Value *> moveShift(Expr row, llvm::Value *&held);
  llvm::Error takeRow(int64_t line, const Values &state);
  bool isExponentialOf(OpId op) const;
  bool isAlwaysExponential(OpId op) const;
  Expr rowOf(int64_t line) const;
  llvm::Value *acrossQuad(Combiner combiner, DType type, llvm::Value *value);
  llvm::Expected<std::optional<Values>> supply(OpId op, const Coordinates &at, unsigned count);

  const KernelSpec &spec;
  CodeMode mode;
  std::unique_ptr<Lowering> lowering;
  Lowering::Extras extras;
  OpId first, second, scores, values, queries, keys;
  bool isScoresLeft = true, isQueriesLeft = true;
  DType type = DType::BF16;
  std::vector<Reduction> reductions; ///< a maximum, if there is one, then sums
  std::optional<OpId> shift;         ///< what exponentials subtract, a value of the row
  std::optional<size_t> divisor;     ///< the sum that P is divided by
  std::string whyNotOnline;          ///< why the reductions have no online form; empty if they have
  std::vector<OpId>
      closed; ///< ops that are not expanded: the reductions, whose results are supplied
  std::optional<OpId> scaling; ///< the op that multiplies by `factor`; it is skipped
  OpId unscaled;               ///< what it multiplies
  double factor = 1;
  std::vector<Mask> masks;
  std::optional<TiledGroup> tiling; ///< with the range of the loop over the keys
  std::optional<unsigned> keyLoop;
  bool laterRowsAreLonger = false;
  std::vector<RootSide> sides; ///< batch, rows of P, columns of V
  int64_t keyCount = 1, keyStep = 1, keyPadded = 16, keySteps = 1;
  int64_t depth = 1, depthPadded = 16; ///< of the first dot
  int64_t rowsOfWarp = 16, columnsPadded = 16;
  int64_t queryBytes = 0, stageBytes = 0;
  TensorOperand queryTensor, keyTensor, valueTensor;
  ProducerWarps producers;
  StageRing keyRing, valueRing;
  Expr stepPlaceholder;

  Coordinates placeholders, secondAt, scoresPlaceholders, firstPlace;
  llvm::Value *firstStep = nullptr, *endStep = nullptr;

  // Values at hand, for supply().
  Coordinates currentScores, currentFirst, currentSecond;
  Guard currentGuard;
  bool areMasksTrue = false;
  std::map<std::vector<uint32_t>, Values> currentExponentials; ///< of a line, by coordinates
  llvm::Value *currentShift = nullptr; ///< at least the lowest finite number
  Values currentSums, currentOutput;
  std::vector<llvm::Value *> currentRow, currentReciprocal; ///< by reduction
  llvm::Value *currentScale = nullptr;                      ///< of the second dot; null: 1
};

/// Lowers the chain with the plan's instruction, or with mma.sync where that instruction can't take
/// it.
llvm::Expected<KernelModule> lowerChain(const KernelSpec &spec, CodeMode mode);

} // namespace tilewright
