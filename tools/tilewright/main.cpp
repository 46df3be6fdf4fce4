// The tilewright command line.
#include "tools/tilewright/command.h"

#include <cstdio>

using namespace tilewright::cli;

int main(int argc, char **argv) {
  CLI::App app{"Symbolic tiling analysis and cost modelling of GPU tensor programs.\n"
               "Which tilings of this operator graph are feasible, and why are the others not?\n"
               "Which one will be fastest, and why? Is the prediction right?",
               "tilewright"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tilewright ") + TILEWRIGHT_VERSION);

  Selection selection;
  addImport(app, selection);
  addIndex(app, selection);
  addTile(app, selection);
  addExplore(app, selection);
#ifdef TILEWRIGHT_HAS_CODEGEN
  addEmit(app, selection);
  addCheck(app, selection);
#endif
  addCalibrate(app, selection);
  addEvaluate(app, selection);
  addReport(app, selection);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Fine : BadUsage; // --help and --version end here with 0
  }
  int code = selection.run();
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fputs("error: cannot write the result to standard output\n", stderr);
    return BadUsage;
  }
  return code;
}
