// docs/ops.md: what is known of every op, found out by asking the implementation about the examples
// of the small grid, and how far it is proved.
// TILEWRIGHT_UPDATE_DOCS=1 writes the file instead of comparing (scripts/update_docs.sh).
#include "analysis/prove/op_claims.h"
#include "analysis/support/diag.h"
#include "analysis/support/testing/document.h"
#include "analysis/tiling/tiled_group.h"

#include <gtest/gtest.h>
#include <map>

using namespace tilewright;
using namespace tilewright::prove;

namespace {

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

std::string tileRuleOf(const Graph &graph, OpId id) {
  const Op &op = graph.op(id);
  if (op.shape.isTuple || opClass(op.opcode) == OpClass::Leaf)
    return opClass(op.opcode) == OpClass::Leaf ? "has no operands" : "none: its result is a tuple";
  OpId ops[] = {id};
  llvm::Expected<Group> group = makeGroup(graph, ops, ops);
  if (!group)
    return "none: " + takeDiag(group.takeError()).message;
  ExprContext context;
  llvm::Expected<TiledGroup> tiled = tileGroup(graph, *group, context);
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
    return "reads no operand | reads no operand | exact | has no operands | has no operands | "
           "nothing to prove";
  case OpClass::Call:
    return "none: runs another computation; inline it | none | opaque | its ops' reads are | of "
           "its ops | its ops' claims are";
  case OpClass::Collective:
    return "none: what arrives is decided by another program | none | opaque | not evaluated | "
           "none | nothing to prove";
  case OpClass::Tuple:
    return "no elements | no elements | exact | no elements | none: moves no data | nothing to "
           "prove";
  case OpClass::Elementwise:
    return "the element itself | the element itself | exact | not evaluated | exact | as add";
  default:
    return "none: an element may come from anywhere | none | opaque | no maps to compare | none | "
           "nothing to prove";
  }
}

/// "yes, 5 examples".
std::string comparedText(const std::vector<ClaimResult> &claims) {
  std::map<std::string, bool> examples;
  std::string why = "no maps to compare";
  for (const ClaimResult &claim : claims) {
    if (claim.kind != ClaimResult::Kind::Maps)
      continue;
    if (claim.status == ClaimResult::Status::Checked)
      examples[claim.example] = true;
    else
      why = claim.reason;
  }
  if (examples.empty())
    return "not compared: " + why;
  return examples.size() == 1 ? "yes" : fmt::format("yes, {} examples", examples.size());
}

std::string provedText(const std::vector<ClaimResult> &claims) {
  std::string text;
  for (bool isReverse : {false, true}) {
    size_t holds = 0, only = 0, unknown = 0;
    for (const ClaimResult &claim : claims) {
      if (claim.isReverse != isReverse ||
          (claim.kind != ClaimResult::Kind::Covers && claim.kind != ClaimResult::Kind::NoExtra))
        continue;
      unknown += claim.status == ClaimResult::Status::Unknown;
      if (claim.status == ClaimResult::Status::Proved)
        (claim.kind == ClaimResult::Kind::Covers ? holds : only) += 1;
    }
    if (holds + only + unknown == 0)
      continue;
    text += fmt::format("{}{}holds all: {}, nothing else: {}{}", text.empty() ? "" : "<br>",
                        isReverse ? "reverse " : "", holds, only,
                        unknown ? fmt::format(", unknown: {}", unknown) : "");
  }
  return text.empty() ? "nothing to prove: no tile rule" : text;
}

std::string rowOf(Opcode opcode, const std::vector<ClaimResult> &claims) {
  std::string name(toString(opcode));
  SCOPED_TRACE(name);
  std::vector<Example> examples = examplesOf(opcode, Grid::Small);
  if (examples.empty())
    return withoutExample(opcode);
  llvm::Expected<Module> module = moduleOf(examples.front());
  if (!module)
    return "no example: " + takeDiag(module.takeError()).str();
  const Graph &graph = module->entry();
  OpId id = graph.find("r");
  ExprContext context;
  const ResultPath path = resultPathOf(graph.op(id));
  llvm::Expected<OpIndexing> forward = outputToOperands(graph, id, context, path);
  if (!forward)
    return takeDiag(forward.takeError()).message;
  std::vector<OperandMaps> back;
  for (unsigned k = 0; k < graph.op(id).operands.size(); ++k) {
    llvm::Expected<OperandMaps> maps = operandToOutput(graph, id, k, context, path);
    if (!maps)
      return takeDiag(maps.takeError()).message;
    back.push_back(std::move(*maps));
  }
  return mapsText(forward->operands) + " | " + mapsText(back) + " | " +
         (forward->isOpaque ? "opaque; " : "") + escaped(coverageOf(forward->operands)) + " | " +
         comparedText(claims) + " | " + escaped(tileRuleOf(graph, id)) + " | " + provedText(claims);
}

std::string table(const std::map<Opcode, std::vector<ClaimResult>> &claims) {
  std::string text =
      "# Ops\n\n"
      "Written by `scripts/update_docs.sh` from what the implementation says about small\n"
      "examples of each op; a test fails when it is out of date. Maps are those of the first\n"
      "example, without their domains, one line an operand: `d` are coordinates of the side that "
      "a\n"
      "map starts from, `s` run over all their values, `rt` are values of index operands at run\n"
      "time.\n\n"
      "- **output to operand**: which operand elements an output element reads.\n"
      "- **operand to output**: which output elements read an operand element. It is the first\n"
      "  relation solved for the output.\n"
      "- **coverage**: *exact*, or *at most* what the maps say, and why.\n"
      "- **reads compared**: both maps agree, at every element of the examples, with what the\n"
      "  reference evaluator read. More shapes and attributes: `reads_test.cpp` beside the maps.\n"
      "- **tile rule**: whether a tile of the result gives tiles of the operands, and whether\n"
      "  these hold what is read and nothing else.\n"
      "- **Z3**: how many claims about the tile rule Z3 proved, of all examples of the small grid\n"
      "  (`tilewright prove --op NAME --all` lists them; `--grid large` has more shapes). *Holds\n"
      "  all*: every element that the map reaches from the first tile is in the second. *Nothing\n"
      "  else*: every element of the second is reached. *Reverse* is from a tile of an operand to\n"
      "  the tile of the result that it reaches, which is derived from the map. Each is proved for "
      "all CTAs and "
      "run-time\n"
      "  values, and for five kinds of first tile: `root` (CTA `pid`'s tile at every size from "
      "1\n"
      "  to the dim), `any` (any offset, size and masks), `masked` (the same, perhaps without a "
      "valid\n"
      "  element), `strided` (stride 3) and `backwards` (stride -1). Extents and attributes are "
      "those\n"
      "  of the examples. A rule that only covers makes no *nothing else* claim, and constraints "
      "of a\n"
      "  rule may leave nothing of a kind of tile. The rewrite rules by which all maps are "
      "simplified\n"
      "  and composed are proved for all integers (`tests/proofs`).\n\n"
      "| op | output to operand | operand to output | coverage | reads compared | tile rule | Z3 "
      "|\n"
      "|---|---|---|---|---|---|---|\n";
  std::string unknown;
  for (const auto &[opcode, list] : claims) {
    text += fmt::format("| {} | {} |\n", toString(opcode), rowOf(opcode, list));
    for (const ClaimResult &claim : list)
      if (claim.status == ClaimResult::Status::Unknown)
        unknown += fmt::format("- {} ({}), {}: {}\n", toString(opcode), claim.example,
                               describe(claim), claim.reason);
  }
  text += "\n## Not decided\n\n";
  text += unknown.empty()
              ? "Nothing: every claim of the small grid is proved.\n"
              : "Claims of the small grid that Z3 neither proved nor refuted:\n\n" + unknown;
  return text;
}

} // namespace

TEST(OpTable, NothingIsRefutedAndTheTableIsUpToDate) {
  std::map<Opcode, std::vector<ClaimResult>> claims;
#define TILEWRIGHT_OPCODE(id, name, cls) claims[Opcode::id];
#include "analysis/ir/opcodes.def"
  for (auto &[opcode, list] : claims)
    list = proveOp(opcode, {});
  size_t proved = 0;
  for (const auto &[opcode, list] : claims)
    for (const ClaimResult &claim : list) {
      proved += claim.status == ClaimResult::Status::Proved;
      EXPECT_NE(claim.status, ClaimResult::Status::Refuted)
          << toString(opcode) << " (" << claim.example << "), " << describe(claim) << ": "
          << claim.reason;
    }
  EXPECT_GT(proved, 1000u);
  std::string text = table(claims);
  EXPECT_EQ(text.find("|  |"), std::string::npos);
  EXPECT_EQ(text.find("no example"), std::string::npos);
  expectDocument("docs/ops.md", text);
}
