// The tilewright command line.
#include "costmodel/data_folder.h"
#include "tools/tilewright/command_line.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstdio>
#include <new>

using namespace tilewright::cli;

namespace {

/// Runs the command. Exceptions mean a bug of ours, or that memory ran out.
int runSelected(const Selection &selection) {
  const double startedAt = secondsNow();
  detail("tilewright {}, data in {}", TILEWRIGHT_VERSION, tilewright::dataFolder(""));
  try {
    const int code = selection.run();
    detail("exit code {} after {:.2f} s", code, secondsNow() - startedAt);
    return code;
  } catch (const std::bad_alloc &) {
    return failInput(tilewright::makeError(tilewright::DiagClass::BudgetSpent,
                                           "out of memory; give the program more or ask for less"));
  } catch (const std::exception &error) {
    return fail(tilewright::makeError(tilewright::DiagClass::Internal, "{}", error.what()));
  }
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app{"Symbolic tiling analysis and cost modelling of GPU tensor programs.\n"
               "Which tilings of this operator graph are feasible, and why are the others not?\n"
               "Which one will be fastest, and why? Is the prediction right?",
               "tilewright"};
  app.formatter(helpFormatter());
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", std::string("tilewright ") + TILEWRIGHT_VERSION);

  Selection selection;
  addImport(app, selection);
  addIndex(app, selection);
  addTile(app, selection);
  addProgram(app, selection);
  addLayout(app, selection);
  addProve(app, selection);
  addEval(app, selection);
  addExplore(app, selection);
  addMerge(app, selection);
#ifdef TILEWRIGHT_HAS_CODEGEN
  addEmit(app, selection);
  addCheck(app, selection);
#endif
  addCalibrate(app, selection);
  addEvaluate(app, selection);
  addReport(app, selection);
  addData(app, selection);
  addDevices(app, selection);
  addCalibrations(app, selection);
  addFamilies(app, selection);
  addSuggest(app, selection);
  addSelect(app, selection);
  addAudit(app, selection);
  addCache(app, selection);
  addWhyNot(app, selection);
  addCommonParts(app, selection);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return failUsage(app, error);
    app.exit(error); // --help and --version
  }
  // Else LLVM would print a line of its own and abort.
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { throw std::bad_alloc(); });
  int code = selection.run ? runSelected(selection) : Fine;
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fputs("error: cannot write the result to standard output\n", stderr);
    return BadUsage;
  }
  return code;
}
