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

void Batch::fail(const std::string &file, llvm::Error error) {
  Failure failure{file, takeDiag(std::move(error))};
  if (failure.diag.file.empty() && !failure.diag.message.starts_with(file))
    failure.diag.file = file;
  cli::fail(makeError(failure.diag));
  failed.push_back(std::move(failure));
}

Json Batch::json() const {
  Json list = Json::array();
  for (const Failure &failure : failed) {
    Json row = {{"file", failure.file},
                {"class", nameOf(failure.diag.cls)},
                {"message", failure.diag.message}};
    if (failure.diag.line) {
      row["line"] = failure.diag.line;
      row["column"] = failure.diag.column;
    }
    list.push_back(std::move(row));
  }
  return list;
}

bool Batch::isUnsupported() const {
  return !failed.empty() && std::all_of(failed.begin(), failed.end(), [](const Failure &failure) {
    return failure.diag.cls == DiagClass::Unsupported;
  });
}

int Batch::finish(size_t files) const {
  if (failed.empty())
    return Fine;
  if (files > 1) {
    fmt::print(stderr, "{} of {} {} failed:\n", failed.size(), files, kind);
    for (const Failure &failure : failed)
      fmt::print(stderr, "  {}: {}\n", printable(shortened(failure.file, 200)),
                 nameOf(failure.diag.cls));
  }
  bool isOurs = std::any_of(failed.begin(), failed.end(), [](const Failure &failure) {
    return failure.diag.cls == DiagClass::Internal;
  });
  return isOurs ? InternalError : BadUsage;
}

} // namespace tilewright::cli
