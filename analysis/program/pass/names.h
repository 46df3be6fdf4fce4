// Names that passes give.
#pragma once

#include "analysis/program/program.h"

namespace tilewright::program {

/// `wanted`, with a number where something of the program has that name.
std::string freeName(const Program &program, const std::string &wanted);

} // namespace tilewright::program
