// The cost model's instruction counts of ops (costmodel/op_cost.def) against the code that is made
// for them.
#include "codegen/lower.h"
#include "codegen/nvptx.h"
#include "codegen/target.h"
#include "codegen/testing/lowering.h"
#include "costmodel/op_cost.h"

#include <fmt/format.h>
#include <map>
#include <sstream>

namespace tilewright {
namespace {

/// A chain of ops over one tensor. Of two operands, none stays the same along it, so that nothing
/// of an op is done once for all.
std::string hloOf(const std::string &op, const std::string &type, int length, int operands) {
  std::string shape = type + "[256]", body = fmt::format("  v0 = {} parameter(0)\n", shape);
  if (operands == 2)
    body += fmt::format("  k = {} parameter(1)\n", shape);
  for (int i = 0; i < length; ++i)
    body +=
        fmt::format("  {}v{} = {} {}(v{}{})\n", i + 1 == length ? "ROOT " : "", i + 1, shape, op, i,
                    operands < 2 ? ""
                    : i == 0     ? ", k"
                                 : fmt::format(", v{}", i - 1));
  return "HloModule m\nENTRY e {\n" + body + "}\n";
}

/// What ptxas makes of a PTX instruction: all instructions and special functions. Where PTX has one
/// instruction for what takes several, as ptxas 13.0 has it for sm_90a.
struct Expansion {
  const char *prefix;
  double instructions, special;
};
constexpr Expansion expansions[] = {
    {"ex2.approx.f32", 4, 1}, // small arguments are scaled, and the result after it
    {"rsqrt.approx.f32", 4, 1},
    {"sqrt.approx.f32", 4, 1},
    {"rcp.approx.f32", 4, 1},
    {"div.full.f32", 7, 1},
    {"div.s32", 21, 3},
    {"div.u32", 17, 3},
    {"rem.s32", 21, 3},
    {"rem.u32", 17, 3},
    {"cvt.r", 1, 1}, // to an integer value: FRND, F2I
    {"popc", 1, 1},
    {"clz", 2, 1},
    // Modifiers of operands, or nothing at all.
    {"mov", 0, 0},
    {"neg.f32", 0, 0},
    {"abs.f32", 0, 0},
    {"and.pred", 0.5, 0},
    {"or.pred", 0.5, 0},
    {"not.pred", 0, 0},
};

struct Counted {
  double instructions = 0, special = 0;
};

/// Without the long reduction of large angles, which ordinary ones branch around: the one block
/// that multiplies 64 bits by 64.
Counted countOf(const std::string &ptx) {
  Counted sum, block;
  bool isCounted = true;
  auto endBlock = [&] {
    if (isCounted) {
      sum.instructions += block.instructions;
      sum.special += block.special;
    }
    block = {};
    isCounted = true;
  };
  std::istringstream lines(ptx.substr(ptx.find('{')));
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find_first_not_of(" \t");
    if (line.starts_with('$'))
      endBlock();
    if (first == std::string::npos || line[first] == '/' || line[first] == '.' ||
        line[first] == '$' || line[first] == '{' || line[first] == '}')
      continue;
    std::string text = line.substr(first);
    const Expansion *found = nullptr;
    for (const Expansion &e : expansions)
      if (text.starts_with(e.prefix) && !found)
        found = &e;
    // Conversions from integers to floats count as one, on the pipe of special functions or not.
    if (text.starts_with("cvt.rn."))
      found = nullptr;
    block.instructions += found ? found->instructions : 1;
    block.special += found ? found->special : 0;
    isCounted = isCounted && !text.starts_with("mul.hi.u64");
    if (text.starts_with("bra") || text.starts_with("@"))
      endBlock();
  }
  endBlock();
  return sum;
}

/// Instructions of one op and element: the difference of two chains.
Counted perElement(const std::string &op, const std::string &type, int operands) {
  constexpr int shorter = 4, longer = 12;
  const Target target = llvm::cantFail(findTarget("sm_90a"));
  std::map<int, Counted> counts;
  for (int length : {shorter, longer}) {
    auto kernel =
        lowerKernel(specFromHlo(hloOf(op, type, length, operands), {128}, 1), CodeMode::Device);
    if (!kernel) {
      ADD_FAILURE() << takeDiag(kernel.takeError()).str();
      return {};
    }
    counts[length] = countOf(llvm::cantFail(emitPtx(*kernel, target, target.minimumPtx)));
  }
  constexpr double elements = 4; // of a thread: 128 of 32 lanes
  const double ops = (longer - shorter) * elements;
  return {(counts[longer].instructions - counts[shorter].instructions) / ops,
          (counts[longer].special - counts[shorter].special) / ops};
}

LaneOps modelled(const std::string &op, const std::string &type, int operands,
                 ScalarForms forms = ScalarForms::Refined) {
  KernelSpec spec = specFromHlo(hloOf(op, type, 1, operands), {128}, 1);
  const Graph &graph = spec.graph();
  return costPerElement(*spec.module, graph[graph.root()], forms);
}

struct Case {
  const char *op, *type;
  int operands;
};

class OpCost : public ::testing::TestWithParam<Case> {};

/// PTX tells instructions to within a few: ptxas folds comparisons and picks forms of its own. A
/// change of the code that matters shows all the same.
TEST_P(OpCost, IsThatOfTheCodeThatIsMade) {
  const Case &c = GetParam();
  Counted code = perElement(c.op, c.type, c.operands);
  LaneOps cost = modelled(c.op, c.type, c.operands);
  EXPECT_NEAR(cost.alu + cost.sfu, code.instructions, 2 + 0.25 * code.instructions);
  EXPECT_NEAR(cost.sfu, code.special, 0.1);
  EXPECT_LE(cost.half, cost.alu);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, OpCost,
    ::testing::Values(Case{"add", "f32", 2}, Case{"multiply", "f32", 2},
                      Case{"exponential", "f32", 1}, Case{"divide", "f32", 2},
                      Case{"sqrt", "f32", 1}, Case{"rsqrt", "f32", 1}, Case{"log", "f32", 1},
                      Case{"log-plus-one", "f32", 1}, Case{"exponential-minus-one", "f32", 1},
                      Case{"tanh", "f32", 1}, Case{"logistic", "f32", 1}, Case{"erf", "f32", 1},
                      Case{"cbrt", "f32", 1}, Case{"sine", "f32", 1}, Case{"cosine", "f32", 1},
                      Case{"power", "f32", 2}, Case{"sign", "f32", 1}, Case{"tan", "f32", 1},
                      Case{"acos", "f32", 1}, Case{"atan2", "f32", 2}, Case{"cosh", "f32", 1},
                      Case{"sinh", "f32", 1}, Case{"remainder", "f32", 2}, Case{"asinh", "f32", 1},
                      Case{"add", "s32", 2}, Case{"multiply", "s32", 2}, Case{"divide", "s32", 2},
                      Case{"divide", "u32", 2}, Case{"remainder", "s32", 2},
                      Case{"remainder", "u32", 2}, Case{"shift-left", "s32", 2},
                      Case{"popcnt", "s32", 1}),
    [](const auto &info) {
      std::string name = std::string(info.param.op) + "_" + info.param.type;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

/// Rows divided by a value each, by a number, and by one that makes a product of it.
TEST(OpCosts, QuotientsByWhatIsTheSame) {
  const Target target = llvm::cantFail(findTarget("sm_90a"));
  auto countedWith = [&](const std::string &result) {
    auto kernel = lowerKernel(specFromHlo("HloModule m\nENTRY e {\n"
                                          "  x = f32[4,1024] parameter(0)\n"
                                          "  s = f32[4] parameter(1)\n"
                                          "  r = f32[4,1024] broadcast(s), dimensions={0}\n"
                                          "  n = f32[] constant(11.3)\n"
                                          "  nb = f32[4,1024] broadcast(n), dimensions={}\n"
                                          "  p = f32[] constant(8)\n"
                                          "  pb = f32[4,1024] broadcast(p), dimensions={}\n"
                                          "  ROOT y = f32[4,1024] " +
                                              result + "\n}\n",
                                          {1, 1024}, 2),
                              CodeMode::Device);
    EXPECT_TRUE(bool(kernel)) << result;
    return countOf(llvm::cantFail(emitPtx(*kernel, target, target.minimumPtx)));
  };
  constexpr double elements = 16; // of a thread
  const double product = countedWith("multiply(x, r)").instructions;
  using program::Divisor;
  for (auto [result, divisor] : {std::pair{"divide(x, r)", Divisor::Shared},
                                 {"divide(x, nb)", Divisor::Number},
                                 {"divide(x, pb)", Divisor::PowerOfTwo}}) {
    const double code = 1 + (countedWith(result).instructions - product) / elements;
    const LaneOps cost = laneOpsOf(Opcode::Divide, DType::F32, ScalarForms::Refined, divisor);
    if (divisor == Divisor::Number) // ptxas folds what is compared of the number itself
      EXPECT_LE(cost.alu, code) << result;
    else
      EXPECT_NEAR(cost.alu, code, 0.5 + 0.25 * code) << result;
    EXPECT_EQ(cost.sfu, 0) << result;
  }
}

TEST(OpCosts, ApproximateExponentialsAndQuotientsTakeLess) {
  for (auto [op, operands] : {std::pair{"exponential", 1}, {"divide", 2}}) {
    LaneOps own = modelled(op, "f32", operands),
            other = modelled(op, "f32", operands, ScalarForms::Approximate);
    EXPECT_LT(2 * (other.alu + other.sfu), own.alu + own.sfu) << op;
  }
}

} // namespace
} // namespace tilewright
