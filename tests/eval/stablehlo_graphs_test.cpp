// StableHLO text and the HLO text that XLA makes of it are one graph. The pairs are others', where
// TILEWRIGHT_ORACLE names a folder of them: NAME.mlir and NAME.hlo.txt.
#include "analysis/import/check_calls.h"
#include "analysis/import/hlo_attribute_printer.h"
#include "analysis/import/import_file.h"
#include "analysis/ir/evaluator.h"
#include "analysis/ir/inline.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/tensor_difference.h"
#include "tests/eval/oracle.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <iostream>
#include <map>

using namespace tilewright;

namespace {

bool isCommutative(Opcode opcode) {
  return opcode == Opcode::Add || opcode == Opcode::Multiply || opcode == Opcode::And ||
         opcode == Opcode::Or || opcode == Opcode::Xor || opcode == Opcode::Maximum ||
         opcode == Opcode::Minimum;
}

/// An op that moves nothing, as XLA's conversion leaves out.
bool isIdentity(const Graph &graph, const Op &op) {
  switch (op.opcode) {
  case Opcode::Broadcast:
    return graph.op(op.operands[0]).shape.sameDimsAndType(op.shape) &&
           std::is_sorted(op.attrs.dimensions.begin(), op.attrs.dimensions.end());
  case Opcode::Convert:
  case Opcode::Pad:
  case Opcode::Reshape:
  case Opcode::Slice:
    return graph.op(op.operands[0]).shape.sameDimsAndType(op.shape) &&
           std::all_of(op.attrs.padding.begin(), op.attrs.padding.end(),
                       [](const PadDim &dim) { return dim.low == 0; });
  default:
    return false;
  }
}

/// Numbers for what computes the same from the same: equal ops with equal operands have one.
class ValueNumbers {
public:
  /// The number of the entry's root.
  size_t of(const Module &module) { return of(module, module.entryId); }

private:
  size_t of(const Module &module, GraphId id) {
    const Graph &graph = module.graph(id);
    std::vector<size_t> numbers(graph.size());
    for (uint32_t i = 0; i < graph.size(); ++i)
      numbers[i] = ofOp(module, graph, graph.op(OpId{i}), numbers);
    return numbers[graph.root().index];
  }

  size_t ofOp(const Module &module, const Graph &graph, const Op &op,
              const std::vector<size_t> &numbers) {
    if (op.opcode == Opcode::Constant)
      return ofConstant(op.shape, op.shape, op.literal);
    if (isIdentity(graph, op))
      return numbers[op.operands[0].index];
    if (op.opcode == Opcode::Broadcast)
      return ofBroadcast(graph.op(op.operands[0]), numbers[op.operands[0].index], op.shape,
                         op.attrs.dimensions);
    if (op.opcode == Opcode::Reshape)
      return ofReshape(op.shape, numbers[op.operands[0].index]);
    std::string key(toString(op.opcode));
    if (op.opcode == Opcode::Parameter)
      key += fmt::format(" {}", op.attrs.parameterNumber);
    for (const auto &[name, text] : typedAttributes(module, op))
      if (text.find('%') == std::string::npos) // no computation
        key += fmt::format(" {}={}", name, text);
    std::vector<size_t> operands;
    for (OpId operand : op.operands) {
      const Op &of = graph.op(operand);
      const bool isSpread = (op.opcode == Opcode::Select || op.opcode == Opcode::Clamp) &&
                            of.shape.isScalar() && !op.shape.isScalar();
      const size_t number = numbers[operand.index];
      operands.push_back(
          isSpread ? ofBroadcast(of, number, Shape::tensor(of.shape.dtype, op.shape.dims), {})
                   : number);
    }
    if (isCommutative(op.opcode))
      std::sort(operands.begin(), operands.end());
    key += fmt::format(" {}", fmt::join(operands, " "));
    for (const CalledGraph &called : op.called)
      key += fmt::format(" {}:{}", static_cast<int>(called.role), of(module, called.graph));
    return numberOf(op.shape, key);
  }

  /// Without the dims of one element, which XLA's conversion reshapes away.
  size_t ofBroadcast(const Op &from, size_t number, const Shape &shape,
                     const std::vector<int64_t> &dimensions) {
    if (from.opcode == Opcode::Constant && from.shape.isScalar())
      return ofConstant(shape, from.shape, from.literal);
    Shape kept = Shape::tensor(from.shape.dtype, {});
    std::string dims;
    for (size_t i = 0; i < from.shape.rank(); ++i)
      if (from.shape.dims[i] != 1) {
        kept.dims.push_back(from.shape.dims[i]);
        dims += fmt::format(" {}", dimensions[i]);
      }
    return numberOf(shape, fmt::format("broadcast {} to{}", ofReshape(kept, number), dims));
  }

  /// A reshape of a reshape is one; of the value's own shape, none.
  size_t ofReshape(const Shape &shape, size_t operand) {
    if (auto it = reshaped.find(operand); it != reshaped.end())
      operand = it->second;
    if (shapes[operand] == shape.str(false))
      return operand;
    const size_t number = numberOf(shape, fmt::format("reshape {}", operand));
    reshaped.emplace(number, operand);
    return number;
  }

  /// A constant by its values; of a splat those are once there.
  size_t ofConstant(const Shape &shape, const Shape &literalShape, const std::string &literal) {
    llvm::Expected<Tensor> tensor = parseLiteral(literalShape, literal);
    if (!tensor) {
      llvm::consumeError(tensor.takeError());
      return numberOf(shape, "constant " + literal);
    }
    const std::span<const uint64_t> words = tensor->words();
    const size_t width = tensor->wordsPerElement();
    bool isSplat = true;
    for (size_t i = width; i < words.size(); ++i)
      isSplat = isSplat && words[i] == words[i - width];
    const size_t count = isSplat ? std::min(width, words.size()) : words.size();
    return numberOf(shape, fmt::format("constant {}", fmt::join(words.first(count), " ")));
  }

  size_t numberOf(const Shape &shape, const std::string &key) {
    const auto [it, isNew] = keys.emplace(shape.str(false) + " " + key, keys.size());
    if (isNew)
      shapes.push_back(shape.str(false));
    return it->second;
  }

  std::map<std::string, size_t> keys;
  std::vector<std::string> shapes;   ///< by number
  std::map<size_t, size_t> reshaped; ///< what a reshape is of
};

llvm::Expected<Module> moduleOf(const std::string &name, const std::string &text) {
  llvm::Expected<Module> module = importBuffer(std::make_shared<const SourceBuffer>(name, text));
  if (!module)
    return module.takeError();
  takeChecks(*module);
  return inlineCalls(*module);
}

/// XLA's conversion folds constants and makes formulas of some ops, not always ours: such graphs
/// compute the same values.
bool computeTheSame(const Module &a, const Module &b) {
  llvm::Expected<std::vector<Tensor>> ours = evaluate(a, a.entryId, {}),
                                      theirs = evaluate(b, b.entryId, {});
  bool isSame = ours && theirs && ours->size() == theirs->size();
  for (size_t i = 0; isSame && i < ours->size(); ++i) {
    const double allowed = std::max(defaultTolerance((*ours)[i].dtype()), 2e-3);
    isSame = (*ours)[i].shape().sameDimsAndType((*theirs)[i].shape()) &&
             differenceOf((*ours)[i], (*theirs)[i], allowed).over == 0;
  }
  llvm::consumeError(ours.takeError());
  llvm::consumeError(theirs.takeError());
  return isSame;
}

} // namespace

TEST(StableHloGraphs, AreThoseOfTheConversionToHlo) {
  if (!hasOracle())
    GTEST_SKIP() << noOracle;
  const std::map<std::string, std::string> converted = oracleTexts(".hlo.txt"),
                                           programs = oracleTexts(".mlir");
  const bool isVerbose = std::getenv("TILEWRIGHT_ORACLE_VERBOSE") != nullptr;
  size_t same = 0, rewritten = 0;
  for (const auto &[name, hlo] : converted) {
    auto it = programs.find(name);
    if (it == programs.end())
      continue;
    llvm::Expected<Module> ours = moduleOf(name + ".mlir", it->second),
                           theirs = moduleOf(name + ".hlo.txt", hlo);
    EXPECT_TRUE(ours && theirs) << name;
    if (!ours || !theirs) {
      llvm::consumeError(ours.takeError());
      llvm::consumeError(theirs.takeError());
      continue;
    }
    ValueNumbers numbers;
    if (numbers.of(*ours) == numbers.of(*theirs)) {
      ++same;
      continue;
    }
    const bool isRewritten = computeTheSame(*ours, *theirs);
    rewritten += isRewritten;
    EXPECT_TRUE(isRewritten) << name;
    if (isVerbose)
      std::cout << name << "\n";
  }
  std::cout << same << " of " << converted.size() << " pairs are one graph, " << rewritten
            << " others compute the same\n";
  EXPECT_GT(same, 10 * rewritten);
}
