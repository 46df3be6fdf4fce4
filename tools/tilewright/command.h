// Shared by the subcommands of `tilewright`: registration, exit codes, output.
//
// Results go to stdout, progress and diagnostics to stderr. Exit codes: 0 fine, 1 the answer is
// "no" (infeasible, check failed), 2 bad input or usage, 70 a bug of ours.
#pragma once

#include "analysis/support/diag.h"
#include "analysis/support/printable.h"
#include "tools/tilewright/terminal.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tilewright::cli {

using Json = nlohmann::ordered_json; // keys in the order written: stable, readable output

enum ExitCode { Fine = 0, AnswerIsNo = 1, BadUsage = 2, InternalError = 70 };

/// Filled by the subcommand that the user chose; main() runs it after parsing.
struct Selection {
  std::function<int()> run;
};

/// Prints the diagnostic on stderr and returns the exit code of its class.
int fail(llvm::Error error);

/// The same for an error in reading the command's input: never the answer "no".
int failInput(llvm::Error error);

/// "BM=128": numbers by name, as an option that may be repeated is given them.
llvm::Expected<std::map<std::string, int64_t>> namedNumbers(const std::string &option,
                                                            const std::vector<std::string> &given);

/// "1.50 MiB", "72 B": three significant digits, binary units.
std::string bytesText(double bytes);
/// "12.3 us", "870 ns".
std::string timeText(double ns);

/// Starts a JSON result: {"schema": "tilewright.<command>", "schema_version": 1, "tool_version"}.
Json newDocument(const std::string &command);

/// A document that a library made, with the tool's version behind its `schema_version`.
std::string withToolVersion(std::string document);

/// Writes JSON with a final newline; names that are not valid UTF-8 are repaired, never fatal.
std::string dump(const Json &document);
void print(const Json &document);

/// Prints text for people: names come from users' files, so what a terminal would obey is spelt
/// out.
template <typename... Args> void say(fmt::format_string<Args...> format, Args &&...args) {
  std::string text =
      coloured(printable(fmt::format(format, std::forward<Args>(args)...), true), stdout);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void addImport(CLI::App &app, Selection &selection);
void addIndex(CLI::App &app, Selection &selection);
void addTile(CLI::App &app, Selection &selection);
void addProgram(CLI::App &app, Selection &selection);
void addLayout(CLI::App &app, Selection &selection);
void addProve(CLI::App &app, Selection &selection);
void addEval(CLI::App &app, Selection &selection);
void addExplore(CLI::App &app, Selection &selection);
void addMerge(CLI::App &app, Selection &selection);
void addCache(CLI::App &app, Selection &selection);
void addEmit(CLI::App &app, Selection &selection);
void addCheck(CLI::App &app, Selection &selection);
void addCalibrate(CLI::App &app, Selection &selection);
void addEvaluate(CLI::App &app, Selection &selection);
void addReport(CLI::App &app, Selection &selection);
void addData(CLI::App &app, Selection &selection);
void addDevices(CLI::App &app, Selection &selection);
void addCalibrations(CLI::App &app, Selection &selection);
void addFamilies(CLI::App &app, Selection &selection);
void addSuggest(CLI::App &app, Selection &selection);
void addSelect(CLI::App &app, Selection &selection);
void addAudit(CLI::App &app, Selection &selection);
void addWhyNot(CLI::App &app, Selection &selection);

} // namespace tilewright::cli
