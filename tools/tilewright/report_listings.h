// What a report shows beside kernels: tile programs of their plans, and the PTX that packs have of
// them.
#pragma once

#include "tools/report/report.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::cli {

/// A folder of `emit`: it has a manifest.
bool isPack(const std::string &folder);

class PackListings {
public:
  /// Errors: BadInput for a manifest that is none.
  llvm::Error add(const std::string &folder);
  /// PTX of the kernels that are made of a plan, which is a document of its own.
  std::vector<ReportListing> of(const std::string &planText) const;

private:
  struct Entry {
    std::string plan, file, target; ///< plan and graph as one text
  };
  std::vector<Entry> entries;
};

/// The listings of the plans of a folder of `explore`, for ReportInput.
std::function<std::vector<ReportListing>(const std::string &)>
listingsOf(const std::string &folder, std::shared_ptr<const PackListings> packs);

} // namespace tilewright::cli
