// Templates: data that describe how a row of measurements becomes a kernel plan.
//
// A family is a manifest (FAMILY.json) and an HLO file with ${name} where a row gives a dim or a
// data type. The manifest says
//   "rows":       which rows belong to it: column -> list of values;
//   "variables":  ${name} -> {"column": c} or {"column": c, "map": {cell: text}} or {"value":
//   text}; "parameters": tile and schedule parameter -> {"column": c, "default": n} or {"value":
//   n}; "family":     the name in reports, with ${column} for a cell; "group":      columns whose
//   cells make one problem; its rows are choices of configuration; "shape":      {"name": …,
//   "columns": […]}: rows that agree in these are never split between
//                 fitting and judging, whatever their data type;
//   "about":      one line for people;
//   "unpriced":   a reason, for a family whose rows are counted but not priced yet.
#pragma once

#include "analysis/tiling/plan.h"
#include "costmodel/device.h"
#include "costmodel/families.h"
#include "costmodel/measurements.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// Identity of a row, priced or not.
struct RowIdentity {
  std::string family; ///< "gemm/bf16"
  std::string group;  ///< one problem, unique over all families
  std::string shape;  ///< never split between fitting and judging
};

class TemplateLibrary {
public:
  TemplateLibrary();
  ~TemplateLibrary();
  TemplateLibrary(TemplateLibrary &&) noexcept;
  TemplateLibrary &operator=(TemplateLibrary &&) noexcept;

  /// Adds every manifest of a folder, in order of file names. A family of the same file name
  /// replaces an earlier one. Errors (BadInput) are located in the manifest.
  llvm::Error addFolder(const std::string &folder);
  static llvm::Expected<TemplateLibrary> load(const std::string &folder = dataFolder("templates"));

  size_t size() const;

  /// Does the table have the columns by which some template tells its rows? Else an error that
  /// names them.
  llvm::Error expectColumns(const Table &table) const;

  /// Index of the first template that takes the row, or empty.
  std::optional<size_t> match(const TableRow &row) const;
  /// Errors (BadInput) are located at the row.
  llvm::Expected<RowIdentity> identify(size_t number, const TableRow &row) const;

  /// The plan of a row. The instruction is the one a compiler would choose on the device.
  /// BadInput, located at the row: a cell that is not a number, a size below 1, an HLO file that
  /// does not parse with these dims. Unsupported: a family that can't be tiled, or is marked
  /// unpriced. Parsed graphs and their tiles are kept, one a shape.
  llvm::Expected<KernelPlan> planOf(size_t number, const TableRow &row, const Device &device);

  /// What people name: sorted by name, without those that are marked unpriced.
  std::vector<Family> families() const;
  /// The module of a family with these arguments, whose entry is one kernel. BadInput: no such
  /// family or argument, one that is missing, no size; what does not parse with these sizes.
  llvm::Expected<Module> moduleOf(std::string_view family, const FamilyArguments &arguments) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright
