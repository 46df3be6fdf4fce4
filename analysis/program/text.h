// Reading and printing tile programs. docs/program.md describes the text.
#pragma once

#include "analysis/program/program.h"
#include "analysis/tiling/constraint.h"

#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace tilewright::program {

/// Reads one program and infers its types. BadInput with the place of the first error. Rules that
/// need more than the text are the verifier's (verify.h).
llvm::Expected<Program> parseProgram(std::shared_ptr<const SourceBuffer> text);
llvm::Expected<Program> parseProgram(std::string text, std::string name = "program.tile");

/// The canonical text: parseProgram() of it is the same program, and printing that the same text.
std::string printProgram(const Program &program);
/// One op in one line, without what its regions hold.
std::string printOp(const Program &program, const Op &op);
/// An integer expression in the text's words: "cdiv(M, BM) * 2 + 1".
std::string printExpr(const Program &program, Expr expr);
std::string printScalar(const Program &program, const ScalarExpr &scalar);
/// A formula in the text's words: "BM * 2 <= S and 16 divides BK".
std::string printFormula(const Program &program, const Formula &formula);
/// "f32[i,j]".
std::string printTile(const Program &program, const Tile &tile);

} // namespace tilewright::program
