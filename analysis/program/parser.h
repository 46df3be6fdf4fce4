// What the files of the reader share. Not for other folders.
//
//   parse.cpp             tokens and names
//   parse_header.cpp      the lines in front of the ops
//   parse_statement.cpp   ops without results, loops and other blocks
//   parse_assignment.cpp  ops with results
//   parse_expr.cpp        integer expressions
//   parse_scalar.cpp      scalar expressions
#pragma once

#include "analysis/program/lexer.h"
#include "analysis/program/program.h"

#include <map>

namespace tilewright::program {

/// Recursive descent with one error: after it nothing is read, and every function returns at once.
class Parser {
public:
  explicit Parser(std::shared_ptr<const SourceBuffer> text);
  llvm::Expected<Program> run();
  /// The text is a layout for axes of a program.
  llvm::Expected<LayoutSpec> runLayout(const Program &of);

private:
  // Tokens.
  const Token &token() const { return tokens[at]; }
  bool isAt(std::string_view text) const { return token().text == text && !isEnd(); }
  bool isEnd() const { return token().kind == TokenKind::End; }
  bool consume(std::string_view text);
  bool expect(std::string_view text);
  bool expectLineEnd();
  std::string name(const char *what);
  int64_t integer(const char *what);
  bool fail(const Token &where, std::string message);
  bool failExpected(const char *what);
  bool hasFailed() const { return error.has_value(); }
  bool isWithin(size_t count, size_t limit, const char *what);

  // Names.
  struct Symbol {
    enum class Kind : uint8_t { Size, Let, Grid, Axis, Buffer, Step } kind;
    Expr var;
    uint32_t index = 0;
  };
  const Symbol *find(std::string_view name) const;
  ValueId findValue(std::string_view name) const;
  bool declare(const Token &where, const std::string &name, Symbol symbol);
  ValueId assign(const Token &where);
  TensorId tensor(bool isResult);
  BufferId buffer();
  AxisId axis();
  AxisSet axisList();
  Expr gridVariable();
  ValueId value();
  static std::string kindOf(Symbol::Kind kind);

  // Header.
  void findSteps();
  bool header();
  bool kernel();
  bool tensors(bool isResult);
  bool let();
  bool warps();
  bool roles();
  bool grid();
  bool axesLine();
  bool buffers(bool isRing);
  void hosts(Buffer &of);

  // Statements.
  bool block(Region &into);
  bool statement(Region &into);
  bool assignment(Region &into);
  bool rightSide(Op &op, const std::vector<Token> &targets, bool isAdded);
  bool forLoop(Region &into);
  bool loopBody(ForOp &loop);
  bool ifStatement(Region &into);
  bool role(Region &into);
  bool store(Region &into);
  bool atomic(Region &into);
  bool copy(Region &into);
  bool write(Region &into);
  bool load(LoadOp &op);
  bool dot(DotOp &op);
  bool reduction(Op &op, Monoid monoid);
  bool access(Access &access);
  bool conditions(std::vector<Condition> &list);
  std::optional<LayoutSpec> layout();
  std::vector<Digit> digits();
  std::optional<Monoid> monoid();
  double constant();
  DType type();
  Expr stepOfSlot();

  // Integer expressions. `mayDeclare`: an unknown name is a new size.
  Expr size();
  Expr index();
  Expr sum();
  Expr product();
  Expr factor();
  Expr call(const std::string &name, const Token &where);
  Expr nameExpr(const Token &where);

  // Scalar expressions: each appends its nodes and returns the last one's number.
  ScalarExpr scalar();
  uint32_t scalarLevel(ScalarExpr &into, int level);
  uint32_t scalarFactor(ScalarExpr &into);
  uint32_t scalarName(ScalarExpr &into);
  uint32_t scalarCall(ScalarExpr &into, const Token &where);
  uint32_t combine(ScalarExpr &into, const Token &sign, uint32_t left, uint32_t right);
  bool foldIndex(ScalarExpr &into, std::string_view sign, uint32_t left, uint32_t right);
  uint32_t appendNode(ScalarExpr &into, ScalarNode node);

  struct Nesting {
    explicit Nesting(Parser &p) : p(p) { ++p.depth; }
    ~Nesting() { --p.depth; }
    Parser &p;
  };
  bool isTooDeep();

  std::shared_ptr<const SourceBuffer> text;
  std::vector<Token> tokens;
  size_t at = 0;
  std::optional<llvm::Error> error;
  Program p;
  std::map<std::string, Symbol, std::less<>> symbols;
  std::map<std::string, TensorId, std::less<>> tensorNames;
  std::vector<std::map<std::string, ValueId, std::less<>>> scopes{1};
  std::map<std::string, int> valueCopies;
  /// Of the branch in front of an `else`: both define the same values.
  const std::map<std::string, ValueId, std::less<>> *thenNames = nullptr;
  bool mayDeclare = false;
  unsigned depth = 0;
};

} // namespace tilewright::program
