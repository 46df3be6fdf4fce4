#include "analysis/program/layout_text.h"
#include "analysis/program/parser.h"
#include "analysis/program/text.h"

namespace tilewright::program {

Parser::Parser(std::shared_ptr<const SourceBuffer> source) : text(std::move(source)) {
  p.text = text;
}

llvm::Expected<Program> parseProgram(std::shared_ptr<const SourceBuffer> text) {
  return Parser(std::move(text)).run();
}

llvm::Expected<Program> parseProgram(std::string text, std::string name) {
  return parseProgram(std::make_shared<SourceBuffer>(std::move(name), std::move(text)));
}

llvm::Expected<Program> Parser::run() {
  llvm::Expected<std::vector<Token>> found = tokenize(*text);
  if (!found)
    return found.takeError();
  tokens = std::move(*found);
  findSteps();
  while (!hasFailed() && header()) {
  }
  if (!hasFailed() && p.name.empty())
    failExpected("\"kernel NAME(…) -> …\"");
  if (!hasFailed() && !p.warps)
    p.warps = p.number(4);
  while (!hasFailed() && !isEnd())
    statement(p.body);
  if (hasFailed())
    return std::move(*error);
  if (llvm::Error bad = inferTypes(p))
    return bad;
  return std::move(p);
}

llvm::Expected<LayoutSpec> Parser::runLayout(const Program &of) {
  llvm::Expected<std::vector<Token>> found = tokenize(*text);
  if (!found)
    return found.takeError();
  tokens = std::move(*found);
  p = of;
  for (uint32_t a = 0; a < p.axes.size(); ++a)
    declare(token(), p.axes[a].name, {Symbol::Kind::Axis, p.axes[a].var, a});
  Token start = token();
  std::optional<LayoutSpec> spec = layout();
  if (!spec)
    failExpected("'@' and a layout");
  expectLineEnd();
  if (!hasFailed() && !isEnd())
    failExpected("the end");
  for (Expr argument : spec ? spec->arguments : std::vector<Expr>())
    if (!hasFailed() && (!argument.isConstant() || argument.constant() < 1))
      fail(start, "a layout by itself takes numbers, of at least 1");
  if (hasFailed())
    return std::move(*error);
  return std::move(*spec);
}

llvm::Expected<LayoutSpec> parseLayoutSpec(const Program &program,
                                           std::shared_ptr<const SourceBuffer> text) {
  return Parser(std::move(text)).runLayout(program);
}

bool Parser::fail(const Token &where, std::string message) {
  if (!error)
    error = makeError(diagAt(*text, {where.offset}, std::move(message)));
  return false;
}

bool Parser::failExpected(const char *what) {
  std::string found = token().kind == TokenKind::Newline || token().kind == TokenKind::End
                          ? "the line's end"
                      : token().kind == TokenKind::Indent || token().kind == TokenKind::Dedent
                          ? "another indentation"
                          : fmt::format("'{}'", token().text);
  return fail(token(), fmt::format("expected {}, found {}", what, found));
}

bool Parser::isWithin(size_t count, size_t limit, const char *what) {
  return count < limit || fail(token(), fmt::format("more than {} {}", limit, what));
}

bool Parser::consume(std::string_view wanted) {
  if (hasFailed() || !isAt(wanted) || token().kind == TokenKind::Newline)
    return false;
  ++at;
  return true;
}

bool Parser::expect(std::string_view wanted) {
  return consume(wanted) || failExpected(fmt::format("'{}'", wanted).c_str());
}

bool Parser::expectLineEnd() {
  if (hasFailed() || isEnd())
    return !hasFailed();
  if (token().kind != TokenKind::Newline)
    return failExpected("the line's end");
  ++at;
  return true;
}

std::string Parser::name(const char *what) {
  bool isName = token().kind == TokenKind::Name && token().text.find('.') == std::string_view::npos;
  if (hasFailed() || !isName) {
    failExpected(what);
    return "";
  }
  return std::string(tokens[at++].text);
}

const Parser::Symbol *Parser::find(std::string_view wanted) const {
  auto it = symbols.find(wanted);
  return it == symbols.end() ? nullptr : &it->second;
}

ValueId Parser::findValue(std::string_view wanted) const {
  for (size_t i = scopes.size(); i-- > 0;)
    if (auto it = scopes[i].find(wanted); it != scopes[i].end())
      return it->second;
  return ValueId{};
}

std::string Parser::kindOf(Symbol::Kind kind) {
  static constexpr const char *names[] = {"a size",  "a let",    "a CTA variable",
                                          "an axis", "a buffer", "a loop's variable"};
  return names[static_cast<size_t>(kind)];
}

bool Parser::declare(const Token &where, const std::string &wanted, Symbol symbol) {
  if (hasFailed())
    return false;
  if (const Symbol *other = find(wanted))
    return fail(where, fmt::format("{} is {} already", wanted, kindOf(other->kind)));
  if (findValue(wanted).isValid())
    return fail(where, fmt::format("{} is a value already", wanted));
  symbols.emplace(wanted, symbol);
  return true;
}

ValueId Parser::assign(const Token &where) {
  if (ValueId known = findValue(where.text); known.isValid())
    return known;
  std::string wanted(where.text);
  if (const Symbol *other = find(wanted))
    fail(where, fmt::format("{} is {} already", wanted, kindOf(other->kind)));
  if (hasFailed() || !isWithin(p.values.size(), limits::items, "values"))
    return ValueId{0};
  if (thenNames)
    if (auto it = thenNames->find(wanted); it != thenNames->end()) {
      scopes.back().emplace(wanted, it->second);
      return it->second;
    }
  ValueId id{static_cast<uint32_t>(p.values.size())};
  // Values of one name in several regions are several variables.
  int copy = valueCopies[wanted]++;
  std::string variable = copy == 0 ? wanted : fmt::format("{}'{}", wanted, copy);
  p.values.push_back({wanted, p.context->variable(VarKind::Runtime, variable), {}});
  scopes.back().emplace(std::move(wanted), id);
  return id;
}

/// Loops stand behind the axes that name their variables.
void Parser::findSteps() {
  for (size_t i = 0; i + 1 < tokens.size(); ++i)
    if (tokens[i].kind == TokenKind::Name && tokens[i].text == "for" &&
        tokens[i + 1].kind == TokenKind::Name) {
      std::string variable(tokens[i + 1].text);
      symbols.try_emplace(variable,
                          Symbol{Symbol::Kind::Step, p.context->variable(VarKind::Step, variable)});
    }
}

bool Parser::header() {
  if (consume("kernel"))
    return kernel();
  if (consume("let"))
    return let();
  if (consume("warps"))
    return warps();
  if (consume("roles"))
    return roles();
  if (consume("grid"))
    return grid();
  if (consume("axis"))
    return axesLine();
  if (consume("ring"))
    return buffers(true);
  if (consume("shared"))
    return buffers(false);
  return false;
}

DType Parser::type() {
  if (hasFailed())
    return DType::F32;
  std::optional<DType> known = parseDType(token().text);
  bool isNumeric = known && dtypeClass(*known) != DTypeClass::NonNumeric &&
                   dtypeClass(*known) != DTypeClass::Complex;
  if (!isNumeric) {
    failExpected("an element type");
    return DType::F32;
  }
  ++at;
  return *known;
}

TensorId Parser::tensor(bool isResult) {
  auto it = tensorNames.find(token().text);
  if (hasFailed() || it == tensorNames.end()) {
    failExpected("a tensor");
    return TensorId{0};
  }
  if (p[it->second].isResult != isResult)
    fail(token(),
         fmt::format("{} is {}, which is {} only", token().text,
                     isResult ? "a parameter" : "a result", isResult ? "read" : "written"));
  ++at;
  return it->second;
}

BufferId Parser::buffer() {
  const Symbol *symbol = find(token().text);
  if (hasFailed() || !symbol || symbol->kind != Symbol::Kind::Buffer) {
    failExpected("a buffer");
    return BufferId{0};
  }
  ++at;
  return BufferId{symbol->index};
}

AxisId Parser::axis() {
  const Symbol *symbol = find(token().text);
  if (hasFailed() || !symbol || symbol->kind != Symbol::Kind::Axis) {
    failExpected("an axis");
    return AxisId{0};
  }
  ++at;
  return AxisId{symbol->index};
}

AxisSet Parser::axisList() {
  AxisSet result;
  do {
    insert(result, axis());
  } while (!hasFailed() && consume(","));
  return result;
}

Expr Parser::gridVariable() {
  const Symbol *symbol = find(token().text);
  if (hasFailed() || !symbol || symbol->kind != Symbol::Kind::Grid) {
    failExpected("a CTA variable");
    return Expr();
  }
  ++at;
  return symbol->var;
}

ValueId Parser::value() {
  ValueId id = findValue(token().text);
  if (hasFailed() || token().kind != TokenKind::Name || !id.isValid()) {
    failExpected("a value");
    return ValueId{0};
  }
  ++at;
  return id;
}

} // namespace tilewright::program
