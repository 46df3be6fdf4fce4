// Modules and functions.
#include "analysis/import/stablehlo/reader.h"

#include "analysis/import/stablehlo/lowering.h"
#include "analysis/import/stablehlo/stablehlo_text.h"
#include "analysis/support/printable.h"

#include <fmt/format.h>

namespace tilewright::stablehlo {

Reader::Reader(std::shared_ptr<const SourceBuffer> source)
    : lexer(source->text(), 0, static_cast<uint32_t>(source->text().size()), error),
      source(std::move(source)) {}

llvm::Expected<std::vector<Module>> Reader::run() {
  // Errors in comments are recorded without stopping, hence the second question.
  if (!parseTop() || error.isSet)
    return makeError(diagAt(*source, SourceLoc{error.offset}, std::move(error.message), error.cls));
  return std::move(modules);
}

std::string Reader::graphName(const std::string &base) {
  std::string name = hloName(base);
  const std::string stem = name;
  while (!graphNames.emplace(name, 1).second)
    name = fmt::format("{}.{}", stem, ++graphNames[stem]);
  return name;
}

GraphId Reader::finish(Scope &scope, OpId root) {
  if (scope.isOverLimit())
    lexer.fail(lexer.offset(), fmt::format("the file has over {} ops, or over {} tensors in their "
                                           "types",
                                           hlo_limits::ops, hlo_limits::shapeNodes));
  scope.graph.setRoot(root);
  const GraphId id = module.add(std::move(scope.graph));
  for (PendingCall &call : scope.calls)
    calls.push_back({id, std::move(call)});
  for (const PendingLocation &location : scope.locations)
    locations.push_back({id, location});
  return id;
}

GraphId Reader::named(const std::string &name, Graph (*make)(std::string, Opcode, DType),
                      Opcode opcode, DType type, SourceLoc loc) {
  auto [it, isNew] = namedGraphs.emplace(name, GraphId{});
  if (isNew) {
    Graph graph = make(graphName(name), opcode, type);
    for (uint32_t i = 0; i < graph.size(); ++i)
      graph.op(OpId{i}).loc = loc;
    it->second = module.add(std::move(graph));
  }
  return it->second;
}

bool Reader::parseTop() {
  while (!lexer.atEnd()) {
    const uint32_t begin = lexer.offset();
    if (lexer.peek() == '#' || lexer.peek() == '!') { // of locations they follow the module
      if (!parseAlias())
        return false;
    } else if (lexer.consume("{-#")) { // resources: values of constants, not read
      while (!lexer.atEnd() && !lexer.consume("#-}"))
        if (lexer.peek() == '"' ? !lexer.skipString() : (lexer.advance(), false))
          return false;
    } else if (lexer.consumeIdentifier("module") || lexer.consumeIdentifier("builtin.module")) {
      if (!endModule() || !parseModule(begin, false))
        return false;
    } else if (lexer.consume("\"builtin.module\"")) {
      if (!endModule() || !parseModule(begin, true))
        return false;
    } else if ((isExplicit && !endModule()) || !parseModuleItem()) {
      return false;
    }
  }
  if (!endModule())
    return false;
  return !modules.empty() || lexer.fail(lexer.offset(), "there is no function");
}

/// `#name = attribute` or `!name = type`
bool Reader::parseAlias() {
  const bool isType = lexer.peek() == '!';
  lexer.advance();
  const uint32_t at = lexer.offset();
  const std::string name(lexer.identifier());
  if (name.empty() || !lexer.expect('='))
    return lexer.failExpected("a name and '='");
  if (isType) {
    Type type;
    if (!parseType(type))
      return false;
    return typeAliases.emplace(name, std::move(type)).second ||
           lexer.fail(at, fmt::format("!{} is defined twice", excerpt(name)));
  }
  Span value{lexer.place(), 0};
  const bool isLocation = lexer.peekIdentifier() == "loc";
  if (isLocation)
    lexer.identifier();
  if (isLocation ? lexer.peek() != '(' || !lexer.skipGroup() : !lexer.skipShortValue())
    return lexer.failExpected("an attribute");
  if (!isLocation) { // dense<…> : type, array<…>, affine_map<…>
    if (lexer.peek() == '<' && !lexer.skipGroup())
      return false;
    Type ignored;
    if (lexer.consume(':') && !parseType(ignored))
      return false;
  }
  value.end = lexer.offset();
  return attributeAliases.emplace(name, value).second ||
         lexer.fail(at, fmt::format("#{} is defined twice", excerpt(name)));
}

bool Reader::parseModule(uint32_t begin, bool isGeneric) {
  isExplicit = true;
  module.loc = SourceLoc{begin};
  Attributes attributes;
  std::string name;
  if (isGeneric) {
    if (!lexer.expect('(') || !lexer.expect(')'))
      return false;
    if (lexer.consume('<') &&
        (!parseDictionary(lexer, '{', '}', attributeAliases, attributes) || !lexer.expect('>')))
      return false;
    if (!lexer.expect('(') || !lexer.expect('{') || !parseModuleBody('}') || !lexer.expect(')'))
      return false;
    if (lexer.peek() == '{' && !parseDictionary(lexer, '{', '}', attributeAliases, attributes))
      return false;
    OpText ignored;
    if (lexer.peek() == ':' && !parseTypes(ignored))
      return false;
    if (const Attribute *attribute = attributes.take("sym_name"))
      if (!lexer.part(attribute->value).string(name))
        return false;
  } else {
    if (lexer.peek() == '@' && !lexer.symbol(name))
      return false;
    if (lexer.consumeIdentifier("attributes") &&
        !parseDictionary(lexer, '{', '}', attributeAliases, attributes))
      return false;
    if (!lexer.expect('{') || !parseModuleBody('}'))
      return false;
  }
  if (!name.empty())
    module.name = hloName(name);
  for (auto [attribute, hlo] : {std::pair("mhlo.num_replicas", "replica_count"),
                                std::pair("mhlo.num_partitions", "num_partitions")})
    if (const Attribute *given = attributes.take(attribute)) {
      int64_t count;
      if (!readInteger(lexer.part(given->value), count))
        return false;
      if (count > 1)
        module.attributes.push_back({hlo, std::to_string(count), {}});
    }
  return parseLocation(nullptr);
}

bool Reader::parseModuleBody(char end) {
  while (lexer.peek() != end) {
    if (lexer.atEnd())
      return lexer.failExpected(fmt::format("'{}'", end));
    if (lexer.peek() == '^') { // ^bb0:
      lexer.advance();
      if (lexer.identifier().empty() || !lexer.expect(':'))
        return lexer.failExpected("a block's label");
      continue;
    }
    if (!parseModuleItem())
      return false;
  }
  lexer.advance();
  return true;
}

bool Reader::parseModuleItem() {
  const uint32_t begin = lexer.place();
  if (lexer.consume("\"func.func\""))
    return parseGenericFunction();
  if (lexer.consume("\"sdy.mesh\"")) {
    OpText ignored;
    return lexer.expect('(') && lexer.expect(')') && (lexer.peek() != '<' || lexer.skipGroup()) &&
           parseAttributes(ignored) && parseTypes(ignored) && parseLocation(nullptr);
  }
  const std::string_view word = lexer.identifier();
  if (word == "func.func" || word == "func")
    return parseFunction();
  if (word == "sdy.mesh") { // @mesh = <["x"=2]>: how devices are numbered
    std::string ignored;
    return lexer.symbol(ignored) && lexer.expect('=') && lexer.skipShortValue() &&
           (lexer.peek() != '{' || lexer.skipGroup()) && parseLocation(nullptr);
  }
  lexer.rewind(begin);
  if (word == "module" || word == "builtin.module")
    return lexer.fail(begin, "a module inside a module is not read", DiagClass::Unsupported);
  if (!word.empty())
    return lexer.fail(begin, fmt::format("'{}' is not read here; func.func is", excerpt(word)),
                      word.find('.') == std::string_view::npos ? DiagClass::BadInput
                                                               : DiagClass::Unsupported);
  return lexer.failExpected("func.func");
}

bool Reader::parseArgument(Argument &out) {
  out.offset = lexer.place();
  return lexer.valueName(out.name) && lexer.expect(':') && parseType(out.type);
}

/// `{jax.buffer_donor = true, tf.aliasing_output = 0 : i32}`
bool Reader::parseArgumentAttributes(size_t argument, Function &function) {
  Attributes attributes;
  if (!parseDictionary(lexer, '{', '}', attributeAliases, attributes))
    return false;
  if (const Attribute *alias = attributes.take("tf.aliasing_output"))
    if (!readInteger(lexer.part(alias->value), function.aliases.emplace_back(argument, 0).second))
      return false;
  if (const Attribute *donor = attributes.take("jax.buffer_donor")) {
    bool isDonated = false;
    if (!readFlag(lexer.part(donor->value), isDonated))
      return false;
    if (isDonated)
      function.donated.push_back(argument);
  }
  return true;
}

bool Reader::parseFunctionArguments(std::vector<Argument> &arguments, Function &function) {
  if (!lexer.expect('('))
    return false;
  while (lexer.peek() != ')') {
    if (!arguments.empty() && !lexer.expect(','))
      return false;
    Argument &argument = arguments.emplace_back();
    if (lexer.peek() != '%') { // a declaration has types only
      function.isDeclaration = true;
      argument.offset = lexer.place();
      if (!parseType(argument.type))
        return false;
    } else if (!parseArgument(argument)) {
      return false;
    }
    if (lexer.peek() == '{' && !parseArgumentAttributes(arguments.size() - 1, function))
      return false;
    if (!parseLocation(&argument.location))
      return false;
  }
  lexer.advance();
  return true;
}

/// `-> type` or `-> (type {…}, type)`
bool Reader::parseFunctionResults(std::vector<Type> &results) {
  if (!lexer.consume("->"))
    return true;
  if (!lexer.consume('('))
    return parseType(results.emplace_back());
  while (lexer.peek() != ')') {
    Attributes ignored;
    if ((!results.empty() && !lexer.expect(',')) || !parseType(results.emplace_back()) ||
        (lexer.peek() == '{' && !parseDictionary(lexer, '{', '}', attributeAliases, ignored)))
      return false;
  }
  lexer.advance();
  return true;
}

void Reader::startFunction(Scope &scope, const std::vector<Argument> &arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    Op op;
    op.opcode = Opcode::Parameter;
    op.shape = arguments[i].type.shape;
    op.attrs.parameterNumber = static_cast<int64_t>(i);
    op.loc = SourceLoc{arguments[i].offset};
    const OpId id = scope.add(std::move(op), arguments[i].name);
    if (!arguments[i].location.empty())
      scope.locations.push_back({id, arguments[i].location});
    if (!scope.bind(arguments[i].name, {id}))
      lexer.fail(arguments[i].offset,
                 fmt::format("%{} is defined twice", excerpt(arguments[i].name)));
  }
}

bool Reader::parseFunction() {
  Function function;
  for (std::string_view visibility : {"public", "private", "nested"})
    if (lexer.consumeIdentifier(visibility))
      function.isPublic = visibility == "public";
  function.offset = lexer.place();
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Type> results;
  Attributes ignored;
  if (!lexer.symbol(name) || !parseFunctionArguments(arguments, function) ||
      !parseFunctionResults(results) ||
      (lexer.consumeIdentifier("attributes") &&
       !parseDictionary(lexer, '{', '}', attributeAliases, ignored)))
    return false;
  if (lexer.peek() != '{') {
    function.isDeclaration = true;
    return parseLocation(nullptr) && declare(name, std::move(function));
  }
  if (function.isDeclaration)
    return lexer.fail(arguments.front().offset, "expected an argument's name");
  Scope scope(graphName(name), nullptr, RegionKind::Function, nullptr, totals);
  startFunction(scope, arguments);
  std::vector<OpId> returned;
  const uint32_t body = lexer.place();
  if (!lexer.expect('{') || !parseBlock(scope, returned) || !parseLocation(nullptr))
    return false;
  if (returned.size() != results.size())
    return lexer.fail(body, fmt::format("@{} returns {} values, its type says {}", excerpt(name),
                                        returned.size(), results.size()));
  for (size_t i = 0; i < results.size(); ++i)
    if (const Op &op = scope.graph.op(returned[i]); !op.shape.sameDimsAndType(results[i].shape))
      return lexer.fail(body,
                        fmt::format("@{} returns {} as result {}, its type says {}", excerpt(name),
                                    briefText(op.shape), i, briefText(results[i].shape)));
  return addFunction(std::move(name), std::move(function), scope, returned);
}

/// `"func.func"() <{sym_name = "f", …}> ({ ^bb0(%a: t): … }) {…} : () -> ()`; older text has all
/// attributes behind the region.
bool Reader::parseGenericFunction() {
  Attributes attributes;
  if (!lexer.expect('(') || !lexer.expect(')'))
    return false;
  if (lexer.consume('<') &&
      (!parseDictionary(lexer, '{', '}', attributeAliases, attributes) || !lexer.expect('>')))
    return false;
  const uint32_t region = lexer.place();
  if (lexer.peek() != '(' || !lexer.skipGroup())
    return lexer.failExpected("'('");
  if (lexer.peek() == '{' && !parseDictionary(lexer, '{', '}', attributeAliases, attributes))
    return false;
  OpText ignored;
  if (!parseTypes(ignored) || !parseLocation(nullptr))
    return false;
  const uint32_t end = lexer.offset();
  Function function;
  function.offset = region;
  std::string name, visibility;
  const Attribute *given = attributes.take("sym_name");
  if (!given)
    return lexer.fail(region, "the function has no sym_name");
  if (!lexer.part(given->value).string(name))
    return false;
  if (const Attribute *attribute = attributes.take("sym_visibility")) {
    if (!lexer.part(attribute->value).string(visibility))
      return false;
    function.isPublic = visibility == "public";
  }
  lexer.rewind(region);
  lexer.advance();
  if (lexer.peek() == ')') {
    lexer.rewind(end);
    function.isDeclaration = true;
    return declare(name, std::move(function));
  }
  Scope scope(graphName(name), nullptr, RegionKind::Function, nullptr, totals);
  std::vector<OpId> returned;
  std::vector<Argument> arguments;
  if (!lexer.expect('{'))
    return false;
  if (lexer.consume('^')) {
    if (lexer.identifier().empty())
      return lexer.failExpected("a block's label");
    if (lexer.peek() == '(' && !parseFunctionArguments(arguments, function))
      return false;
    if (!lexer.expect(':'))
      return false;
    startFunction(scope, arguments);
  }
  if (!parseBlock(scope, returned) || !lexer.expect(')') ||
      !checkFunctionType(attributes, scope, arguments, returned))
    return false;
  lexer.rewind(end);
  return addFunction(std::move(name), std::move(function), scope, returned);
}

/// `function_type = (t, t) -> t` must be what the arguments and the results are.
bool Reader::checkFunctionType(Attributes &attributes, const Scope &scope,
                               const std::vector<Argument> &arguments,
                               const std::vector<OpId> &returned) {
  const Attribute *attribute = attributes.take("function_type");
  if (!attribute)
    return true;
  std::vector<Type> from, to;
  lexer.rewind(attribute->value.begin);
  if (!parseTypeList(from))
    return false;
  if (!lexer.consume("->"))
    return lexer.failExpected("'->'");
  if (!parseTypeList(to))
    return false;
  bool fits = from.size() == arguments.size() && to.size() == returned.size();
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = from[i].shape.sameDimsAndType(arguments[i].type.shape);
  for (size_t i = 0; fits && i < to.size(); ++i)
    fits = to[i].shape.sameDimsAndType(scope.graph.op(returned[i]).shape);
  return fits || lexer.fail(attribute->offset, "the function's type is not that of its arguments "
                                               "and results");
}

bool Reader::declare(std::string name, Function function) {
  const uint32_t at = function.offset;
  order.push_back(name);
  return functions.emplace(name, std::move(function)).second ||
         lexer.fail(at, fmt::format("function @{} is defined twice", excerpt(name)));
}

bool Reader::addFunction(std::string name, Function function, Scope &scope,
                         const std::vector<OpId> &returned) {
  function.graph = finish(scope, scope.rootOf(returned, SourceLoc{function.offset}));
  return !error.isSet && declare(std::move(name), std::move(function));
}

} // namespace tilewright::stablehlo

namespace tilewright {

llvm::Expected<std::vector<Module>>
parseStableHloModules(std::shared_ptr<const SourceBuffer> source) {
  if (source->text().size() > hlo_limits::bytes)
    return makeError(DiagClass::BadInput, "{}: {} bytes, at most {} are read", source->name(),
                     source->text().size(), hlo_limits::bytes);
  return stablehlo::Reader(std::move(source)).run();
}

} // namespace tilewright
