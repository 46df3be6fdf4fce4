// docs/ops.md: what is known of every op, found out by asking the implementation about a small
// example of each and comparing its maps with what the reference evaluator reads.
// TILEWRIGHT_UPDATE_DOCS=1 writes the file instead of comparing (scripts/update_docs.sh).
#include "analysis/indexing/recording.h"
#include "analysis/tiling/tiled_group.h"

#include <cstdlib>
#include <fstream>

using namespace tilewright;

namespace {

const char *const computations =
    "lt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    "ROOT r = pred[] compare(a, b), direction=LT }\n"
    "neg { a = f32[] parameter(0)\n ROOT r = f32[] negate(a) }\n"
    "step { a = f32[3] parameter(0)\n b = f32[3] parameter(1)\n c = f32[3] add(a, b)\n"
    "ROOT t = (f32[3], f32[3]) tuple(c, c) }\n";

/// Body of an entry computation whose op %r is the example; empty where the class says it all.
std::string exampleOf(Opcode opcode) {
  std::string name(toString(opcode));
  std::string x = "x = f32[3,4] parameter(0)\n ", y = "y = f32[3,4] parameter(1)\n ";
  std::string gathers = ", replica_groups={{0,1}}, dimensions={0}";
  switch (opcode) {
  case Opcode::Compare:
    return x + y + "ROOT r = pred[3,4] compare(x, y), direction=LT";
  case Opcode::Select:
    return "p = pred[] parameter(2)\n " + x + y + "ROOT r = f32[3,4] select(p, x, y)";
  case Opcode::Clamp:
    return "z = f32[] parameter(1)\n " + x + "ROOT r = f32[3,4] clamp(z, x, z)";
  case Opcode::Convert:
    return x + "ROOT r = bf16[3,4] convert(x)";
  case Opcode::BitcastConvert:
    return x + "ROOT r = s16[3,4,2] bitcast-convert(x)";
  case Opcode::Complex:
    return x + y + "ROOT r = c64[3,4] complex(x, y)";
  case Opcode::Real:
  case Opcode::Imag:
    return "x = c64[3,4] parameter(0)\n ROOT r = f32[3,4] " + name + "(x)";
  case Opcode::IsFinite:
    return x + "ROOT r = pred[3,4] is-finite(x)";
  case Opcode::ReducePrecision:
    return x + "ROOT r = f32[3,4] reduce-precision(x), exponent_bits=5, mantissa_bits=3";
  case Opcode::StochasticConvert:
    return x + "n = u32[3,4] parameter(1)\n ROOT r = bf16[3,4] stochastic-convert(x, n)";
  case Opcode::Map:
    return x + "ROOT r = f32[3,4] map(x), dimensions={0,1}, to_apply=neg";
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
  case Opcode::ShiftLeft:
  case Opcode::ShiftRightArithmetic:
  case Opcode::ShiftRightLogical:
    return "x = s32[3,4] parameter(0)\n y = s32[3,4] parameter(1)\n ROOT r = s32[3,4] " + name +
           "(x, y)";
  case Opcode::Not:
  case Opcode::Clz:
  case Opcode::PopulationCount:
    return "x = s32[3,4] parameter(0)\n ROOT r = s32[3,4] " + name + "(x)";
  case Opcode::Add:
  case Opcode::Atan2:
  case Opcode::Divide:
  case Opcode::Maximum:
  case Opcode::Minimum:
  case Opcode::Multiply:
  case Opcode::Power:
  case Opcode::Remainder:
  case Opcode::Subtract:
    return x + y + "ROOT r = f32[3,4] " + name + "(x, y)";
  case Opcode::CopyDone:
    return x + "s = (f32[3,4], f32[3,4], u32[]) copy-start(x)\n ROOT r = f32[3,4] copy-done(s)";
  case Opcode::CopyStart:
    return x + "ROOT r = (f32[3,4], f32[3,4], u32[]) copy-start(x)";
  case Opcode::Tuple:
    return x + "ROOT r = (f32[3,4]) tuple(x)";
  case Opcode::GetTupleElement:
    return x + "t = (f32[3,4], f32[3,4]) tuple(x, x)\n"
               "ROOT r = f32[3,4] get-tuple-element(t), index=1";
  case Opcode::OptimizationBarrier:
    return x + "ROOT r = f32[3,4] opt-barrier(x)";
  case Opcode::AddDependency:
    return x + "t = token[] after-all()\n ROOT r = f32[3,4] add-dependency(x, t)";
  case Opcode::Broadcast:
    return x + "ROOT r = f32[3,2,4] broadcast(x), dimensions={0,2}";
  case Opcode::Transpose:
    return x + "ROOT r = f32[4,3] transpose(x), dimensions={1,0}";
  case Opcode::Reshape:
    return x + "ROOT r = f32[2,6] reshape(x)";
  case Opcode::Bitcast:
    return "x = f32[3,4]{0,1} parameter(0)\n ROOT r = f32[4,3]{1,0} bitcast(x)";
  case Opcode::Slice:
    return x + "ROOT r = f32[2,2] slice(x), slice={[1:3], [0:4:2]}";
  case Opcode::Reverse:
    return x + "ROOT r = f32[3,4] reverse(x), dimensions={1}";
  case Opcode::Concatenate:
    return x + y + "ROOT r = f32[6,4] concatenate(x, y), dimensions={0}";
  case Opcode::Pad:
    return x + "z = f32[] parameter(1)\n ROOT r = f32[6,3] pad(x, z), padding=1_0_1x-1_0";
  case Opcode::Reduce:
    return x + "z = f32[] parameter(1)\n ROOT r = f32[3] reduce(x, z), dimensions={1}, "
               "to_apply=add";
  case Opcode::ReduceWindow:
    return x + "z = f32[] parameter(1)\n ROOT r = f32[2,4] reduce-window(x, z), "
               "window={size=2x3 stride=1x1 pad=0_0x1_1}, to_apply=add";
  case Opcode::SelectAndScatter:
    return x + "s = f32[1,2] parameter(1)\n z = f32[] parameter(2)\n ROOT r = f32[3,4] "
               "select-and-scatter(x, s, z), window={size=3x2 stride=1x2}, select=lt, scatter=add";
  case Opcode::Scan:
    return "x = f32[3,5] parameter(0)\n z = f32[3] parameter(1)\n"
           "r = (f32[3,5], f32[3]) scan(x, z), dimensions={1}, num_carries=1, to_apply=step\n"
           "ROOT g = f32[3,5] get-tuple-element(r), index=0";
  case Opcode::DynamicSlice:
    return x + "i = s32[] parameter(1)\n ROOT r = f32[2,4] dynamic-slice(x, i, i), "
               "dynamic_slice_sizes={2,4}";
  case Opcode::DynamicUpdateSlice:
    return x + "u = f32[2,2] parameter(1)\n i = s32[] parameter(2)\n"
               "ROOT r = f32[3,4] dynamic-update-slice(x, u, i, i)";
  case Opcode::Gather:
    return x + "i = s32[5] parameter(1)\n ROOT r = f32[5,4] gather(x, i), offset_dims={1}, "
               "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
               "slice_sizes={1,4}";
  case Opcode::Scatter:
    return x + "i = s32[2,1] parameter(1)\n u = f32[2,4] parameter(2)\n"
               "ROOT r = f32[3,4] scatter(x, i, u), update_window_dims={1}, "
               "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
               "to_apply=add";
  case Opcode::Dot:
    return x + "y = f32[4,5] parameter(1)\n ROOT r = f32[3,5] dot(x, y), "
               "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  case Opcode::ScaledDot:
    return x + "y = f32[4,5] parameter(1)\n s = f32[3,2] parameter(2)\n t = f32[2,5] "
               "parameter(3)\n ROOT r = f32[3,5] scaled-dot(x, y, s, t), "
               "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  case Opcode::RaggedDot:
    return x + "y = f32[2,4,5] parameter(1)\n n = s32[2] constant({2, 1})\n"
               "ROOT r = f32[3,5] ragged-dot(x, y, n), lhs_contracting_dims={1}, "
               "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}";
  case Opcode::Convolution:
    return "x = f32[1,5,2] parameter(0)\n k = f32[3,2,4] parameter(1)\n ROOT r = f32[1,5,4] "
           "convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f";
  case Opcode::Sort:
    return x + "ROOT r = f32[3,4] sort(x), dimensions={1}, to_apply=lt";
  case Opcode::TopK:
    return x + "r = (f32[3,2], s32[3,2]) topk(x), k=2, largest=true\n"
               "ROOT g = f32[3,2] get-tuple-element(r), index=0";
  case Opcode::AllReduce:
    return x + "ROOT r = f32[3,4] all-reduce(x), replica_groups={{0,1}}, to_apply=add";
  case Opcode::AllReduceStart:
    return x + "ROOT r = f32[3,4] all-reduce-start(x), replica_groups={{0,1}}, to_apply=add";
  case Opcode::AllReduceDone:
    return x + "s = f32[3,4] all-reduce-start(x), replica_groups={{0,1}}, to_apply=add\n"
               "ROOT r = f32[3,4] all-reduce-done(s)";
  case Opcode::AllGather:
    return x + "ROOT r = f32[6,4] all-gather(x)" + gathers;
  case Opcode::AllGatherStart:
    return x + "ROOT r = (f32[3,4], f32[6,4]) all-gather-start(x)" + gathers;
  case Opcode::AllGatherDone:
    return x + "s = (f32[3,4], f32[6,4]) all-gather-start(x)" + gathers +
           "\n ROOT r = f32[6,4] all-gather-done(s)";
  case Opcode::ReduceScatter:
    return "x = f32[4,4] parameter(0)\n ROOT r = f32[2,4] reduce-scatter(x)" + gathers +
           ", to_apply=add";
  case Opcode::Domain:
    return "";
  default:
    return opClass(opcode) == OpClass::Elementwise ? x + "ROOT r = f32[3,4] " + name + "(x)" : "";
  }
}

std::string escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.replace(at, 1, "\\|");
  return text;
}

/// "exact", or for each operand that is not what it is.
std::string coverageOf(const std::vector<OperandMaps> &operands) {
  std::string text;
  for (size_t k = 0; k < operands.size(); ++k)
    if (operands[k].coverage != Coverage::Exact)
      text += fmt::format("{}operand {}: {}", text.empty() ? "" : "; ", k, operands[k].note);
  return text.empty() ? "exact" : "at most: " + text;
}

std::string mapsText(const std::vector<OperandMaps> &operands) {
  std::string text;
  for (const OperandMaps &operand : operands) {
    if (!text.empty())
      text += "<br>";
    if (operand.maps.empty()) {
      text += "not read";
      continue;
    }
    std::string map = operand.maps.front().str();
    text += "`" + map.substr(0, map.find(", domain")) + "`";
  }
  return text.empty() ? "reads no operand" : text;
}

std::string tileRuleOf(HloGraph &g, OpId id) {
  const Op &op = g.graph().op(id);
  if (op.shape.isTuple || opClass(op.opcode) == OpClass::Leaf)
    return opClass(op.opcode) == OpClass::Leaf ? "has no operands" : "none: its result is a tuple";
  OpId ops[] = {id};
  llvm::Expected<Group> group = makeGroup(g.graph(), ops, ops);
  if (!group)
    return "none: " + takeDiag(group.takeError()).message;
  ExprContext context;
  llvm::Expected<TiledGroup> tiled = tileGroup(g.graph(), *group, context);
  if (!tiled)
    return "none: " + takeDiag(tiled.takeError()).message;
  for (const TileInstance &instance : tiled->instances)
    if (instance.exactness != Exactness::Exact)
      return "covering: " + instance.why;
  return tiled->constraints.empty() ? "exact" : "exact where its constraints hold";
}

std::string withoutExample(Opcode opcode) {
  switch (opClass(opcode)) {
  case OpClass::Leaf:
    return "reads no operand | reads no operand | exact | has no operands | has no operands";
  case OpClass::Call:
    return "none: runs another computation; inline it | none | opaque | its ops' reads are | of "
           "its ops";
  case OpClass::Collective:
    return "none: values of other replicas | none | opaque | not evaluated | none";
  case OpClass::Tuple:
    return "no elements | no elements | exact | no elements | none: moves no data";
  case OpClass::Elementwise:
    return "the element itself | the element itself | exact | not evaluated | exact";
  default:
    return "none: an element may come from anywhere | none | opaque | no maps to compare | none";
  }
}

std::string rowOf(Opcode opcode) {
  std::string name(toString(opcode));
  SCOPED_TRACE(name);
  std::string example = exampleOf(opcode);
  if (example.empty())
    return withoutExample(opcode);
  HloGraph g(example, computations);
  OpId id = g.find("r");
  if (!id.isValid())
    return "no example";
  ResultPath path;
  if (opcode == Opcode::AllGatherStart)
    path = {1};
  else if (g.graph().op(id).shape.isTuple)
    path = {0};
  OpIndexing forward = g.maps("r", path);
  std::vector<OperandMaps> back;
  for (unsigned k = 0; k < g.graph().op(id).operands.size(); ++k) {
    llvm::Expected<OperandMaps> maps = operandToOutput(g.graph(), id, k, g.context, path);
    if (!maps)
      return takeDiag(maps.takeError()).message;
    back.push_back(std::move(*maps));
  }
  std::string compared = "not evaluated";
  OpClass cls = opClass(opcode);
  if (cls == OpClass::Tuple) {
    compared = "moves no data";
  } else if (cls != OpClass::Collective && opcode != Opcode::StochasticConvert &&
             opcode != Opcode::CopyDone) {
    std::optional<Recording> recording = record(g, 1);
    compared = "yes";
    for (unsigned k = 0; recording && k < back.size(); ++k) {
      if (opcode == Opcode::Scan && k > 0)
        continue; // carries are not recorded
      EXPECT_EQ(differenceFromReads(g, *recording, id.index, k, forward.operands[k], back[k]), "");
    }
  }
  std::string opaque = forward.isOpaque ? "opaque; " : "";
  return mapsText(forward.operands) + " | " + mapsText(back) + " | " + opaque +
         escaped(coverageOf(forward.operands)) + " | " + compared + " | " +
         escaped(tileRuleOf(g, id));
}

std::string table() {
  std::string text =
      "# Ops\n\n"
      "Written by `scripts/update_docs.sh` from what the implementation says about a small\n"
      "example of each op; a test fails when it is out of date. Maps are shown without their\n"
      "domains, one line an operand: `d` are coordinates of the side that a map starts from, `s`\n"
      "run over all their values, `rt` are values of index operands at run time.\n\n"
      "- **output to operand**: which operand elements an output element reads.\n"
      "- **operand to output**: which output elements read an operand element. It is the first\n"
      "  relation solved for the output.\n"
      "- **coverage**: *exact*, or *at most* what the maps say, and why.\n"
      "- **reads compared**: both maps agree, at every element of the example, with what the\n"
      "  reference evaluator read. More shapes and attributes: `reads_test.cpp` beside the maps.\n"
      "- **tile rule**: whether a tile of the result gives tiles of the operands, and whether\n"
      "  these hold what is read and nothing else.\n\n"
      "Z3 has no claim about single ops: it proves, for all integers, the rewrite rules by which\n"
      "every map above is simplified and composed (`tests/proofs`).\n\n"
      "| op | output to operand | operand to output | coverage | reads compared | tile rule |\n"
      "|---|---|---|---|---|---|\n";
#define TILEWRIGHT_OPCODE(id, name, cls) text += "| " name " | " + rowOf(Opcode::id) + " |\n";
#include "analysis/ir/opcodes.def"
  return text;
}

} // namespace

TEST(OpTable, IsUpToDateAndHasNoBlanks) {
  std::string text = table();
  EXPECT_EQ(text.find("|  |"), std::string::npos);
  EXPECT_EQ(text.find("no example"), std::string::npos);
  const std::string path = "docs/ops.md";
  if (const char *update = std::getenv("TILEWRIGHT_UPDATE_DOCS"); update && *update == '1') {
    std::ofstream(path) << text;
    return;
  }
  llvm::Expected<std::string> committed = readFile(path);
  ASSERT_TRUE(static_cast<bool>(committed)) << takeDiag(committed.takeError()).str();
  EXPECT_EQ(*committed, text) << "scripts/update_docs.sh writes it";
}
