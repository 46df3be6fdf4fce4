// Which targets take which instructions: the answers of an assembler, as files.
#pragma once

#include "costmodel/data_folder.h"
#include "costmodel/measurements.h"

#include <optional>

namespace tilewright {

/// An instruction and the answers for it, one a target.
struct InstructionRow {
  std::string group; ///< "mma.sync sparse"
  std::string name;  ///< as ruleOn()'s instruction is written
  std::string note;
  std::string ptx; ///< the statement that was assembled, with lists of registers as {%f0..3}
  std::vector<bool> isTaken;
  std::string refusal; ///< the assembler's words, of some target that does not take it
};

class InstructionTable {
public:
  /// Reads one file. Errors (BadInput) are located: what Table::parse() refuses, a missing column,
  /// a column that is no target, an answer other than yes and no, an instruction without name or
  /// PTX, one that is there twice.
  static llvm::Expected<InstructionTable> parse(std::string name, std::string text);

  /// All files of a folder. Errors as above; files with different targets, no files.
  static llvm::Expected<InstructionTable>
  load(const std::string &folder = dataFolder("instructions"));

  const std::vector<std::string> &targets() const { return targetNames; }
  const std::vector<InstructionRow> &rows() const { return all; }

  const InstructionRow *find(std::string_view name) const;
  /// Empty for a target without a column.
  std::optional<bool> answer(const InstructionRow &row, std::string_view target) const;
  /// The targets that take it, in the order of the columns.
  std::vector<std::string> takenBy(const InstructionRow &row) const;
  /// Names that start with this one, or else those that have it somewhere.
  std::vector<std::string> namesWith(std::string_view part) const;

private:
  std::vector<std::string> targetNames;
  std::vector<InstructionRow> all;
};

} // namespace tilewright
