// The contribution of each term of the time formula, as a table and as JSON.
#pragma once

#include "costmodel/ablation.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/evaluation_output.h"

namespace tilewright::cli {

/// Families grouped under a name.
struct FamilyClass {
  std::string name;
  std::vector<std::string> families;
};

class AblationView {
public:
  /// The data set and the report must outlive it.
  AblationView(const Dataset &data, const Device &device, const AblationReport &report,
               std::vector<FamilyClass> classes);

  /// "device h100-sxm: whole shapes left out, 5 folds; …".
  std::string head() const;
  /// One row a term: change of MAPE and of top-1 over all rows with their intervals, and over each
  /// class. Bold if the interval excludes zero.
  TextTable table() const;
  /// Schema "tilewright.evaluate.ablation" (docs/formats.md).
  Json json() const;

private:
  struct Change {
    std::string name; ///< of the class; empty: all rows
    MetricsChange change;
  };
  std::vector<Change> changesOf(const TermWorth &term) const;

  const Dataset &data;
  const Device &device;
  const AblationReport &report;
  std::vector<FamilyClass> classes;
  std::vector<std::vector<Change>> changes; ///< one a term: all rows, then the classes
};

} // namespace tilewright::cli
