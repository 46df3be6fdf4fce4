#include "datasets/foreign_csv.h"

#include "analysis/support/csv.h"
#include "analysis/support/printable.h"

#include "llvm/ADT/StringExtras.h"

#include <charconv>
#include <cmath>
#include <map>

namespace tilewright {

namespace {

/// A table without the lines that tools print around it.
struct Stripped {
  std::string text;
  unsigned linesBefore = 0; ///< lines before the header
};

/// Skips lines that ncu prints ("==PROF== …") and comments ("# …") before the header; further down
/// they become blank lines, so that line numbers stay the same.
Stripped withoutChatter(std::string_view text) {
  Stripped result;
  bool hasHeader = false;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    bool isChatter = line.starts_with("==") || (!hasHeader && line.starts_with("#"));
    bool isBlank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (!hasHeader && (isChatter || isBlank)) {
      ++result.linesBefore;
    } else {
      hasHeader = true;
      if (!isChatter)
        result.text += line;
      if (end < text.size())
        result.text += '\n';
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

/// Fields separated by tabs, or by semicolons, which spreadsheets use where the comma is the
/// decimal point.
std::string withCommas(const std::string &text) {
  std::string_view header(text.data(), std::min(text.find('\n'), text.size()));
  char separator = header.find('\t') != std::string_view::npos ? '\t' : ';';
  if (header.find(separator) == std::string_view::npos ||
      header.find(',') != std::string_view::npos)
    return text;
  std::string result, cell;
  bool quoted = false;
  for (char c : text) {
    if (c == '"')
      quoted = !quoted;
    if (!quoted && (c == separator || c == '\n')) {
      bool hasReturn = !cell.empty() && cell.back() == '\r';
      if (hasReturn)
        cell.pop_back();
      result += cell.find('"') == std::string::npos ? csvCell(cell) : cell;
      result += c == separator ? "," : "\n";
      cell.clear();
    } else {
      cell += c;
    }
  }
  return result + (cell.find('"') == std::string::npos ? csvCell(cell) : cell);
}

std::string formatNs(double ns) { return fmt::format("{:.6g}", ns); }

class Importer {
public:
  explicit Importer(const Table &table) : table(table) {}

  llvm::Expected<std::string> rows() {
    auto time = table.column("time_ns");
    if (!time)
      return refuse("no column 'time_ns'");
    std::optional<size_t> kernel = nameColumn();
    start({"kernel", "time_ns"}, {kernel, time});
    for (size_t row = 0; row < table.rowCount(); ++row) {
      std::string_view cell = table.cell(row, *time);
      auto value = parseLocalNumber(cell);
      if (!value && !cell.empty())
        return notANumber(row, *time);
      write(row,
            {kernel ? std::string(table.cell(row, *kernel)) : "", value ? formatNs(*value) : ""});
    }
    return std::move(out);
  }

  /// Page raw: one row a launch, units in the first row. Page details: one row a metric.
  llvm::Expected<std::string> nsightCompute() {
    auto kernel = table.column("Kernel Name");
    if (!kernel)
      kernel = table.column("kernel");
    if (!kernel)
      return refuse("no column 'Kernel Name'");
    if (table.column("Metric Name"))
      return details(*kernel);
    auto time = table.column("gpu__time_duration.sum");
    if (!time)
      return refuse("no column 'gpu__time_duration.sum'; run ncu with that metric");
    if (table.rowCount() == 0)
      return refuse("no rows");
    // Without a row of units (counters from CUPTI) times are in ns.
    bool hasUnits = !isTime(table.cell(0, *time));
    auto factor = hasUnits ? nanosecondsPer(table.cell(0, *time)) : std::optional(1.0);
    if (!factor)
      return table.errorAt(0, fmt::format("'{}' under gpu__time_duration.sum is not a unit of time",
                                          excerpt(table.cell(0, *time))));
    start({"kernel", "time_ns"}, {kernel, time});
    for (size_t row = hasUnits ? 1 : 0; row < table.rowCount(); ++row) {
      std::string_view cell = table.cell(row, *time);
      if (!isTime(cell))
        return notANumber(row, *time);
      auto value = parseLocalNumber(cell);
      write(row, {std::string(table.cell(row, *kernel)), value ? formatNs(*value * *factor) : ""});
    }
    return std::move(out);
  }

  llvm::Expected<std::string> benchmark() {
    std::vector<std::pair<size_t, double>> times; // column, ns per unit
    std::vector<std::string> variants;
    for (size_t c = 0; c < table.columns().size(); ++c)
      if (auto split = splitUnit(table.columns()[c])) {
        times.emplace_back(c, split->second);
        variants.push_back(split->first);
      }
    if (times.empty())
      return refuse(fmt::format("no column with a unit of time in its name, such as 'time_us' or "
                                "'triton (ms)'{}",
                                rateHint()));
    std::vector<std::optional<size_t>> taken;
    for (const auto &[column, factor] : times)
      taken.push_back(column);
    std::optional<size_t> kernel = nameColumn();
    if (kernel)
      taken.push_back(kernel);
    start({"kernel", "time_ns"}, taken);
    for (size_t row = 0; row < table.rowCount(); ++row)
      for (size_t i = 0; i < times.size(); ++i) {
        std::string_view cell = table.cell(row, times[i].first);
        if (cell.empty() || cell == "nan" || cell == "NaN")
          continue; // this variant did not run
        auto value = parseLocalNumber(cell);
        if (!value)
          return notANumber(row, times[i].first);
        std::string name = kernel ? std::string(table.cell(row, *kernel)) : "";
        if (times.size() > 1 || name.empty())
          name += (name.empty() ? "" : "/") + variants[i];
        write(row, {name, formatNs(*value * times[i].second)});
      }
    return std::move(out);
  }

private:
  /// The column with the name of the timed kernel.
  std::optional<size_t> nameColumn() const {
    for (const char *name : {"kernel", "Kernel Name", "benchmark", "kind", "name", "Name"})
      if (auto column = table.column(name))
        return column;
    return std::nullopt;
  }

  /// A number, or what ncu writes for a metric that it could not collect.
  static bool isTime(std::string_view cell) {
    return cell.empty() || cell == "n/a" || parseLocalNumber(cell);
  }

  /// Advice for columns of rates, which Triton's benchmarks write by default.
  std::string rateHint() const {
    for (const std::string &column : table.columns()) {
      std::string lower = llvm::StringRef(column).lower();
      for (const char *rate : {"tflop", "gflop", "gb/s", "tb/s", "gbps"})
        if (lower.find(rate) != std::string::npos)
          return fmt::format("; '{}' is a rate: let the benchmark return milliseconds", column);
    }
    return "";
  }

  /// "triton (ms)" and "triton_ms" are times of "triton"; anything else is not a time.
  static std::optional<std::pair<std::string, double>> splitUnit(std::string_view column) {
    size_t open = column.find_last_of("([");
    std::string_view unit, name;
    if (open != std::string_view::npos && (column.ends_with(")") || column.ends_with("]"))) {
      unit = column.substr(open + 1, column.size() - open - 2);
      name = column.substr(0, open);
    } else if (size_t bar = column.find_last_of('_'); bar != std::string_view::npos) {
      unit = column.substr(bar + 1);
      name = column.substr(0, bar);
    } else {
      return std::nullopt;
    }
    auto factor = nanosecondsPer(unit);
    if (!factor)
      return std::nullopt;
    return std::make_pair(llvm::StringRef(name.data(), name.size()).trim().str(), *factor);
  }

  llvm::Expected<std::string> details(size_t kernel) {
    auto id = table.column("ID"), metric = table.column("Metric Name"),
         unit = table.column("Metric Unit"), value = table.column("Metric Value");
    if (!id || !unit || !value)
      return refuse("columns ID, Metric Unit and Metric Value are needed beside Metric Name");
    struct Launch {
      std::string kernel, time;
      std::map<std::string, std::string> metrics;
    };
    std::vector<std::pair<std::string, Launch>> launches;
    std::map<std::string, bool> names;
    for (size_t row = 0; row < table.rowCount(); ++row) {
      std::string key(table.cell(row, *id));
      if (launches.empty() || launches.back().first != key)
        launches.push_back({key, {std::string(table.cell(row, kernel)), "", {}}});
      Launch &launch = launches.back().second;
      std::string name(table.cell(row, *metric));
      if (name == "Duration" || name == "gpu__time_duration.sum") {
        auto factor = nanosecondsPer(table.cell(row, *unit));
        auto number = parseLocalNumber(table.cell(row, *value));
        if (!factor || !number)
          return table.errorAt(row, fmt::format("'{} {}' is not a time",
                                                excerpt(table.cell(row, *value)),
                                                excerpt(table.cell(row, *unit))));
        launch.time = formatNs(*number * *factor);
      } else if (!name.empty()) {
        std::string_view in = table.cell(row, *unit);
        name += in.empty() ? "" : fmt::format(" [{}]", in);
        names[name] = true;
        launch.metrics[name] = std::string(table.cell(row, *value));
      }
    }
    std::vector<std::string> header = {"kernel", "time_ns", "ID"};
    for (const auto &[name, ignored] : names)
      header.push_back(name);
    out = csvRow(header);
    for (const auto &[key, launch] : launches) {
      std::vector<std::string> cells = {launch.kernel, launch.time, key};
      for (const auto &[name, ignored] : names) {
        auto at = launch.metrics.find(name);
        cells.push_back(at == launch.metrics.end() ? "" : at->second);
      }
      out += csvRow(cells);
    }
    return std::move(out);
  }

  void start(std::vector<std::string> first, const std::vector<std::optional<size_t>> &taken) {
    for (size_t c = 0; c < table.columns().size(); ++c)
      if (std::find(taken.begin(), taken.end(), std::optional(c)) == taken.end() &&
          std::find(first.begin(), first.end(), table.columns()[c]) == first.end()) {
        kept.push_back(c);
        first.push_back(table.columns()[c]);
      }
    out = csvRow(first);
  }

  void write(size_t row, std::vector<std::string> cells) {
    for (size_t c : kept)
      cells.emplace_back(table.cell(row, c));
    out += csvRow(cells);
  }

  llvm::Error refuse(const std::string &why) const {
    return makeError(DiagClass::BadInput, "{}: {}", table.name(), why);
  }
  llvm::Error notANumber(size_t row, size_t column) const {
    return table.errorAt(row,
                         fmt::format("column '{}' is '{}', expected a number",
                                     table.columns()[column], excerpt(table.cell(row, column))));
  }

  const Table &table;
  std::vector<size_t> kept;
  std::string out;
};

} // namespace

std::string_view toString(ForeignFormat format) {
  switch (format) {
  case ForeignFormat::Auto:
    return "auto";
  case ForeignFormat::Rows:
    return "rows";
  case ForeignFormat::NsightCompute:
    return "ncu";
  case ForeignFormat::Benchmark:
    return "benchmark";
  }
  return "";
}

std::optional<double> parseLocalNumber(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    // Spaces that separate thousands: plain, no-break (C2 A0), narrow no-break (E2 80 AF).
    if (text[i] == ' ' || text[i] == '\'') {
      bool isBetween =
          i > 0 && i + 1 < text.size() && llvm::isDigit(text[i - 1]) && llvm::isDigit(text[i + 1]);
      bool isOutside = plain.empty() || text.find_first_not_of(' ', i) == std::string_view::npos;
      if (!isBetween && !(isOutside && text[i] == ' '))
        return std::nullopt;
    } else if (text.substr(i, 2) == "\xc2\xa0") {
      i += 1;
    } else if (text.substr(i, 3) == "\xe2\x80\xaf") {
      i += 2;
    } else {
      plain += text[i];
    }
  }
  size_t comma = plain.rfind(','), point = plain.rfind('.');
  auto groupsOfThree = [&](char separator) {
    size_t at = plain.find(separator);
    if (at == 0)
      return false;
    for (; at != std::string::npos; at = plain.find(separator, at + 1)) {
      size_t digits = 0;
      while (at + 1 + digits < plain.size() && llvm::isDigit(plain[at + 1 + digits]))
        ++digits;
      if (digits != 3)
        return false;
    }
    return true;
  };
  auto drop = [&](char separator) { std::erase(plain, separator); };
  if (comma != std::string::npos && point != std::string::npos) {
    char thousands = comma < point ? ',' : '.';
    if (!groupsOfThree(thousands))
      return std::nullopt;
    drop(thousands);
  } else if (comma != std::string::npos && groupsOfThree(',')) {
    drop(',');
  } else if (point != std::string::npos && std::count(plain.begin(), plain.end(), '.') > 1) {
    if (!groupsOfThree('.'))
      return std::nullopt;
    drop('.');
  }
  if (std::count(plain.begin(), plain.end(), ',') > 1)
    return std::nullopt;
  std::replace(plain.begin(), plain.end(), ',', '.');
  double value = 0;
  const char *first = plain.data() + (plain.starts_with("+") ? 1 : 0);
  auto [end, code] = std::from_chars(first, plain.data() + plain.size(), value);
  if (plain.empty() || code != std::errc() || end != plain.data() + plain.size() ||
      !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<double> nanosecondsPer(std::string_view unit) {
  std::string name = llvm::StringRef(unit.data(), unit.size()).trim().lower();
  static const std::pair<std::string_view, double> units[] = {{"ns", 1},
                                                              {"nsecond", 1},
                                                              {"nanosecond", 1},
                                                              {"nanoseconds", 1},
                                                              {"us", 1e3},
                                                              {"\xc2\xb5s", 1e3},
                                                              {"\xce\xbcs", 1e3},
                                                              {"usecond", 1e3},
                                                              {"microsecond", 1e3},
                                                              {"microseconds", 1e3},
                                                              {"ms", 1e6},
                                                              {"msecond", 1e6},
                                                              {"millisecond", 1e6},
                                                              {"milliseconds", 1e6},
                                                              {"s", 1e9},
                                                              {"sec", 1e9},
                                                              {"second", 1e9},
                                                              {"seconds", 1e9}};
  for (const auto &[text, factor] : units)
    if (name == text)
      return factor;
  return std::nullopt;
}

static llvm::Expected<std::string> importTable(const std::string &name, std::string text,
                                               ForeignFormat format) {
  auto table = Table::parse(name, std::move(text));
  if (!table)
    return table.takeError();
  if (format == ForeignFormat::Auto)
    format = table->column("time_ns") ? ForeignFormat::Rows
             : table->column("Kernel Name") || table->column("gpu__time_duration.sum")
                 ? ForeignFormat::NsightCompute
                 : ForeignFormat::Benchmark;
  Importer importer(*table);
  switch (format) {
  case ForeignFormat::NsightCompute:
    return importer.nsightCompute();
  case ForeignFormat::Benchmark:
    return importer.benchmark();
  default:
    return importer.rows();
  }
}

llvm::Expected<std::string> importForeign(const std::string &name, const std::string &text,
                                          ForeignFormat format) {
  std::string_view bytes = text;
  if (bytes.starts_with("\xef\xbb\xbf")) // a byte order mark
    bytes.remove_prefix(3);
  Stripped stripped = withoutChatter(bytes);
  auto result = importTable(name, withCommas(stripped.text), format);
  if (result || stripped.linesBefore == 0)
    return result;
  // Line numbers of the file, not of the stripped text.
  Diag diag = takeDiag(result.takeError());
  if (diag.line > 0)
    diag.line += stripped.linesBefore;
  return makeError(std::move(diag));
}

} // namespace tilewright
