// Links to the rows of a model's kernels, as far as its table lists them.
#pragma once

#include "tools/report/summary.h"

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

class KernelLinks {
public:
  /// Rows of the `rows` most expensive kernels, in the table `tableId`.
  KernelLinks(const Summary &summary, size_t rows, std::string_view tableId)
      : table(tableId), listed(summary.byTime.size(), false) {
    for (size_t rank = 0; rank < rows && rank < listed.size(); ++rank)
      listed[summary.byTime[rank]] = true;
  }

  static std::string idOf(std::string_view tableId, size_t kernel) {
    return fmt::format("{}-{}", tableId, kernel);
  }
  /// "#m0-k-3"; empty for a kernel that is not listed.
  std::string target(size_t kernel) const {
    return listed[kernel] ? "#" + idOf(table, kernel) : std::string();
  }
  /// `html` as the link's text, or alone.
  std::string link(size_t kernel, std::string_view html) const {
    return listed[kernel] ? fmt::format("<a href=\"{}\">{}</a>", target(kernel), html)
                          : std::string(html);
  }

private:
  std::string table;
  std::vector<bool> listed;
};

} // namespace tilewright::report
