// What a report holds: its contents, and a table of its models.
#pragma once

#include "tools/report/document.h"

#include <string>
#include <utility>
#include <vector>

namespace tilewright::report {

struct ModelRef {
  const Exploration *exploration;
  const Model *model;
  std::string id; ///< of its section
};

/// A section's id and its title in the contents, escaped.
using ContentsItem = std::pair<std::string, std::string>;

/// Links to all sections, `first` before the others; models past `sections` have none. Empty for a
/// page of one section.
std::string contents(const Documents &documents, const std::vector<ModelRef> &models,
                     size_t sections, const std::vector<ContentsItem> &first);

/// A row for each model: its time, what limits most of it, what would gain most.
std::string overview(const std::vector<ModelRef> &models, size_t sections);

} // namespace tilewright::report
