// KernelSpec: a plan reduced to what code generation needs.
//
// Self-contained: the group is a module of its own, and tile sizes are numbers. It can be written
// to a file and read back, and the same spec always gives the same code.
#pragma once

#include "analysis/tiling/plan.h"
#include "analysis/tiling/plan_layout.h"

namespace tilewright {

struct KernelSpec {
  std::string name;                     ///< also the kernel's symbol, once made into an identifier
  std::shared_ptr<const Module> module; ///< as extractGroup() makes it
  std::vector<int64_t> rootTile;        ///< a size for each dim of the first result
  /// Step sizes of the contracted or reduced dims. A loop that stands several times, since its op
  /// is read at several tiles, has an entry for each, in the order of the group's parameters.
  struct Sequential {
    std::string op;   ///< the contracting or reducing op
    unsigned dim = 0; ///< which of its reduction dims
    int64_t size = 1;
    bool operator==(const Sequential &) const = default;
  };
  std::vector<Sequential> sequential;
  Schedule schedule;
  std::vector<PlanLayout> layouts; ///< of its program; empty: those that its builder gives it

  const Graph &graph() const { return module->entry(); }
  /// The step size of an op's reduction dim where it stands for the n-th time, from 0; the last one
  /// given if there are fewer, `otherwise` if there is none.
  int64_t sequentialSize(std::string_view op, unsigned dim, size_t n, int64_t otherwise) const;
};

/// Errors: those of extractGroup(), and Unsupported for a plan of another rank than its root.
llvm::Expected<KernelSpec> specOf(const KernelPlan &plan);

/// The plan again: the spec's module as one tiled group, with the spec's numbers.
/// Errors: those of makeGroup() and tileGroup(); Unsupported where the tiled root is another op
/// than the spec's first result.
llvm::Expected<KernelPlan> planOf(const KernelSpec &spec);

/// Are the layouts those of the spec's program? BadInput: they are not; `misfit` becomes the number
/// of the one that is wrong, or of all where it is none alone.
llvm::Error checkLayouts(const KernelSpec &spec, size_t *misfit = nullptr);

/// Checks numbers before any code is built: tile sizes within the dims, 1 to 32 warps, 1 to 16
/// stages and so on. Errors: BadInput with the number and what is allowed.
llvm::Error validate(const KernelSpec &spec);

} // namespace tilewright
