// The tilewright command line.
#include "analysis/support/printable.h"
#include "tools/tilewright/command.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fmt/format.h>
#include <new>

using namespace tilewright::cli;

namespace {

/// The error in the command line, in the style of all our errors.
int failUsage(const CLI::App &app, const CLI::ParseError &error) {
  std::string message = error.what(), help = "tilewright";
  std::vector<std::string> extra = app.remaining();
  if (app.get_subcommands().empty() && !extra.empty()) {
    std::vector<std::string> names;
    for (const CLI::App *command : app.get_subcommands({}))
      names.push_back(command->get_name());
    message = fmt::format("no command '{}'; there are {}", extra.front(), fmt::join(names, ", "));
  } else if (message.size() > 1 && std::islower(static_cast<unsigned char>(message[1]))) {
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  }
  for (const CLI::App *command : app.get_subcommands()) {
    help += " " + command->get_name();
    for (const std::string &unknown : command->remaining())
      if (unknown.starts_with("-"))
        message = fmt::format("no option '{}'", unknown);
  }
  fmt::print(stderr, "error: {}; see {} --help\n", tilewright::printableMessage(message), help);
  return BadUsage;
}

/// Runs the command. Exceptions mean a bug of ours, or that memory ran out.
int runSelected(const Selection &selection) {
  try {
    return selection.run();
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
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tilewright ") + TILEWRIGHT_VERSION);

  Selection selection;
  addImport(app, selection);
  addIndex(app, selection);
  addTile(app, selection);
  addProgram(app, selection);
  addProve(app, selection);
  addEval(app, selection);
  addExplore(app, selection);
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
