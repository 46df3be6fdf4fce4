#include "tools/audit/kernel_list.h"

#include "analysis/support/diag.h"

#include <algorithm>
#include <map>

namespace tilewright {

llvm::Expected<std::vector<MeasuredKernel>> readKernelList(const Table &table) {
  for (const char *needed : {"kernel", "time_ns"})
    if (!table.column(needed))
      return makeError(DiagClass::BadInput, "{}:1: no column '{}' in the list of kernels",
                       table.name(), needed);
  std::vector<MeasuredKernel> kernels;
  for (size_t i = 0; i < table.rowCount(); ++i) {
    const TableRow row(table, i);
    MeasuredKernel kernel;
    kernel.name = row.text("kernel");
    kernel.line = row.line();
    llvm::Expected<std::optional<double>> time = row.number("time_ns");
    if (!time)
      return time.takeError();
    if (!*time || **time <= 0)
      return row.error("a kernel takes a time above 0");
    kernel.timeNs = **time;
    auto product = [&](std::initializer_list<const char *> columns, double &value) -> llvm::Error {
      value = 0;
      for (const char *column : columns) {
        llvm::Expected<std::optional<double>> number = row.number(column);
        if (!number)
          return number.takeError();
        if (*number)
          value = (value == 0 ? 1 : value) * **number;
      }
      return llvm::Error::success();
    };
    if (llvm::Error error = product({"grid_x", "grid_y", "grid_z"}, kernel.ctas))
      return error;
    if (llvm::Error error = product({"block_x", "block_y", "block_z"}, kernel.threads))
      return error;
    if (llvm::Error error = product({"regs"}, kernel.registers))
      return error;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

namespace {

/// Kernels that a library runs beside its main one.
bool isSideKernel(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  for (const char *part : {"splitkreduce", "addpadding", "nchwtonhwc", "nhwctonchw", "memset",
                           "transpose", "convertfilter"})
    if (lower.find(part) != std::string::npos)
      return true;
  return false;
}

/// "fusion_12" and "fusion_3" are "fusion".
std::string withoutNumber(std::string name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end != std::string::npos && end + 1 < name.size() && name[end] == '_')
    name.erase(end);
  return name;
}

class Matcher {
public:
  Matcher(const Module &module, const std::vector<Launch> &launches,
          const std::vector<MeasuredKernel> &rows)
      : module(module), launches(launches), rows(rows) {
    std::map<std::string, size_t> numbers;
    for (const Launch &launch : launches) {
      const Op &op = opOf(launch);
      const std::string name = kernelName(op.name);
      const bool isCompiled = op.opcode == Opcode::Fusion && !op.called.empty();
      const std::string identity = isCompiled ? kernelIdentity(module, op) : name;
      kinds.push_back(numbers.try_emplace(identity, numbers.size()).first->second);
      kindOfName.emplace(name, kinds.back());
    }
    result.ofLaunch.resize(launches.size());
  }

  MatchedKernels run() {
    for (size_t i = 0; i < launches.size(); ++i) {
      if (launches[i].kind == LaunchKind::Copy || isNothing(launches[i]))
        continue;
      if (isLibrary(launches[i]))
        takeLibrary(i);
      else
        takeOwn(i);
      if (result.ofLaunch[i].empty())
        result.unmatchedLaunches.push_back(i);
    }
    while (at < rows.size())
      result.unmatchedRows.push_back(at++);
    std::sort(result.unmatchedRows.begin(), result.unmatchedRows.end());
    return std::move(result);
  }

private:
  const Op &opOf(const Launch &launch) const { return module.graph(launch.graph)[launch.op]; }
  bool isNothing(const Launch &launch) const { return bytesOf(opOf(launch).shape) == 0; }
  bool isLibrary(const Launch &launch) const { return opOf(launch).opcode == Opcode::CustomCall; }

  bool isKnown(const MeasuredKernel &row) const { return kindOfName.count(row.name) > 0; }

  /// Equal fusions are compiled once: any of them may give its name.
  bool fits(size_t launch, const MeasuredKernel &row) const {
    const std::string own = kernelName(opOf(launches[launch]).name);
    if (auto found = kindOfName.find(row.name); found != kindOfName.end())
      return row.name == own || found->second == kinds[launch];
    // The name of one that has been optimised away.
    return opOf(launches[launch]).opcode == Opcode::Fusion &&
           withoutNumber(row.name) == withoutNumber(own);
  }

  void takeOwn(size_t launch) {
    size_t ahead = at;
    while (ahead < rows.size() && !fits(launch, rows[ahead]))
      ++ahead;
    if (ahead == rows.size()) // its row is missing
      return;
    if (ahead > at && isMetLater(launch))
      return;
    while (at < ahead)
      result.unmatchedRows.push_back(at++);
    result.ofLaunch[launch].push_back(at++);
  }

  /// Does the next row fit a later launch?
  bool isMetLater(size_t launch) const {
    for (size_t later = launch + 1; later < launches.size(); ++later)
      if (!isLibrary(launches[later]) && fits(later, rows[at]))
        return true;
    return false;
  }

  void takeLibrary(size_t launch) {
    // Rows up to the next kernel that has an op's name; of several calls in a row one main kernel
    // each.
    bool hasMain = false;
    for (; at < rows.size(); ++at) {
      const MeasuredKernel &row = rows[at];
      if (isKnown(row) || isNamedAsFusion(row, launch))
        break;
      const bool isMain = !isSideKernel(row.name);
      if (isMain && hasMain)
        break;
      hasMain = hasMain || isMain;
      result.ofLaunch[launch].push_back(at);
    }
  }

  bool isNamedAsFusion(const MeasuredKernel &row, size_t launch) const {
    for (size_t next = launch + 1; next < launches.size(); ++next)
      if (!isLibrary(launches[next]))
        return fits(next, row);
    return false;
  }

  const Module &module;
  const std::vector<Launch> &launches;
  const std::vector<MeasuredKernel> &rows;
  std::vector<size_t> kinds; ///< by launch; equal for equal fusions
  std::map<std::string, size_t> kindOfName;
  MatchedKernels result;
  size_t at = 0;
};

} // namespace

MatchedKernels matchKernels(const Module &module, const std::vector<Launch> &launches,
                            const std::vector<MeasuredKernel> &rows) {
  return Matcher(module, launches, rows).run();
}

} // namespace tilewright
