#include "analysis/import/hlo_attribute_checks.h"
#include "analysis/import/hlo_attributes.h"
#include "analysis/import/hlo_shape.h"
#include "analysis/import/hlo_text.h"
#include "analysis/ir/infer_shape.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tilewright {

namespace {

bool isTableName(std::string_view word) {
  return word == "FileNames" || word == "FunctionNames" || word == "FileLocations" ||
         word == "StackFrames";
}

/// "reduce-scatter-start" is short for an async-start that runs a reduce-scatter.
std::optional<Opcode> parseAsyncOpcode(std::string_view text, std::optional<Opcode> &runs) {
  constexpr std::pair<std::string_view, Opcode> endings[] = {{"-start", Opcode::AsyncStart},
                                                             {"-update", Opcode::AsyncUpdate},
                                                             {"-done", Opcode::AsyncDone}};
  for (auto [ending, opcode] : endings)
    if (text.ends_with(ending) && (runs = parseOpcode(text.substr(0, text.size() - ending.size()))))
      return opcode;
  return std::nullopt;
}

class HloParser {
public:
  /// Reads the module that begins at `begin`.
  HloParser(std::shared_ptr<const SourceBuffer> source, uint32_t begin)
      : source(std::move(source)), text(this->source->text()),
        lexer(text, begin, static_cast<uint32_t>(text.size()), error) {}

  llvm::Expected<Module> run();
  /// Where the next module begins, or the text's end.
  uint32_t next() { return lexer.place(); }

private:
  /// A call whose computation is looked up at the end.
  struct PendingCall {
    GraphId graph;
    OpId op;
    HloCallReference reference;
  };

  /// The computation that is being read.
  struct Scope {
    std::string_view name;
    std::unordered_map<std::string_view, OpId> ops;
    std::vector<Op> read;
    OpId root;
    std::vector<std::pair<uint32_t, HloCallReference>> calls; ///< by op index
    bool hasResultShape = false;
    Shape result;
    std::vector<Shape> parameters;
    uint32_t signatureOffset = 0;
    std::vector<std::pair<std::string_view, uint32_t>> predecessors; ///< names and their offsets
  };

  bool parseModule();
  bool parseHeader();
  bool parseTable();
  bool parseComputation();
  bool parseSignature(Scope &scope, std::string &signature);
  bool checkSignature(const Scope &scope, const Graph &graph);
  bool parseOp(Scope &scope);
  bool startsOpcode();
  bool findShape(const Scope &scope, Op &op);
  bool parseOpcodeAndOperands(Scope &scope, Op &op, bool hasShape);
  bool parseLiteral(Op &op);
  bool parseOperands(Scope &scope, Op &op);
  bool parseOpAttributes(Scope &scope, Op &op, std::vector<HloCallReference> &calls);
  bool parsePredecessors(Scope &scope, HloLexer value);
  bool checkPredecessors(const Scope &scope);
  bool parseRawAttribute(RawAttribute &out, uint32_t &valueBegin);
  bool resolveCalls();
  bool checkEntryLayout();

  std::shared_ptr<const SourceBuffer> source;
  std::string_view text;
  HloParseError error;
  HloLexer lexer;
  Module module;
  std::vector<PendingCall> pending;
  size_t shapeNodes = 0, opCount = 0;
  uint32_t entryLayoutBegin = 0, entryLayoutEnd = 0; ///< of the header's attribute; empty if none
};

llvm::Expected<Module> HloParser::run() {
  module.source = source;
  module.loc = SourceLoc{lexer.place()};
  // Errors in comments are recorded without stopping, hence the second question.
  if (!parseModule() || error.isSet)
    return makeError(diagAt(*source, SourceLoc{error.offset}, std::move(error.message), error.cls));
  return std::move(module);
}

bool HloParser::parseModule() {
  if (lexer.peekWord() == "HloModule" && !parseHeader())
    return false;
  while (!lexer.atEnd()) {
    uint32_t begin = lexer.offset();
    std::string_view word = lexer.peekWord();
    if (word == "HloModule")
      break; // the next one
    bool isTable = false;
    if (isTableName(word)) {
      lexer.word();
      isTable = lexer.peek() != '(' && lexer.peek() != '{';
      lexer.rewind(begin);
    }
    if (!(isTable ? parseTable() : parseComputation()))
      return false;
  }
  if (module.all().empty())
    return lexer.fail(lexer.offset(), "the module has no computation");
  if (!module.entryId.isValid())
    module.entryId = GraphId{static_cast<uint32_t>(module.all().size() - 1)};
  return checkEntryLayout() && resolveCalls();
}

bool HloParser::parseHeader() {
  lexer.word(); // HloModule
  uint32_t begin = lexer.place();
  while (lexer.peekRaw() > ' ' &&
         std::string_view(",(){}[]\"=").find(lexer.peekRaw()) == std::string_view::npos)
    lexer.advance();
  module.name = lexer.slice(begin, lexer.offset());
  if (module.name.empty())
    return lexer.failExpected("the module's name");
  while (lexer.consume(',')) {
    uint32_t valueBegin;
    if (!parseRawAttribute(module.attributes.emplace_back(), valueBegin))
      return false;
    if (module.attributes.back().name == "entry_computation_layout") {
      entryLayoutBegin = valueBegin;
      entryLayoutEnd = lexer.offset();
    }
  }
  return true;
}

/// A table of source positions, `FileNames` and so on: numbered rows, kept verbatim.
bool HloParser::parseTable() {
  uint32_t begin = lexer.offset(), end;
  lexer.word();
  end = lexer.offset();
  while (lexer.peek() >= '0' && lexer.peek() <= '9') {
    int64_t row;
    if (!lexer.integer(row, "a row's number"))
      return false;
    if (lexer.peek() == '"') {
      if (!lexer.skipString())
        return false;
    } else if (lexer.peek() == '{') {
      if (!lexer.skipBalanced())
        return false;
    } else {
      return lexer.failExpected("a string or '{'");
    }
    end = lexer.offset();
  }
  module.preamble += lexer.slice(begin, end);
  module.preamble += "\n\n";
  return true;
}

bool HloParser::parseComputation() {
  uint32_t begin = lexer.offset();
  bool isEntry = false;
  if (lexer.peekWord() == "ENTRY") {
    lexer.word();
    isEntry = true;
    if (module.entryId.isValid())
      return lexer.fail(
          begin, fmt::format("a second ENTRY; {} is the entry already", module.entry().name()));
  }
  Scope scope;
  uint32_t nameOffset = lexer.place();
  if (!lexer.name(scope.name, "a computation"))
    return false;
  Graph graph{std::string(scope.name)};
  if (module.find(scope.name).isValid())
    return lexer.fail(nameOffset, fmt::format("computation %{} is defined twice", scope.name));
  graph.loc = SourceLoc{nameOffset};
  if (lexer.peek() == '(' && !parseSignature(scope, graph.signature))
    return false;
  uint32_t brace = lexer.place();
  if (!lexer.expect('{'))
    return false;
  while (lexer.peek() != '}') {
    if (lexer.atEnd())
      return lexer.fail(brace, fmt::format("computation %{} has no closing '}}'", scope.name));
    if (!parseOp(scope))
      return false;
  }
  uint32_t end = lexer.offset();
  lexer.advance(); // '}'
  if (scope.read.empty())
    return lexer.fail(end, fmt::format("computation %{} has no ops", scope.name));
  for (Op &op : scope.read)
    graph.add(std::move(op));
  graph.setRoot(scope.root.isValid() ? scope.root : OpId{static_cast<uint32_t>(graph.size() - 1)});
  if (!checkSignature(scope, graph) || !checkPredecessors(scope))
    return false;

  uint32_t suffixBegin = lexer.peek() == ',' ? lexer.offset() : 0, suffixEnd = suffixBegin;
  while (lexer.consume(',')) {
    RawAttribute attribute;
    uint32_t valueBegin;
    if (!parseRawAttribute(attribute, valueBegin))
      return false;
    suffixEnd = lexer.offset();
  }
  graph.suffix = lexer.slice(suffixBegin, suffixEnd);
  GraphId id = module.add(std::move(graph));
  if (isEntry)
    module.entryId = id;
  for (const auto &[op, reference] : scope.calls)
    pending.push_back({id, OpId{op}, reference});
  return true;
}

/// `(p: f32[2], q: (s32[], f32[])) -> f32[2]`
bool HloParser::parseSignature(Scope &scope, std::string &signature) {
  uint32_t begin = scope.signatureOffset = lexer.offset();
  lexer.advance(); // '('
  while (lexer.peek() != ')') {
    std::string_view name;
    if ((!scope.parameters.empty() && !lexer.expect(',')) ||
        !lexer.name(name, "a parameter's name") || !lexer.expect(':') ||
        !parseShape(lexer, scope.parameters.emplace_back(), shapeNodes))
      return false;
  }
  lexer.advance(); // ')'
  if (!lexer.consume("->"))
    return lexer.failExpected("'->'");
  if (!parseShape(lexer, scope.result, shapeNodes, /*layoutAfterSpace=*/false))
    return false;
  scope.hasResultShape = true;
  signature = lexer.slice(begin, lexer.offset());
  return true;
}

bool HloParser::checkSignature(const Scope &scope, const Graph &graph) {
  if (!scope.hasResultShape)
    return true;
  const Shape &root = graph.op(graph.root()).shape;
  if (!root.sameDimsAndType(scope.result))
    return lexer.fail(scope.signatureOffset,
                      fmt::format("the signature says {}, the root %{} is {}",
                                  briefText(scope.result), graph.op(graph.root()).name,
                                  briefText(root)));
  std::vector<OpId> parameters = graph.parameters();
  if (parameters.size() != scope.parameters.size())
    return lexer.fail(scope.signatureOffset,
                      fmt::format("the signature has {} parameters, the computation {}",
                                  scope.parameters.size(), parameters.size()));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Op &op = graph.op(parameters[i]);
    if (!op.shape.sameDimsAndType(scope.parameters[i]))
      return lexer.fail(scope.signatureOffset,
                        fmt::format("the signature says {} for parameter {}, %{} is {}",
                                    briefText(scope.parameters[i]), i, op.name,
                                    briefText(op.shape)));
  }
  return true;
}

bool HloParser::parseOp(Scope &scope) {
  if (++opCount > hlo_limits::ops)
    return lexer.fail(lexer.offset(), fmt::format("the module has over {} ops", hlo_limits::ops));
  bool isRoot = false;
  uint32_t begin = lexer.offset();
  if (lexer.peekWord() == "ROOT") {
    lexer.word();
    isRoot = lexer.peek() != '='; // else an op of that name
    if (!isRoot)
      lexer.rewind(begin);
  }
  OpId id{static_cast<uint32_t>(scope.read.size())};
  lexer.skipTrivia();
  Op op;
  op.loc = SourceLoc{lexer.offset()};
  std::string_view name;
  if (!lexer.name(name, "an op"))
    return false;
  op.name = name;
  if (!scope.ops.emplace(name, id).second)
    return lexer.fail(op.loc.offset,
                      fmt::format("op %{} is defined twice in %{}", name, scope.name));
  if (isRoot && scope.root.isValid())
    return lexer.fail(begin, fmt::format("a second ROOT; %{} is the root already",
                                         scope.read[scope.root.index].name));
  if (isRoot)
    scope.root = id;
  std::vector<HloCallReference> calls;
  if (!lexer.expect('='))
    return false;
  // `y = abs(x)`: the shape may be left out where operands and attributes tell it.
  const bool hasShape = !startsOpcode();
  if ((hasShape && !parseShape(lexer, op.shape, shapeNodes)) ||
      !parseOpcodeAndOperands(scope, op, hasShape) || !parseOpAttributes(scope, op, calls) ||
      !hasNeededAttributes(lexer, op) || !(hasShape || findShape(scope, op)))
    return false;
  for (const HloCallReference &call : calls)
    scope.calls.emplace_back(id.index, call);
  scope.read.push_back(std::move(op));
  return true;
}

bool HloParser::startsOpcode() {
  std::string_view word = lexer.peekWord();
  std::optional<Opcode> runs;
  return lexer.peekRaw(static_cast<uint32_t>(word.size())) == '(' &&
         (parseOpcode(word) || parseAsyncOpcode(word, runs));
}

bool HloParser::findShape(const Scope &scope, Op &op) {
  std::vector<const Shape *> operands;
  for (OpId id : op.operands)
    operands.push_back(&scope.read[id.index].shape);
  std::optional<Shape> shape = inferShape(op, operands);
  if (!shape || (!shape->isTuple && !shape->isUnbounded() && !shape->byteSize()))
    return lexer.fail(op.loc.offset,
                      fmt::format("%{} has no shape, and what {} results in does not follow from "
                                  "its operands; write the shape in front of {}",
                                  op.name, toString(op.opcode), toString(op.opcode)));
  shapeNodes += 1 + shape->elements.size();
  op.shape = std::move(*shape);
  return true;
}

bool HloParser::parseOpcodeAndOperands(Scope &scope, Op &op, bool hasShape) {
  uint32_t begin = lexer.place();
  std::string_view word = lexer.word();
  if (word.empty())
    return lexer.failExpected("an opcode");
  std::optional<Opcode> opcode = parseOpcode(word);
  if (!opcode)
    opcode = parseAsyncOpcode(word, op.attrs.asyncOpcode);
  if (!opcode)
    return lexer.fail(begin, fmt::format("'{}' is not an opcode", excerpt(word)));
  op.opcode = *opcode;
  if (lexer.peek() != '(')
    return lexer.failExpected("'('");
  if (!hasShape && (op.opcode == Opcode::Constant || op.opcode == Opcode::Parameter))
    return lexer.fail(begin, fmt::format("a {} needs its shape in front of it", word));
  if (op.opcode == Opcode::Constant)
    return parseLiteral(op);
  lexer.advance();
  if (op.opcode == Opcode::Parameter)
    return lexer.integer(op.attrs.parameterNumber, "the parameter's number") && lexer.expect(')');
  return parseOperands(scope, op);
}

bool HloParser::parseLiteral(Op &op) {
  uint32_t begin = lexer.offset() + 1;
  if (!lexer.skipBalanced())
    return false;
  uint32_t end = lexer.offset() - 1;
  HloLexer literal = lexer.part(begin, end);
  literal.skipTrivia();
  std::string_view kept = lexer.slice(literal.offset(), end);
  size_t last = kept.find_last_not_of(" \t\r\n");
  op.literal = kept.substr(0, last == std::string_view::npos ? 0 : last + 1);
  return checkLiteral(literal, op.shape);
}

bool HloParser::parseOperands(Scope &scope, Op &op) {
  while (lexer.peek() != ')') {
    if (!op.operands.empty() && !lexer.expect(','))
      return false;
    uint32_t place = lexer.place();
    Shape written;
    bool hasShape = looksLikeShape(lexer);
    if (hasShape && !parseShape(lexer, written, shapeNodes))
      return false;
    std::string_view name;
    if (!lexer.name(name, "an operand"))
      return false;
    auto it = scope.ops.find(name);
    if (it == scope.ops.end() || it->second.index == scope.read.size())
      return lexer.fail(place, fmt::format("operand %{} is not defined above", name));
    op.operands.push_back(it->second);
    const Shape &actual = scope.read[it->second.index].shape;
    if (hasShape && !written.sameDimsAndType(actual))
      return lexer.fail(place, fmt::format("operand %{} is {}, not {}", name, briefText(actual),
                                           briefText(written)));
  }
  lexer.advance(); // ')'
  return true;
}

bool HloParser::parseOpAttributes(Scope &scope, Op &op, std::vector<HloCallReference> &calls) {
  while (lexer.consume(',')) {
    if (op.rawAttrs.size() == hlo_limits::attributesOfAnOp)
      return lexer.fail(lexer.offset(),
                        fmt::format("an op has over {} attributes", hlo_limits::attributesOfAnOp));
    RawAttribute attribute;
    uint32_t valueBegin;
    if (!parseRawAttribute(attribute, valueBegin))
      return false;
    for (const RawAttribute &earlier : op.rawAttrs)
      if (earlier.name == attribute.name)
        return lexer.fail(attribute.loc.offset,
                          fmt::format("attribute {} is given twice", attribute.name));
    const HloLexer value = lexer.part(valueBegin, lexer.offset());
    if (attribute.name == "control-predecessors"
            ? !parsePredecessors(scope, value)
            : !readTypedAttribute(attribute.name, value, op, calls))
      return false;
    op.rawAttrs.push_back(std::move(attribute));
  }
  return true;
}

/// `{%a, %b}`: ops of the same computation that must run first.
bool HloParser::parsePredecessors(Scope &scope, HloLexer value) {
  if (!value.expect('{'))
    return false;
  for (bool isFirst = true; value.peek() != '}'; isFirst = false) {
    if (!isFirst && !value.expect(','))
      return false;
    std::string_view name;
    uint32_t place = value.place();
    if (!value.name(name, "an op's name"))
      return false;
    scope.predecessors.emplace_back(name, place);
  }
  return value.expect('}');
}

bool HloParser::checkPredecessors(const Scope &scope) {
  for (auto [name, place] : scope.predecessors)
    if (!scope.ops.contains(name))
      return lexer.fail(place, fmt::format("there is no op %{} in %{}", name, scope.name));
  return true;
}

bool HloParser::parseRawAttribute(RawAttribute &out, uint32_t &valueBegin) {
  lexer.skipTrivia();
  out.loc = SourceLoc{lexer.offset()};
  std::string_view name = lexer.word();
  if (name.empty())
    return lexer.failExpected("an attribute's name");
  out.name = name;
  if (!lexer.expect('='))
    return false;
  valueBegin = lexer.place();
  if (!lexer.skipValue())
    return false;
  out.text = lexer.slice(valueBegin, lexer.offset());
  return true;
}

/// `entry_computation_layout={(f32[2]{0})->f32[2]{0}}` must say what the entry takes and gives.
bool HloParser::checkEntryLayout() {
  if (entryLayoutBegin == entryLayoutEnd)
    return true;
  const Graph &entry = module.entry();
  const std::vector<OpId> parameters = entry.parameters();
  HloLexer value = lexer.part(entryLayoutBegin, entryLayoutEnd);
  if (!value.expect('{') || !value.expect('('))
    return false;
  size_t count = 0;
  for (; value.peek() != ')'; ++count) {
    Shape shape;
    if (count > 0 && !value.expect(','))
      return false;
    uint32_t place = value.place();
    if (!parseShape(value, shape, shapeNodes))
      return false;
    if (count < parameters.size() && !entry.op(parameters[count]).shape.sameDimsAndType(shape))
      return lexer.fail(place, fmt::format("parameter {} of the entry is {}, not {}", count,
                                           briefText(entry.op(parameters[count]).shape),
                                           briefText(shape)));
  }
  if (count != parameters.size())
    return lexer.fail(entryLayoutBegin,
                      fmt::format("{} parameters, the entry has {}", count, parameters.size()));
  value.advance(); // ')'
  if (!value.consume("->"))
    return value.failExpected("'->'");
  uint32_t place = value.place();
  Shape result;
  if (!parseShape(value, result, shapeNodes))
    return false;
  const Shape &root = entry.op(entry.root()).shape;
  if (!root.sameDimsAndType(result))
    return lexer.fail(
        place, fmt::format("the entry results in {}, not {}", briefText(root), briefText(result)));
  return value.expect('}');
}

bool HloParser::resolveCalls() {
  for (const PendingCall &call : pending) {
    GraphId callee = module.find(call.reference.name);
    if (!callee.isValid())
      return lexer.fail(call.reference.offset,
                        fmt::format("there is no computation %{}", call.reference.name));
    module.graph(call.graph).op(call.op).called.push_back({call.reference.role, callee});
  }
  return true;
}

} // namespace

llvm::Expected<std::vector<Module>> parseHloModules(std::shared_ptr<const SourceBuffer> source) {
  if (source->text().size() > hlo_limits::bytes)
    return makeError(DiagClass::BadInput, "{}: {} bytes, at most {} are read", source->name(),
                     source->text().size(), hlo_limits::bytes);
  std::vector<Module> modules;
  for (uint32_t begin = 0; modules.empty() || begin < source->text().size();) {
    HloParser parser(source, begin);
    llvm::Expected<Module> module = parser.run();
    if (!module)
      return module.takeError();
    modules.push_back(std::move(*module));
    begin = parser.next();
  }
  return modules;
}

llvm::Expected<Module> parseHlo(std::shared_ptr<const SourceBuffer> source) {
  llvm::Expected<std::vector<Module>> modules = parseHloModules(source);
  if (!modules)
    return modules.takeError();
  if (modules->size() > 1)
    return makeError(
        diagAt(*source, (*modules)[1].loc,
               fmt::format("a second module begins here, of {} in the text; one is expected",
                           modules->size())));
  return std::move(modules->front());
}

} // namespace tilewright
