// KernelSpec: a plan reduced to what code generation needs.
//
// Self-contained: the group is a module of its own, and tile sizes are numbers. It can be written
// to a file and read back, and the same spec always gives the same code.
#pragma once

#include "analysis/tiling/plan.h"
#include "analysis/tiling/plan_layout.h"
#include "analysis/tiling/plan_loop.h"

namespace tilewright {

namespace program {
struct PlanProgram;
} // namespace program

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
  // Of its program; empty: those that its builder and passes give it.
  std::vector<PlanLoop> loops;     ///< pipeline settings
  std::vector<PlanLayout> layouts; ///< of the program with these settings

  bool recordsProgram() const { return !loops.empty() || !layouts.empty(); }
  /// "layouts", "settings of loops and layouts".
  std::string recordedWords() const;
  /// What is recorded is of one program alone.
  void forgetProgram();

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

/// Which of the spec's loops or layouts does not fit its program.
struct Misfit {
  std::string_view list; ///< "loops", "layouts"
  size_t index = 0;      ///< that of the list's end where it is none alone
};

/// The program of the spec's plan with what the spec records of it. BadInput: that does not fit.
llvm::Error addRecorded(program::PlanProgram &program, const KernelSpec &spec,
                        Misfit *misfit = nullptr);
/// The program of the plan that the spec is, as it is recorded. Errors: those of planOf(),
/// programOfPlan() and addRecorded().
llvm::Expected<program::PlanProgram> programOf(const KernelSpec &spec, Misfit *misfit = nullptr);

/// Checks numbers before any code is built: tile sizes within the dims, 1 to 32 warps, 1 to 16
/// stages and so on. Errors: BadInput with the number and what is allowed.
llvm::Error validate(const KernelSpec &spec);

} // namespace tilewright
