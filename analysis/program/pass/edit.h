// What passes do to programs and their ops.
#pragma once

#include "analysis/program/build/tidy.h"

#include "llvm/Support/Error.h"

namespace tilewright::program {

/// `wanted`, or with a number behind it where something has that name.
std::string freeName(const Program &program, const std::string &wanted);

/// A new free size. Unsupported: the program has one of that name already.
llvm::Expected<Expr> addSize(Program &program, const std::string &name);

} // namespace tilewright::program
