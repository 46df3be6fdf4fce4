// What follows once a module is read: calls are resolved, the entry is chosen, ops get the text of
// their attributes.
#include "analysis/import/computations.h"
#include "analysis/import/stablehlo/reader.h"
#include "analysis/ir/quotes.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>

namespace tilewright::stablehlo {

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
  dropUnreached(module);
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

/// Reads one location. Aliases and lists can share parts, so that `budget` bounds how many are
/// read.
Reader::Place Reader::readPlace(MlirLexer &in, unsigned &budget) {
  Place place;
  if (budget == 0)
    return place;
  --budget;
  const char first = in.peek();
  if (first == '#') {
    in.advance();
    auto alias = attributeAliases.find(in.identifier());
    if (alias == attributeAliases.end())
      return place;
    MlirLexer value = lexer.part(alias->second);
    return value.identifier() == "loc" && value.consume('(') ? readPlace(value, budget) : place;
  }
  if (first != '"') {
    const std::string_view kind = in.identifier();
    if (kind == "callsite" && in.consume('('))
      return readPlace(in, budget); // of the callee, in front of "at"
    return kind == "fused" ? readFusedPlaces(in, budget) : place;
  }
  std::string string;
  if (!in.string(string))
    return place;
  if (in.consume(':')) { // "file":line:column
    place.file = std::move(string);
    in.integer(place.line, "a line");
    return place;
  }
  if (in.consume('('))
    place = readPlace(in, budget);
  place.name = std::move(string);
  return place;
}

/// `fused[a, b]` or `fused<"pass">[a, b]`: the first name and the first source of its parts.
Reader::Place Reader::readFusedPlaces(MlirLexer &in, unsigned &budget) {
  Place place;
  if (in.peek() == '<' && !in.skipGroup())
    return place;
  if (!in.consume('['))
    return place;
  while (in.peek() != ']' && !in.atEnd()) {
    Span span{in.place(), 0};
    if (!in.skipValueInDictionary())
      return place;
    span.end = in.offset();
    MlirLexer part = in.part(span);
    Place one = readPlace(part, budget);
    if (place.name.empty())
      place.name = std::move(one.name);
    if (place.file.empty()) {
      place.file = std::move(one.file);
      place.line = one.line;
    }
    in.consume(',');
  }
  return place;
}

Reader::Place Reader::placeOf(std::string_view text) {
  unsigned mostParts = 64;
  const auto at = static_cast<uint32_t>(text.data() - source->text().data());
  MlirLexer in = lexer.part({at, at + static_cast<uint32_t>(text.size())});
  return readPlace(in, mostParts);
}

void Reader::setAttributes() {
  for (const Location &pending : locations) {
    const Place place = placeOf(pending.location.text);
    std::string metadata;
    if (!place.name.empty())
      metadata = "op_name=" + inQuotes(place.name);
    if (!place.file.empty())
      metadata += fmt::format("{}source_file={} source_line={}", metadata.empty() ? "" : " ",
                              inQuotes(place.file), place.line);
    Op &op = module.graph(pending.graph).op(pending.location.op);
    if (!metadata.empty())
      op.rawAttrs.push_back({"metadata", "{" + metadata + "}", op.loc});
  }
  setAttributeTexts(module);
}

} // namespace tilewright::stablehlo
