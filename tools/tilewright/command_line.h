// What all commands have in common on the command line: options, help, and words for errors.
#pragma once

#include "tools/tilewright/command.h"

namespace tilewright::cli {

/// Help whose texts are the same in every run. Give it to the program before it has commands, which
/// take it over.
std::shared_ptr<CLI::Formatter> helpFormatter();

/// Adds --quiet, --verbose and --color to every command, and the command `help`. Call it when all
/// others are there.
void addCommonParts(CLI::App &app, Selection &selection);

/// Reads a file option's "-" as standard input.
CLI::Option *takesStandardInput(CLI::Option *option);

/// The nearest of some names to a mistyped one; empty where none is near.
std::string nearestName(std::string_view wanted, const std::vector<std::string> &names);

/// Prints the error in the command line, in the style of all our errors. Returns the exit code.
int failUsage(const CLI::App &app, const CLI::ParseError &error);

} // namespace tilewright::cli
