// What passes add to a program: names and sizes that it does not have yet.
#pragma once

#include "analysis/program/program.h"

#include "llvm/Support/Error.h"

namespace tilewright::program {

/// `wanted`, or with a number behind it where something has that name.
std::string freeName(const Program &program, const std::string &wanted);

/// A new free size. Unsupported: the program has one of that name already.
llvm::Expected<Expr> addSize(Program &program, const std::string &name);

} // namespace tilewright::program
