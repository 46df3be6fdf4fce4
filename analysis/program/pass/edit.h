// What passes do to programs and their ops.
#pragma once

#include "analysis/program/program.h"

#include "llvm/Support/Error.h"

#include <map>

namespace tilewright::program {

/// `wanted`, or with a number behind it where something has that name.
std::string freeName(const Program &program, const std::string &wanted);

/// A new free size. Unsupported: the program has one of that name already.
llvm::Expected<Expr> addSize(Program &program, const std::string &name);

/// Calls visit on all values that an op and its regions read, those in indices too.
void forEachRead(const Program &program, const Op &op, const std::function<void(ValueId)> &visit);
/// Reads other values and buffers.
void replaceReads(Op &op, const std::map<ValueId, ValueId> &values,
                  const std::map<BufferId, BufferId> &buffers);

} // namespace tilewright::program
