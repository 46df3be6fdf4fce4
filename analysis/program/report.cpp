#include "analysis/program/report.h"

#include "analysis/program/verifier.h"

#include <algorithm>

namespace tilewright::program {

namespace {

/// "1.5 GiB": three significant digits, binary units.
std::string bytesInWords(int64_t bytes) {
  constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

struct Wording {
  Count count;
  bool isBytes;
  const char *words;
};

constexpr Wording wordings[] = {
    {Count::Ctas, false, "CTAs"},
    {Count::Threads, false, "threads"},
    {Count::SharedBytes, true, "shared"},
    {Count::LiveRegisters, false, "live registers"},
    {Count::ReadBytes, true, "read"},
    {Count::RequestedBytes, true, "requested by threads"},
    {Count::WrittenBytes, true, "written"},
    {Count::CopiedBytes, true, "copied"},
    {Count::ReadSectors, false, "sectors read"},
    {Count::WrittenSectors, false, "sectors written"},
    {Count::WorkspaceBytes, true, "workspace"},
    {Count::Loads, false, "loads"},
    {Count::Stores, false, "stores"},
    {Count::Copies, false, "copies"},
    {Count::SharedReads, false, "shared reads"},
    {Count::SharedWrites, false, "shared writes"},
    {Count::Shuffles, false, "shuffles"},
    {Count::Barriers, false, "barriers"},
    {Count::MbarrierWaits, false, "mbarrier waits"},
    {Count::Mmas, false, "mma"},
    {Count::Wgmmas, false, "wgmma"},
    {Count::Atomics, false, "atomics"},
    {Count::SplitArrivals, false, "counters"},
};
static_assert(std::size(wordings) == countKinds);

class Reporter {
public:
  explicit Reporter(const Program &program)
      : p(program), folds(foldsOf(program)), simplifier(*program.context, sizeBounds(program)) {}

  ReportedAmount amount(Count count, Expr expr) {
    ReportedAmount result{count, folds.at(expr, {}), ""};
    const Wording &wording = wordings[static_cast<size_t>(count)];
    std::string number =
        result.number
            ? wording.isBytes ? bytesInWords(*result.number) : std::to_string(*result.number)
            : "(" + printExpr(p, simplifier.simplify(expr)) + ")" + (wording.isBytes ? " B" : "");
    result.text = number + " " + wording.words;
    return result;
  }

  ProgramReport report() {
    ProgramReport result;
    for (Count count : {Count::Ctas, Count::Threads, Count::SharedBytes, Count::LiveRegisters})
      result.whole.push_back(amount(count, folds.counts[count]));
    std::string_view text = p.text->text();
    while (!text.empty()) {
      size_t end = std::min(text.find('\n'), text.size());
      result.lines.push_back({std::string(text.substr(0, end)), {}, {}});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    Expr read;
    for (const FoldItem &item : folds.items) {
      // A load's: what threads ask for follows what is read, where it is more.
      if (item.count == Count::ReadBytes)
        read = item.amount;
      if (item.count == Count::RequestedBytes && item.amount == read)
        continue;
      ReportedAmount made = amount(item.count, item.amount);
      if (ReportedLine *line = lineOf(result, item.where); line && made.number != 0)
        line->amounts.push_back(std::move(made));
    }
    for (const SharedItem &item : folds.shared) {
      ReportedAmount made = amount(Count::SharedBytes, item.bytes);
      std::string number = made.text.substr(0, made.text.rfind(' '));
      made.text = fmt::format("{} {}", number, item.name);
      if (made.number != 0)
        result.shared.push_back(std::move(made));
    }
    return result;
  }

  ReportedLine *lineOf(ProgramReport &report, SourceLoc where) const {
    if (!where.isKnown())
      return nullptr;
    size_t line = lineColumn(p.text->text(), where.offset).line;
    return line >= 1 && line <= report.lines.size() ? &report.lines[line - 1] : nullptr;
  }

private:
  const Program &p;
  Folds folds;
  Simplifier simplifier;
};

} // namespace

llvm::Expected<ProgramReport> reportOf(const Program &program, const SizeValues &sizes,
                                       const DeviceLimits *limits) {
  // Read again from its canonical text, so that places are those of the lines that are shown.
  llvm::Expected<Program> shown = parseProgram(printProgram(program), program.name);
  if (!shown)
    return shown.takeError();
  llvm::Expected<Program> concrete = substituteSizes(*shown, sizes);
  if (!concrete)
    return concrete.takeError();
  Reporter reporter(*concrete); // its ops have the places of the text that is shown
  ProgramReport result = reporter.report();
  Verification found = verify(*concrete, limits);
  for (const Violation &violation : found.violations) {
    std::string text = fmt::format("V{}: {}", violation.rule, violation.message);
    if (ReportedLine *line = reporter.lineOf(result, violation.where))
      line->broken.push_back(std::move(text));
    else
      result.broken.push_back(std::move(text));
  }
  for (const Requirement &requirement : found.requirements)
    result.open.push_back(
        fmt::format("V{}: {}", requirement.rule, printFormula(*concrete, requirement.formula)));
  std::sort(result.open.begin(), result.open.end());
  result.open.erase(std::unique(result.open.begin(), result.open.end()), result.open.end());
  result.isLegal = found.violations.empty();
  return result;
}

std::string ProgramReport::str() const {
  std::string text;
  for (const ReportedAmount &amount : whole)
    text += (text.empty() ? "" : ", ") + amount.text;
  text += "\n";
  constexpr size_t leastWidth = 40, mostWidth = 76;
  size_t width = leastWidth;
  for (const ReportedLine &line : lines)
    if (!line.amounts.empty())
      width = std::max(width, std::min(line.text.size(), mostWidth));
  for (const ReportedLine &line : lines) {
    std::string beside;
    for (const ReportedAmount &amount : line.amounts)
      beside += (beside.empty() ? "" : ", ") + amount.text;
    text += beside.empty() ? line.text : fmt::format("{:{}}  -- {}", line.text, width, beside);
    text += "\n";
    for (const std::string &rule : line.broken)
      text += "  ^ " + rule + "\n";
  }
  auto list = [&](const char *title, const std::vector<std::string> &items) {
    for (const std::string &item : items)
      text += fmt::format("{:9} {}\n", &item == &items.front() ? title : "", item);
  };
  std::vector<std::string> parts;
  for (const ReportedAmount &part : shared)
    parts.push_back(part.text);
  list("shared", parts);
  list("broken", broken);
  list("needs", open);
  return text;
}

} // namespace tilewright::program
