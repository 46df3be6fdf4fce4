// The parser of StableHLO text. Syntax only: what an op becomes is decided in lowering.h.
#pragma once

#include "analysis/import/scope.h"
#include "analysis/import/stablehlo/attribute.h"
#include "analysis/import/stablehlo/type.h"

#include "llvm/Support/Error.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tilewright::stablehlo {

struct OpRow;

struct ResultName {
  std::string_view name;
  size_t count = 1;
  uint32_t offset = 0;
};

/// An argument of a block or a function.
struct Argument {
  std::string_view name;
  Type type;
  uint32_t offset = 0;
  std::string_view location; ///< between the parentheses of its loc(…)
};

/// A region that has been read. Its scope stays open until the op that holds it is complete, as a
/// loop's regions share what they capture.
struct Region {
  std::unique_ptr<Scope> scope;
  std::vector<Shape> arguments;
  std::vector<OpId> results; ///< what it returns
  uint32_t offset = 0;
};

/// An op as it is written, in either form: short forms give the attributes the names that they have
/// in the generic form.
struct OpText {
  std::string_view name; ///< "stablehlo.add"
  uint32_t offset = 0;
  std::string base; ///< for the names of the ops that it becomes
  std::vector<ResultName> resultNames;
  std::vector<OpId> operands;
  std::vector<uint32_t> operandOffsets;
  Attributes attributes;
  std::vector<Region> regions;
  std::vector<std::unique_ptr<Captures>> captures;
  bool hasOperandTypes = false;
  std::vector<Type> operandTypes, types; ///< types: of the results, or what the short form lists
};

class Reader {
public:
  explicit Reader(std::shared_ptr<const SourceBuffer> source);

  llvm::Expected<std::vector<Module>> run();

  // For the short forms of ops, in short_forms.cpp.
  MlirLexer lexer;
  TypeAliases typeAliases;
  AttributeAliases attributeAliases;

  bool parseType(Type &out) {
    return stablehlo::parseType(lexer, typeAliases, totals.shapeNodes, out);
  }
  bool parseOperand(Scope &scope, OpText &op);
  bool parseAttributes(OpText &op);
  /// `: (t, t) -> t`, or `: t, t`, or `: t -> t`.
  bool parseTypes(OpText &op);
  /// `{ ops }`; arguments are the given ones, or those of its `^bb0(…):` label.
  bool parseRegion(Scope &scope, OpText &op, RegionKind kind, const std::vector<Argument> *given);
  /// `%a: type`
  bool parseArgument(Argument &out);

  // For the ops' lowerings.

  /// Makes a computation of a scope that is complete.
  GraphId finish(Scope &scope, OpId root);
  /// A computation that the file doesn't hold, made once for each name; its ops are located at the
  /// place that first needs it.
  GraphId named(const std::string &name, Graph (*make)(std::string name, Opcode, DType),
                Opcode opcode, DType type, SourceLoc loc);
  std::string graphName(const std::string &base);

private:
  struct Function {
    GraphId graph;
    uint32_t offset = 0;
    bool isPublic = true, isCalled = false, isDeclaration = false;
    std::vector<std::pair<size_t, int64_t>> aliases; ///< argument, output
    std::vector<size_t> donated;
  };
  struct Call {
    GraphId graph;
    PendingCall call;
  };
  struct Location {
    GraphId graph;
    PendingLocation location;
  };
  /// What `loc(…)` says.
  struct Place {
    std::string name, file;
    int64_t line = 0;
  };

  bool parseTop();
  bool parseAlias();
  bool parseModule(uint32_t begin, bool isGeneric);
  bool parseModuleBody(char end);
  bool parseModuleItem();
  bool parseFunction();
  bool parseGenericFunction();
  bool parseFunctionArguments(std::vector<Argument> &arguments, Function &function);
  bool parseArgumentAttributes(size_t argument, Function &function);
  bool parseFunctionResults(std::vector<Type> &results);
  bool addFunction(std::string name, Function function, Scope &scope,
                   const std::vector<OpId> &returned);
  bool checkFunctionType(Attributes &attributes, const Scope &scope,
                         const std::vector<Argument> &arguments, const std::vector<OpId> &returned);
  bool declare(std::string name, Function function);
  void startFunction(Scope &scope, const std::vector<Argument> &arguments);

  bool parseBlock(Scope &scope, std::vector<OpId> &returned);
  bool parseOp(Scope &scope, bool &returns, std::vector<OpId> &returned);
  bool parseResultNames(OpText &op);
  bool parseGenericOp(Scope &scope, OpText &op, const OpRow &row);
  bool parseShortOp(Scope &scope, OpText &op, const OpRow &row);
  bool parseReturn(Scope &scope, bool isGeneric, std::vector<OpId> &returned);
  bool parseTypeList(std::vector<Type> &out);
  bool checkOperandTypes(Scope &scope, OpText &op);
  bool complete(Scope &scope, OpText &op, const OpRow &row);
  bool bindResults(Scope &scope, const OpText &op, const std::vector<OpId> &values, OpId tuple);
  bool parseLocation(std::string_view *out);
  const OpRow *rowOf(const OpText &op);

  /// Completes the module that is being read, if there is one.
  bool endModule();
  bool resolveCalls();
  bool chooseEntry();
  void setAttributes();
  void addDonations(const Function &entry);
  Place placeOf(std::string_view text);
  Place readPlace(MlirLexer &in, unsigned &budget);
  Place readFusedPlaces(MlirLexer &in, unsigned &budget);

  std::shared_ptr<const SourceBuffer> source;
  HloParseError error;
  Totals totals;
  unsigned regionDepth = 0;
  std::vector<Module> modules;

  // Of the module that is being read.
  Module module;
  bool isExplicit = false; ///< it began with `module`
  std::map<std::string, Function> functions;
  std::vector<std::string> order; ///< of the functions
  std::map<std::string, unsigned> graphNames;
  std::vector<Call> calls;
  std::vector<Location> locations;
  std::map<std::string, GraphId> namedGraphs;
};

} // namespace tilewright::stablehlo
