#include "datasets/instruction_table.h"

#include "analysis/instructions/isa_target.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <system_error>

namespace tilewright {

namespace {

constexpr size_t mostInstructions = 100'000;
constexpr std::string_view describing[] = {"group", "instruction", "m",   "n",    "k",
                                           "a",     "b",           "acc", "note", "ptx"};

/// The columns between those that describe an instruction and the refusal.
llvm::Expected<std::vector<std::string>> targetColumns(const Table &table) {
  const std::vector<std::string> &names = table.columns();
  auto refuse = [&](std::string message) {
    return makeError(DiagClass::BadInput, "{}:1: {}", table.name(), message);
  };
  for (size_t i = 0; i < std::size(describing); ++i)
    if (i >= names.size() || names[i] != describing[i])
      return refuse(fmt::format("column {} must be '{}'", i + 1, describing[i]));
  if (names.back() != "refusal" || names.size() < std::size(describing) + 2)
    return refuse("after the targets a column 'refusal' must come last");
  std::vector<std::string> targets(names.begin() + std::size(describing), names.end() - 1);
  for (const std::string &target : targets)
    if (llvm::Expected<IsaTarget> parsed = IsaTarget::parse(target); !parsed)
      return refuse(takeDiag(parsed.takeError()).message);
  return targets;
}

} // namespace

llvm::Expected<InstructionTable> InstructionTable::parse(std::string name, std::string text) {
  llvm::Expected<Table> table = Table::parse(std::move(name), std::move(text), mostInstructions);
  if (!table)
    return table.takeError();
  llvm::Expected<std::vector<std::string>> targets = targetColumns(*table);
  if (!targets)
    return targets.takeError();
  InstructionTable made;
  made.targetNames = std::move(*targets);
  std::map<std::string, unsigned> lines;
  const size_t first = std::size(describing);
  for (size_t i = 0; i < table->rowCount(); ++i) {
    const TableRow cells(*table, i);
    InstructionRow row{std::string(cells.text("group")),
                       std::string(cells.text("instruction")),
                       std::string(cells.text("note")),
                       std::string(cells.text("ptx")),
                       {},
                       std::string(cells.text("refusal"))};
    if (row.group.empty() || row.name.empty() || row.ptx.empty())
      return cells.error("an instruction must have a group, a name and PTX");
    for (size_t j = 0; j < made.targetNames.size(); ++j) {
      const std::string_view answer = table->cell(i, first + j);
      if (answer != "yes" && answer != "no")
        return cells.error(
            fmt::format("'{}' for {}, expected yes or no", excerpt(answer), made.targetNames[j]));
      row.isTaken.push_back(answer == "yes");
    }
    const auto [at, isNew] = lines.emplace(row.name, cells.line());
    if (!isNew)
      return cells.error(
          fmt::format("'{}' stands in line {}, too", excerpt(row.name, 80), at->second));
    made.all.push_back(std::move(row));
  }
  return made;
}

llvm::Expected<InstructionTable> InstructionTable::load(const std::string &folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error))
    if (at->path().extension() == ".csv")
      paths.push_back(at->path().string());
  if (error || paths.empty())
    return makeError(DiagClass::BadInput, "{}: {}", folder,
                     error ? error.message() : "no instruction tables (*.csv) are there");
  std::sort(paths.begin(), paths.end());
  InstructionTable made;
  std::set<std::string> names;
  for (const std::string &path : paths) {
    llvm::Expected<std::string> text = readFile(path);
    if (!text)
      return text.takeError();
    llvm::Expected<InstructionTable> part = parse(path, std::move(*text));
    if (!part)
      return part.takeError();
    if (made.targetNames.empty())
      made.targetNames = part->targetNames;
    if (part->targetNames != made.targetNames)
      return makeError(DiagClass::BadInput, "{}:1: its targets are {}, those of {} are {}", path,
                       fmt::join(part->targetNames, " "), paths.front(),
                       fmt::join(made.targetNames, " "));
    for (InstructionRow &row : part->all) {
      if (!names.insert(row.name).second)
        return makeError(DiagClass::BadInput, "{}: '{}' stands in another table, too", path,
                         excerpt(row.name, 80));
      made.all.push_back(std::move(row));
    }
  }
  return made;
}

const InstructionRow *InstructionTable::find(std::string_view name) const {
  for (const InstructionRow &row : all)
    if (row.name == name)
      return &row;
  return nullptr;
}

std::optional<bool> InstructionTable::answer(const InstructionRow &row,
                                             std::string_view target) const {
  const auto at = std::find(targetNames.begin(), targetNames.end(), target);
  if (at == targetNames.end())
    return std::nullopt;
  return row.isTaken[static_cast<size_t>(at - targetNames.begin())];
}

std::vector<std::string> InstructionTable::takenBy(const InstructionRow &row) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < targetNames.size(); ++i)
    if (row.isTaken[i])
      names.push_back(targetNames[i]);
  return names;
}

std::vector<std::string> InstructionTable::namesWith(std::string_view part) const {
  std::vector<std::string> starting, having;
  for (const InstructionRow &row : all) {
    if (row.name.starts_with(part))
      starting.push_back(row.name);
    else if (row.name.find(part) != std::string::npos)
      having.push_back(row.name);
  }
  return starting.empty() ? having : starting;
}

} // namespace tilewright
