#include "analysis/prove/examples.h"

#include "analysis/import/hlo_text.h"
#include "analysis/ir/verifier.h"
#include "analysis/prove/examples_internal.h"

#include <fmt/format.h>

namespace tilewright::prove {

namespace {

const char *const computations =
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "lt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    "ROOT r = pred[] compare(a, b), direction=LT }\n"
    "ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    "ROOT r = pred[] compare(a, b), direction=GE }\n"
    "neg { a = f32[] parameter(0)\n ROOT r = f32[] negate(a) }\n"
    "step { a = f32[3] parameter(0)\n b = f32[3] parameter(1)\n c = f32[3] add(a, b)\n"
    "ROOT t = (f32[3], f32[3]) tuple(c, c) }\n";

/// Ops without attributes: one or two tensors of one shape.
std::vector<Example> elementwiseExamples(Opcode opcode) {
  const std::string name(toString(opcode));
  const std::string x = "x = f32[3,4] parameter(0)\n ", y = "y = f32[3,4] parameter(1)\n ";
  auto one = [](std::string body) { return std::vector<Example>{{"[3,4]", std::move(body)}}; };
  switch (opcode) {
  case Opcode::Compare:
    return one(x + y + "ROOT r = pred[3,4] compare(x, y), direction=LT");
  case Opcode::Select:
    return {
        {"scalar predicate",
         "p = pred[] parameter(2)\n " + x + y + "ROOT r = f32[3,4] select(p, x, y)"},
        {"[3,4]", "p = pred[3,4] parameter(2)\n " + x + y + "ROOT r = f32[3,4] select(p, x, y)"}};
  case Opcode::Clamp:
    return {{"scalar bounds", "z = f32[] parameter(1)\n " + x + "ROOT r = f32[3,4] clamp(z, x, z)"},
            {"[3,4]", y + x + "ROOT r = f32[3,4] clamp(y, x, y)"}};
  case Opcode::Convert:
    return one(x + "ROOT r = bf16[3,4] convert(x)");
  case Opcode::BitcastConvert:
    return {{"f32 to s16", x + "ROOT r = s16[3,4,2] bitcast-convert(x)"},
            {"s16 to f32", "x = s16[3,4,2] parameter(0)\n ROOT r = f32[3,4] bitcast-convert(x)"},
            {"f32 to s32", x + "ROOT r = s32[3,4] bitcast-convert(x)"}};
  case Opcode::Complex:
    return one(x + y + "ROOT r = c64[3,4] complex(x, y)");
  case Opcode::Real:
  case Opcode::Imag:
    return one("x = c64[3,4] parameter(0)\n ROOT r = f32[3,4] " + name + "(x)");
  case Opcode::IsFinite:
    return one(x + "ROOT r = pred[3,4] is-finite(x)");
  case Opcode::ReducePrecision:
    return one(x + "ROOT r = f32[3,4] reduce-precision(x), exponent_bits=5, mantissa_bits=3");
  case Opcode::StochasticConvert:
    return one(x + "n = u32[3,4] parameter(1)\n ROOT r = bf16[3,4] stochastic-convert(x, n)");
  case Opcode::Map:
    return one(x + "ROOT r = f32[3,4] map(x), dimensions={0,1}, to_apply=neg");
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
  case Opcode::ShiftLeft:
  case Opcode::ShiftRightArithmetic:
  case Opcode::ShiftRightLogical:
    return one("x = s32[3,4] parameter(0)\n y = s32[3,4] parameter(1)\n ROOT r = s32[3,4] " + name +
               "(x, y)");
  case Opcode::Not:
  case Opcode::Clz:
  case Opcode::PopulationCount:
    return one("x = s32[3,4] parameter(0)\n ROOT r = s32[3,4] " + name + "(x)");
  case Opcode::Add:
  case Opcode::Atan2:
  case Opcode::Divide:
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Multiply:
  case Opcode::Power:
  case Opcode::Remainder:
  case Opcode::Subtract:
    return one(x + y + "ROOT r = f32[3,4] " + name + "(x, y)");
  case Opcode::CopyDone:
    return one(x + "s = (f32[3,4], f32[3,4], u32[]) copy-start(x)\n ROOT r = f32[3,4] "
                   "copy-done(s)");
  case Opcode::Domain:
    return {};
  default:
    return one(x + "ROOT r = f32[3,4] " + name + "(x)");
  }
}

std::vector<Example> tupleExamples(Opcode opcode) {
  const std::string x = "x = f32[3,4] parameter(0)\n ";
  auto one = [](std::string body) { return std::vector<Example>{{"[3,4]", std::move(body)}}; };
  switch (opcode) {
  case Opcode::CopyStart:
    return one(x + "ROOT r = (f32[3,4], f32[3,4], u32[]) copy-start(x)");
  case Opcode::Tuple:
    return one(x + "ROOT r = (f32[3,4]) tuple(x)");
  case Opcode::GetTupleElement:
    return one(x + "t = (f32[3,4], f32[3,4]) tuple(x, x)\n"
                   "ROOT r = f32[3,4] get-tuple-element(t), index=1");
  case Opcode::OptimizationBarrier:
    return one(x + "ROOT r = f32[3,4] opt-barrier(x)");
  case Opcode::AddDependency:
    return one(x + "t = token[] after-all()\n ROOT r = f32[3,4] add-dependency(x, t)");
  default:
    return {};
  }
}

} // namespace

std::vector<Example> examplesOf(Opcode opcode, Grid grid) {
  switch (opClass(opcode)) {
  case OpClass::Elementwise:
    return elementwiseExamples(opcode);
  case OpClass::Tuple:
    return tupleExamples(opcode);
  case OpClass::Collective:
    return collectiveExamples(opcode, grid);
  case OpClass::Structured:
  case OpClass::Opaque: {
    std::vector<Example> out = movementExamples(opcode, grid);
    if (out.empty())
      out = contractionExamples(opcode, grid);
    return out.empty() ? indexedExamples(opcode, grid) : out;
  }
  case OpClass::Leaf:
  case OpClass::Call:
    return {};
  }
  return {};
}

llvm::Expected<Module> moduleOf(const Example &example) {
  llvm::Expected<Module> module = parseHlo(std::make_shared<SourceBuffer>(
      "example",
      fmt::format("HloModule example\n{}ENTRY main {{\n{}\n}}\n", computations, example.body)));
  if (!module)
    return module.takeError();
  if (llvm::Error error = verify(*module))
    return error;
  return module;
}

} // namespace tilewright::prove
