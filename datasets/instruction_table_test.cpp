#include "analysis/instructions/ruling.h"
#include "datasets/instruction_table.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace tilewright {
namespace {

const InstructionTable &bundled() {
  static const InstructionTable table = llvm::cantFail(InstructionTable::load());
  return table;
}

/// Groups of which the rows alone know.
const std::set<std::string> groupsOfRows = {"alu", "cvt", "sync"};

TEST(InstructionTable, HasWhatWasAsked) {
  EXPECT_GE(bundled().rows().size(), 717u);
  for (const char *target :
       {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a",
        "sm_103a", "sm_110a", "sm_120", "sm_120f", "sm_120a", "sm_121a"})
    EXPECT_EQ(std::count(bundled().targets().begin(), bundled().targets().end(), target), 1)
        << target;
}

TEST(InstructionTable, EveryAnswerIsTheRulesAnswer) {
  size_t compared = 0, byRows = 0;
  for (const InstructionRow &row : bundled().rows()) {
    const PtxInstruction instruction = llvm::cantFail(parseInstruction(row.name));
    EXPECT_EQ(instruction.unit == InstructionUnit::Other, groupsOfRows.contains(row.group))
        << row.name;
    if (instruction.unit == InstructionUnit::Other) {
      byRows += bundled().targets().size();
      continue;
    }
    for (const std::string &name : bundled().targets()) {
      const InstructionRuling ruling = ruleOn(instruction, llvm::cantFail(IsaTarget::parse(name)));
      EXPECT_EQ(ruling.isTaken, *bundled().answer(row, name)) << row.name << " on " << name;
      EXPECT_EQ(ruling.isTaken, ruling.reasons.empty());
      ++compared;
    }
  }
  EXPECT_EQ(byRows, 30 * bundled().targets().size());
  EXPECT_EQ(compared, (bundled().rows().size() - 30) * bundled().targets().size());
}

constexpr const char *columnsOfTable =
    "group,instruction,m,n,k,a,b,acc,note,ptx,sm_80,sm_90a,refusal\n";

std::string errorOf(const std::string &text) {
  llvm::Expected<InstructionTable> table = InstructionTable::parse("t.csv", text);
  if (table)
    return "no error";
  return takeDiag(table.takeError()).str();
}

TEST(InstructionTable, ReadsARow) {
  const InstructionTable table = llvm::cantFail(InstructionTable::parse(
      "t.csv", std::string(columnsOfTable) +
                   "sync,elect.sync,,,,,,,,\"elect.sync %r1|%p1, 0;\",no,yes,old\n"));
  const InstructionRow *row = table.find("elect.sync");
  ASSERT_TRUE(row);
  EXPECT_EQ(table.takenBy(*row), std::vector<std::string>{"sm_90a"});
  EXPECT_EQ(table.answer(*row, "sm_80"), std::optional(false));
  EXPECT_EQ(table.answer(*row, "sm_100"), std::nullopt);
  EXPECT_FALSE(table.find("elect"));
}

TEST(InstructionTable, RefusesWithPlaces) {
  const std::string head = columnsOfTable;
  EXPECT_NE(errorOf("group,instruction\n").find("t.csv:1: column 3 must be 'm'"), std::string::npos)
      << errorOf("group,instruction\n");
  EXPECT_NE(errorOf("").find("t.csv"), std::string::npos);
  EXPECT_NE(errorOf("group,instruction,m,n,k,a,b,acc,note,ptx,sm_8x,refusal\n").find("'sm_8x'"),
            std::string::npos);
  EXPECT_NE(errorOf("group,instruction,m,n,k,a,b,acc,note,ptx,refusal\n").find("refusal"),
            std::string::npos);
  EXPECT_NE(errorOf(head + "g,i,,,,,,,,p,yes,perhaps,\n").find("t.csv:2"), std::string::npos);
  EXPECT_NE(errorOf(head + "g,i,,,,,,,,p,yes,perhaps,\n").find("'perhaps' for sm_90a"),
            std::string::npos);
  EXPECT_NE(errorOf(head + "g,i,,,,,,,,,yes,no,\n").find("PTX"), std::string::npos);
  EXPECT_NE(errorOf(head + "g,i,,,,,,,,p,yes,no,\ng,i,,,,,,,,p,yes,no,\n").find("line 2, too"),
            std::string::npos);
  EXPECT_NE(errorOf(head + "g,i,,,,,,,,p,yes\n").find("t.csv:2"), std::string::npos);
}

} // namespace
} // namespace tilewright
