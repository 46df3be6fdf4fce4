#include "tools/tilewright/batch.h"

#include "analysis/support/printable.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

const char *nameOf(DiagClass cls) {
  switch (cls) {
  case DiagClass::BadInput:
    return "bad input";
  case DiagClass::Unsupported:
    return "unsupported";
  case DiagClass::BudgetSpent:
    return "budget spent";
  case DiagClass::Internal:
    return "internal";
  }
  return "";
}

} // namespace

Json Batch::fail(const std::string &file, llvm::Error error, const std::string &more) {
  Diag diag = takeDiag(std::move(error));
  if (diag.file.empty() && !diag.message.starts_with(file))
    diag.file = file;
  cli::fail(makeError(diag));
  Json row = {{"file", file}, {"class", nameOf(diag.cls)}, {"message", diag.message}};
  if (diag.line) {
    row["line"] = diag.line;
    row["column"] = diag.column;
  }
  add(row, more);
  return row;
}

void Batch::add(const Json &row, const std::string &more) { failed.push_back({row, more}); }

Json Batch::json() const {
  Json list = Json::array();
  for (const Failure &failure : failed)
    list.push_back(failure.row);
  return list;
}

bool Batch::isUnsupported() const {
  return !failed.empty() && std::all_of(failed.begin(), failed.end(), [](const Failure &failure) {
    return failure.row["class"] == nameOf(DiagClass::Unsupported);
  });
}

int Batch::finish(size_t files) const {
  if (failed.empty())
    return Fine;
  if (files > 1) {
    fmt::print(stderr, "{} of {} {} failed:\n", failed.size(), files, kind);
    for (const auto &[row, more] : failed)
      fmt::print(stderr, "  {}{}: {}\n", printable(shortened(row["file"].get<std::string>(), 200)),
                 printable(more), row["class"].get<std::string>());
  }
  const bool isOurs = std::any_of(failed.begin(), failed.end(), [](const Failure &failure) {
    return failure.row["class"] == nameOf(DiagClass::Internal);
  });
  return isOurs ? InternalError : BadUsage;
}

} // namespace tilewright::cli
