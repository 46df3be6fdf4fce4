// Modules and functions.
#include "analysis/import/stablehlo/reader.h"

#include "analysis/import/hlo_attribute_printer.h"
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/import/stablehlo/stablehlo_text.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::stablehlo {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

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
  if (!lexer.expect('{'))
    return false;
  if (lexer.consume('^')) {
    std::vector<Argument> arguments;
    if (lexer.identifier().empty())
      return lexer.failExpected("a block's label");
    if (lexer.peek() == '(' && !parseFunctionArguments(arguments, function))
      return false;
    if (!lexer.expect(':'))
      return false;
    startFunction(scope, arguments);
  }
  if (!parseBlock(scope, returned) || !lexer.expect(')'))
    return false;
  lexer.rewind(end);
  return addFunction(std::move(name), std::move(function), scope, returned);
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

// What follows once a module is complete.

bool Reader::endModule() {
  if (!isExplicit && functions.empty())
    return true; // none is open
  if (functions.empty())
    return lexer.fail(module.loc.offset, "the module has no function");
  module.source = source;
  if (!module.loc.isKnown())
    module.loc = SourceLoc{functions.at(order.front()).offset};
  if (!resolveCalls() || !chooseEntry())
    return false;
  setAttributes();
  dropUnreached();
  modules.push_back(std::move(module));
  module = Module();
  functions.clear();
  order.clear();
  graphNames.clear();
  calls.clear();
  locations.clear();
  namedGraphs.clear();
  isExplicit = false;
  return true;
}

bool Reader::resolveCalls() {
  for (const Call &pending : calls) {
    auto it = functions.find(pending.call.function);
    if (it == functions.end())
      return lexer.fail(pending.call.offset,
                        fmt::format("there is no function @{}", excerpt(pending.call.function)));
    if (it->second.isDeclaration)
      return lexer.fail(pending.call.offset,
                        fmt::format("function @{} has no body", excerpt(pending.call.function)),
                        DiagClass::Unsupported);
    it->second.isCalled = true;
    module.graph(pending.graph)
        .op(pending.call.op)
        .called.push_back({pending.call.role, it->second.graph});
  }
  return true;
}

bool Reader::chooseEntry() {
  auto only = [&](auto isCandidate) {
    const Function *found = nullptr;
    for (const std::string &name : order) {
      const Function &function = functions.at(name);
      if (function.isDeclaration || !isCandidate(name, function))
        continue;
      if (found)
        return static_cast<const Function *>(nullptr);
      found = &function;
    }
    return found;
  };
  const Function *entry = only([](auto &name, auto &) { return name == "main"; });
  if (!entry)
    entry = only([](auto &, auto &f) { return f.isPublic; });
  if (!entry)
    entry = only([](auto &, auto &f) { return !f.isCalled; });
  if (!entry)
    return lexer.fail(functions.at(order.front()).offset,
                      fmt::format("of {} functions none is @main, and several could be it; name "
                                  "one @main",
                                  order.size()));
  module.entryId = entry->graph;
  addDonations(*entry);
  return true;
}

void Reader::addDonations(const Function &entry) {
  const bool isTuple = module.entry().op(module.entry().root()).shape.isTuple;
  std::string aliases, donors;
  for (auto [argument, output] : entry.aliases)
    aliases += fmt::format("{}{{{}}}: ({}, {{}}, may-alias)", aliases.empty() ? " " : ", ",
                           isTuple ? std::to_string(output) : "", argument);
  for (size_t argument : entry.donated)
    donors += fmt::format("{}({}, {{}})", donors.empty() ? " " : ", ", argument);
  if (!aliases.empty())
    module.attributes.push_back({"input_output_alias", "{" + aliases + " }", {}});
  if (!donors.empty())
    module.attributes.push_back({"buffer_donor", "{" + donors + " }", {}});
  if (!module.attributes.empty() && module.name.empty())
    module.name = "module"; // attributes stand on the line of the name
}

Reader::Place Reader::placeOf(std::string_view text, unsigned depth) {
  constexpr unsigned mostAliases = 16;
  Place place;
  const size_t first = text.find_first_not_of(" \n\t");
  if (depth > mostAliases || first == std::string_view::npos)
    return place;
  text.remove_prefix(first);
  if (text.starts_with('#')) {
    auto it = attributeAliases.find(text.substr(1, text.find_first_of(" )\n,(") - 1));
    if (it == attributeAliases.end())
      return place;
    std::string_view value = lexer.slice(it->second);
    const size_t open = value.find('(');
    return value.starts_with("loc") && open != std::string_view::npos
               ? placeOf(value.substr(open + 1), depth + 1)
               : place;
  }
  if (!text.starts_with('"'))
    return place;
  const auto at = static_cast<uint32_t>(text.data() - source->text().data());
  MlirLexer in = lexer.part({at, at + static_cast<uint32_t>(text.size())});
  std::string string;
  if (!in.string(string))
    return place;
  if (in.peek() == ':') { // "file":line:column
    in.advance();
    place.file = std::move(string);
    in.integer(place.line, "a line");
    return place;
  }
  if (in.peek() == '(')
    place = placeOf(in.slice(in.offset() + 1, at + static_cast<uint32_t>(text.size())), depth + 1);
  place.name = std::move(string);
  return place;
}

/// Ops get the text of their attributes, as if they had been read from HLO.
void Reader::setAttributes() {
  for (const Location &pending : locations) {
    const Place place = placeOf(pending.location.text);
    std::string metadata;
    if (!place.name.empty())
      metadata = "op_name=" + quoted(place.name);
    if (!place.file.empty())
      metadata += fmt::format("{}source_file={} source_line={}", metadata.empty() ? "" : " ",
                              quoted(place.file), place.line);
    Op &op = module.graph(pending.graph).op(pending.location.op);
    if (!metadata.empty())
      op.rawAttrs.push_back({"metadata", "{" + metadata + "}", op.loc});
  }
  for (uint32_t g = 0; g < module.all().size(); ++g) {
    Graph &graph = module.graph(GraphId{g});
    for (uint32_t i = 0; i < graph.size(); ++i) {
      Op &op = graph.op(OpId{i});
      std::vector<RawAttribute> kept = std::move(op.rawAttrs);
      op.rawAttrs.clear();
      for (auto &[name, text] : typedAttributes(module, op))
        if (std::none_of(kept.begin(), kept.end(), [&](auto &raw) { return raw.name == name; }))
          op.rawAttrs.push_back({name, std::move(text), op.loc});
      op.rawAttrs.insert(op.rawAttrs.end(), std::make_move_iterator(kept.begin()),
                         std::make_move_iterator(kept.end()));
    }
  }
}

void Reader::dropUnreached() {
  std::vector<bool> isReached(module.all().size());
  std::vector<GraphId> open = {module.entryId};
  isReached[module.entryId.index] = true;
  while (!open.empty()) {
    const GraphId id = open.back();
    open.pop_back();
    for (const Op &op : module.graph(id).all())
      for (const CalledGraph &called : op.called)
        if (!isReached[called.graph.index]) {
          isReached[called.graph.index] = true;
          open.push_back(called.graph);
        }
  }
  Module kept;
  kept.name = module.name;
  kept.attributes = std::move(module.attributes);
  kept.loc = module.loc;
  kept.source = module.source;
  std::vector<GraphId> now(module.all().size());
  for (uint32_t g = 0; g < module.all().size(); ++g)
    if (isReached[g])
      now[g] = kept.add(std::move(module.graph(GraphId{g})));
  for (uint32_t g = 0; g < kept.all().size(); ++g) {
    Graph &graph = kept.graph(GraphId{g});
    for (uint32_t i = 0; i < graph.size(); ++i)
      for (CalledGraph &called : graph.op(OpId{i}).called)
        called.graph = now[called.graph.index];
  }
  kept.entryId = now[module.entryId.index];
  module = std::move(kept);
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
