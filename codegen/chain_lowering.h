// The lowering of two dots in a row, of which the first's result never leaves the registers.
//
//     S = Q·Kᵀ,   P = f(S),   O = P·V
//
// f is elementwise, or a softmax over the second dot's contracted dim ("keys"): then P may use one
// maximum of something over the keys and sums of things over them, and the keys are gone through in
// one pass. With m the maximum so far, every sum and O hold what they would be with m as the
// maximum; when m grows, they are multiplied by exp(shift(old m) - shift(m)), where shift is what
// the exponential's argument has subtracted, usually m itself (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018). A division of P by a sum is done to O at the end.
//
// Each warp has some of the rows, all of their keys and all columns of O: rows are reduced by
// shuffles within four lanes. Products are mma.sync; Q stands in shared memory once, K and V in
// stages. P goes from the first product's registers to the second's: the fragments agree.
#pragma once

#include "codegen/dot_sides.h"
#include "codegen/staged_tile.h"

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
  };
  /// How the value of an op changes with the maximum.
  enum class Form : uint8_t { Independent, Scaled, Other };

  llvm::Error analyse();
  llvm::Error collectReductions();
  llvm::Error chooseTiles();
  llvm::Error locate();
  Form formOf(OpId op);
  bool isRowValueOf(OpId op, OpId reduction) const;
  bool dependsOn(OpId op, OpId other) const;
  llvm::Error emitProgram();
  llvm::Error findSteps();
  llvm::Error loadQueries();
  llvm::Error loadKeys(Expr step, llvm::Value *stageOffset);
  Guard rowGuard(Expr row) const;
  Coordinates rootAt(Expr row, Expr column) const;
  Coordinates scoresAt(Expr row, Expr key) const;       ///< coordinates of P
  Coordinates firstAt(const Coordinates &scores) const; ///< of S, for coordinates of P
  Values computeScores(llvm::Value *stage);
  llvm::Error emitStep(Expr step, llvm::Value *stage, Values &carried);
  llvm::Error emitResults(const Values &carried);
  llvm::Expected<Values> rowValue(OpId op, Expr row);
  Expr rowOf(int64_t line) const;
  llvm::Value *acrossQuad(Combiner combiner, DType type, llvm::Value *value);
  llvm::Expected<std::optional<Values>> supply(OpId op, const Coordinates &at, unsigned count);

  const KernelSpec &spec;
  CodeMode mode;
  std::unique_ptr<Lowering> lowering;
  OpId first, second, scores, values, queries, keys;
  bool isScoresLeft = true, isQueriesLeft = true;
  DType type = DType::BF16;
  std::vector<Reduction> reductions; ///< a maximum, if there is one, then sums
  std::optional<OpId> shift;         ///< what exponentials subtract, a value of the row
  std::optional<size_t> divisor;     ///< the sum that P is divided by
  std::vector<OpId> closed;          ///< the reductions: their results are supplied
  std::vector<RootSide> sides;       ///< batch, rows of P, columns of V
  int64_t keyCount = 1, keyStep = 1, keyPadded = 16, keySteps = 1;
  int64_t depth = 1, depthPadded = 16; ///< of the first dot
  int64_t rowsOfWarp = 16, columnsPadded = 16;
  StagedTile queryTile, keyTile, valueTile;
  int64_t queryBytes = 0, stageBytes = 0;

  Coordinates placeholders, secondAt, scoresPlaceholders, firstPlace;
  llvm::Value *firstStep = nullptr, *endStep = nullptr;
  std::vector<Values> queryFragments; ///< [row block · K blocks + K block], where they are kept

  // What is being made, for supply().
  Coordinates currentFirst, currentSecond;
  Values currentSums, currentOutput;
  std::vector<llvm::Value *> currentRow; ///< by reduction
};

/// Does the spec's graph have two dots, one of which reads the other's result?
bool isChain(const Graph &graph);

} // namespace tilewright
