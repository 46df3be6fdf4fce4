// Blocks, regions and ops.
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/import/stablehlo/reader.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>

namespace tilewright::stablehlo {

/// Ops up to the one that returns, and the closing brace.
bool Reader::parseBlock(Scope &scope, std::vector<OpId> &returned) {
  bool returns = false;
  while (!returns) {
    if (lexer.peek() == '}')
      return lexer.failExpected("an op, or return at the block's end");
    if (lexer.peek() == '^')
      return lexer.fail(lexer.offset(), "regions of several blocks are not read",
                        DiagClass::Unsupported);
    if (!parseOp(scope, returns, returned))
      return false;
    if (scope.isOverLimit())
      return lexer.fail(lexer.offset(),
                        fmt::format("the file has over {} ops, or over {} tensors in their types",
                                    hlo_limits::ops, hlo_limits::shapeNodes));
  }
  if (lexer.peek() == '^')
    return lexer.fail(lexer.offset(), "regions of several blocks are not read",
                      DiagClass::Unsupported);
  return lexer.expect('}');
}

bool Reader::parseRegion(Scope &scope, OpText &op, RegionKind kind,
                         const std::vector<Argument> *given) {
  constexpr unsigned mostDepth = 128;
  const uint32_t begin = lexer.place();
  if (++regionDepth > mostDepth)
    return lexer.fail(begin, fmt::format("regions nest deeper than {}", mostDepth));
  if (!lexer.expect('{'))
    return false;
  std::vector<Argument> arguments;
  if (given) {
    arguments = *given;
  } else if (lexer.consume('^')) {
    if (lexer.identifier().empty())
      return lexer.failExpected("a block's label");
    if (lexer.consume('(')) {
      while (lexer.peek() != ')')
        if ((!arguments.empty() && !lexer.expect(',')) ||
            !parseArgument(arguments.emplace_back()) || !parseLocation(nullptr))
          return false;
      lexer.advance();
    }
    if (!lexer.expect(':'))
      return false;
  }
  Region region;
  region.offset = begin;
  const bool isShared = kind == RegionKind::State && !op.captures.empty();
  if (!isShared && kind != RegionKind::Scalars)
    op.captures.push_back(std::make_unique<Captures>());
  region.scope = std::make_unique<Scope>(
      graphName(fmt::format("{}.{}", op.base, op.regions.size())), &scope, kind,
      kind == RegionKind::Scalars ? nullptr : op.captures.back().get(), totals);
  for (const Argument &argument : arguments)
    region.arguments.push_back(argument.type.shape);
  if (kind == RegionKind::Scalars) {
    startFunction(*region.scope, arguments);
  } else {
    region.scope->startState(region.arguments, SourceLoc{begin});
    for (size_t i = 0; i < arguments.size(); ++i)
      if (!region.scope->bindTuple(arguments[i].name, region.scope->state, i, 1))
        return lexer.fail(arguments[i].offset,
                          fmt::format("%{} is defined twice", excerpt(arguments[i].name)));
  }
  if (error.isSet || !parseBlock(*region.scope, region.results))
    return false;
  op.regions.push_back(std::move(region));
  --regionDepth;
  return true;
}

/// `loc(…)`, if it is there.
bool Reader::parseLocation(std::string_view *out) {
  const uint32_t begin = lexer.place();
  if (!lexer.consumeIdentifier("loc"))
    return true;
  if (lexer.peek() != '(') {
    lexer.rewind(begin);
    return true;
  }
  const uint32_t open = lexer.offset();
  if (!lexer.skipGroup())
    return false;
  if (out)
    *out = lexer.slice(open + 1, lexer.offset() - 1);
  return true;
}

/// `%a, %b:2 =`
bool Reader::parseResultNames(OpText &op) {
  do {
    ResultName result;
    result.offset = lexer.place();
    if (!lexer.valueName(result.name))
      return false;
    if (lexer.peek() == ':') {
      lexer.advance();
      int64_t count;
      if (!lexer.integer(count, "the number of results"))
        return false;
      if (count < 1 || count > static_cast<int64_t>(hlo_limits::ops))
        return lexer.fail(result.offset,
                          fmt::format("{} results, 1 to {} are possible", count, hlo_limits::ops));
      result.count = static_cast<size_t>(count);
    }
    op.resultNames.push_back(result);
  } while (lexer.consume(','));
  return lexer.expect('=');
}

namespace {

/// Ops of other dialects that are ours under another name.
std::string_view ownName(std::string_view name) {
  if (name == "call")
    return "func.call";
  if (name == "arith.constant")
    return "stablehlo.constant";
  return name;
}

bool isReturn(std::string_view name) {
  return name == "return" || name == "func.return" || name == "stablehlo.return" ||
         name == "mhlo.return";
}

} // namespace

const OpRow *Reader::rowOf(const OpText &op) {
  if (const OpRow *row = findOp(ownName(op.name)))
    return row;
  if (op.name.starts_with("mhlo."))
    if (const OpRow *row = findOp("stablehlo." + std::string(op.name.substr(5))))
      return row;
  const size_t dot = op.name.find('.');
  const std::string_view dialect = op.name.substr(0, dot == std::string_view::npos ? 0 : dot);
  if (dialect == "vhlo")
    lexer.fail(op.offset,
               "this is VHLO, the serialised form; convert it with stablehlo-translate "
               "--deserialize, or scripts/stablehlo_text.py",
               DiagClass::Unsupported);
  else if (dialect == "stablehlo" || dialect == "chlo" || dialect.empty())
    lexer.fail(op.offset, fmt::format("there is no op '{}'", excerpt(op.name)));
  else
    lexer.fail(op.offset,
               fmt::format("{}: ops of the dialect {} are not read; lower it to stablehlo first",
                           excerpt(op.name), excerpt(dialect)),
               DiagClass::Unsupported);
  return nullptr;
}

bool Reader::parseOp(Scope &scope, bool &returns, std::vector<OpId> &returned) {
  OpText op;
  if (lexer.peek() == '%' && !parseResultNames(op))
    return false;
  op.offset = lexer.place();
  const bool isGeneric = lexer.peek() == '"';
  if (isGeneric) {
    if (!lexer.skipString())
      return false;
    op.name = lexer.slice(op.offset + 1, lexer.offset() - 1);
  } else {
    op.name = lexer.identifier();
    if (op.name.empty())
      return lexer.failExpected("an op");
  }
  if (isReturn(op.name) && op.resultNames.empty()) {
    returns = true;
    return parseReturn(scope, isGeneric, returned);
  }
  const OpRow *row = rowOf(op);
  if (!row)
    return false;
  if (!row->refusal.empty())
    return lexer.fail(op.offset, fmt::format("{}: {}", op.name, row->refusal),
                      DiagClass::Unsupported);
  // %cst is cst, %3 = stablehlo.add is add.3.
  const std::string_view first = op.resultNames.empty() ? "" : op.resultNames[0].name;
  std::string_view kind = op.name.substr(op.name.find('.') + 1);
  const bool isNumber = first.empty() || std::isdigit(static_cast<unsigned char>(first.front()));
  op.base =
      isNumber ? fmt::format("{}{}{}", kind, first.empty() ? "" : ".", first) : std::string(first);
  const bool isParsed = isGeneric    ? parseGenericOp(scope, op, *row)
                        : row->parse ? row->parse(*this, scope, op)
                                     : parseShortOp(scope, op, *row);
  std::string_view location;
  if (!isParsed || !parseLocation(&location) || !checkOperandTypes(scope, op))
    return false;
  const auto before = static_cast<uint32_t>(scope.graph.size());
  if (!complete(scope, op, *row))
    return false;
  if (!location.empty())
    for (uint32_t i = before; i < scope.graph.size(); ++i)
      scope.locations.push_back({OpId{i}, location});
  return true;
}

/// `return %a, %b : t, t` and `"stablehlo.return"(%a) : (t) -> ()`
bool Reader::parseReturn(Scope &scope, bool isGeneric, std::vector<OpId> &returned) {
  OpText op;
  op.offset = lexer.place();
  if (isGeneric && !lexer.expect('('))
    return false;
  while (lexer.peek() == '%') {
    if (!parseOperand(scope, op))
      return false;
    if (!lexer.consume(','))
      break;
  }
  if ((isGeneric && !lexer.expect(')')) || !parseAttributes(op) ||
      (lexer.peek() == ':' && !parseTypes(op)) || !parseLocation(nullptr))
    return false;
  if (!op.hasOperandTypes)
    op.operandTypes = std::move(op.types);
  op.hasOperandTypes = op.hasOperandTypes || !op.operandTypes.empty();
  if (!checkOperandTypes(scope, op))
    return false;
  returned = std::move(op.operands);
  return true;
}

bool Reader::parseOperand(Scope &scope, OpText &op) {
  const uint32_t begin = lexer.place();
  std::string_view name;
  if (!lexer.valueName(name))
    return false;
  int64_t index = 0;
  if (lexer.peekRaw() == '#') {
    lexer.advance();
    if (!lexer.integer(index, "a result's number"))
      return false;
  }
  const Scope::Found found =
      scope.find(name, index < 0 ? SIZE_MAX : static_cast<size_t>(index), SourceLoc{begin});
  switch (found.status) {
  case Scope::Found::Value:
    break;
  case Scope::Found::Unknown:
    return lexer.fail(begin, fmt::format("%{} is not defined above", excerpt(name)));
  case Scope::Found::NoSuchResult:
    return lexer.fail(
        begin, fmt::format("result {} of %{}, which has {}", index, excerpt(name), found.results));
  case Scope::Found::NotCapturable:
    return lexer.fail(begin,
                      fmt::format("the region uses %{} of what encloses it, a reducer can use "
                                  "constants of there only",
                                  excerpt(name)),
                      DiagClass::Unsupported);
  }
  op.operands.push_back(found.op);
  op.operandOffsets.push_back(begin);
  return true;
}

bool Reader::parseAttributes(OpText &op) {
  return lexer.peek() != '{' || parseDictionary(lexer, '{', '}', attributeAliases, op.attributes);
}

/// `(t, t)` or `t`
bool Reader::parseTypeList(std::vector<Type> &out) {
  if (lexer.peek() != '(')
    return parseType(out.emplace_back());
  lexer.advance();
  while (lexer.peek() != ')')
    if ((!out.empty() && !lexer.expect(',')) || !parseType(out.emplace_back()))
      return false;
  lexer.advance();
  return true;
}

bool Reader::parseTypes(OpText &op) {
  if (!lexer.expect(':'))
    return false;
  std::vector<Type> first;
  if (lexer.peek() == '(') {
    if (!parseTypeList(first) || !lexer.consume("->"))
      return lexer.failExpected("'->'");
    op.hasOperandTypes = true;
    op.operandTypes = std::move(first);
    return parseTypeList(op.types);
  }
  do {
    if (!parseType(first.emplace_back()))
      return false;
  } while (lexer.consume(','));
  if (!lexer.consume("->")) {
    op.types = std::move(first);
    return true;
  }
  op.hasOperandTypes = true;
  op.operandTypes = std::move(first);
  return parseTypeList(op.types);
}

bool Reader::parseGenericOp(Scope &scope, OpText &op, const OpRow &row) {
  if (!lexer.expect('('))
    return false;
  while (lexer.peek() != ')')
    if ((!op.operands.empty() && !lexer.expect(',')) || !parseOperand(scope, op))
      return false;
  lexer.advance();
  if (lexer.peek() == '[')
    return lexer.fail(lexer.offset(), "branches to other blocks are not read",
                      DiagClass::Unsupported);
  if (lexer.consume('<') &&
      (!parseDictionary(lexer, '{', '}', attributeAliases, op.attributes) || !lexer.expect('>')))
    return false;
  if (lexer.consume('(')) {
    do {
      if (row.regions == RegionKind::Function)
        return lexer.fail(lexer.place(), fmt::format("{} has no region", op.name));
      if (!parseRegion(scope, op, row.regions, nullptr))
        return false;
    } while (lexer.consume(','));
    if (!lexer.expect(')'))
      return false;
  }
  if (!parseAttributes(op))
    return false;
  return lexer.peek() == ':' ? parseTypes(op) : lexer.failExpected("':'");
}

namespace {

/// The attribute that a key of the short form stands for.
std::string_view attributeOfKey(std::string_view keys, std::string_view key) {
  while (!keys.empty()) {
    const std::string_view entry = keys.substr(0, keys.find(' '));
    keys.remove_prefix(std::min(entry.size() + 1, keys.size()));
    const size_t colon = entry.find(':');
    if (entry.substr(0, colon) == key)
      return entry.substr(colon + 1);
  }
  return {};
}

} // namespace

/// Operands, words and `key = value` with commas between them, in parentheses or not; then the
/// attributes and the types.
bool Reader::parseShortOp(Scope &scope, OpText &op, const OpRow &row) {
  bool isOpen = false;
  size_t words = 0;
  while (true) {
    const char c = lexer.peek();
    const uint32_t begin = lexer.offset();
    if (c == '(' && !isOpen) {
      isOpen = true;
      lexer.advance();
      continue;
    }
    if (c == ')' && isOpen) {
      isOpen = false;
      lexer.advance();
      lexer.consume(',');
      continue;
    }
    if (c == '%') {
      if (!parseOperand(scope, op))
        return false;
      lexer.consume(',');
      continue;
    }
    const bool isWord = std::isalpha(static_cast<unsigned char>(c)) || c == '_';
    if (!isWord && c != '@' && c != '"')
      break;
    std::string_view key = isWord ? lexer.identifier() : std::string_view();
    Span value{begin, lexer.offset()};
    std::string number;
    if (isWord && lexer.consume('=')) {
      value.begin = lexer.place();
      if (!lexer.skipShortValue())
        return false;
    } else if (isWord && key == "loc") {
      lexer.rewind(begin);
      break;
    } else {
      if (!isWord && !lexer.skipShortValue())
        return false;
      number = std::to_string(words++);
      key = number;
    }
    value.end = lexer.offset();
    const std::string_view name = attributeOfKey(row.keys, key);
    if (name.empty())
      return lexer.fail(begin, fmt::format("{} has no '{}' here", op.name,
                                           excerpt(lexer.slice(begin, value.end))));
    if (!op.attributes.add(lexer, {name, begin, value, false}))
      return false;
    lexer.consume(',');
  }
  if (isOpen)
    return lexer.failExpected("')'");
  return parseAttributes(op) && (lexer.peek() != ':' || parseTypes(op));
}

/// Where the op says what its operands are, that must be so.
bool Reader::checkOperandTypes(Scope &scope, OpText &op) {
  if (!op.hasOperandTypes)
    return true;
  if (op.operandTypes.size() != op.operands.size())
    return lexer.fail(op.offset, fmt::format("{} operands, of {} the types are given",
                                             op.operands.size(), op.operandTypes.size()));
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Shape &shape = scope.graph.op(op.operands[i]).shape;
    if (!shape.sameDimsAndType(op.operandTypes[i].shape))
      return lexer.fail(op.operandOffsets[i],
                        fmt::format("the operand is {}, not {}", briefText(shape),
                                    briefText(op.operandTypes[i].shape)));
  }
  return true;
}

namespace {

/// What XLA leaves at ops when it makes StableHLO of HLO, as torch_xla prints it: the shape and the
/// layout that the op had there.
bool isOfXla(std::string_view attribute) {
  return attribute == "xla_shape" || attribute == "result_layout";
}

} // namespace

bool Reader::complete(Scope &scope, OpText &op, const OpRow &row) {
  size_t named = 0;
  for (const ResultName &result : op.resultNames)
    named += result.count;
  // `select %p, %a, %b : t, t` lists more than it results in; a single type is all operands', too.
  if (!op.hasOperandTypes && op.types.size() > 1 && named == 1)
    op.types.erase(op.types.begin(), op.types.end() - 1);
  Lowering lowering(*this, scope, op, row);
  if (op.types.size() != named && named != 0)
    return lowering.fail(
        fmt::format("{} results are named, {} have types", named, op.types.size()));
  if (!row.lower(lowering))
    return lexer.fail(op.offset, fmt::format("{} is not read", op.name), DiagClass::Internal);
  if (error.isSet)
    return false;
  for (const Attribute &attribute : op.attributes.all())
    if (!attribute.isUsed && attribute.name.find('.') == std::string_view::npos &&
        attribute.name != "result_accuracy" && !isOfXla(attribute.name))
      return lexer.fail(attribute.offset,
                        fmt::format("{} has no attribute '{}'", op.name, excerpt(attribute.name)));
  return bindResults(scope, op, lowering.values, lowering.packed);
}

bool Reader::bindResults(Scope &scope, const OpText &op, const std::vector<OpId> &values,
                         OpId tuple) {
  size_t next = 0;
  for (const ResultName &result : op.resultNames) {
    const bool isNew =
        tuple.isValid()
            ? scope.bindTuple(result.name, tuple, next, result.count)
            : scope.bind(
                  result.name,
                  std::vector<OpId>(values.begin() + static_cast<ptrdiff_t>(next),
                                    values.begin() + static_cast<ptrdiff_t>(next + result.count)));
    if (!isNew)
      return lexer.fail(result.offset, fmt::format("%{} is defined twice", excerpt(result.name)));
    next += result.count;
  }
  return true;
}

} // namespace tilewright::stablehlo
