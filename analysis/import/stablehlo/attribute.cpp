#include "analysis/import/stablehlo/attribute.h"

#include "analysis/import/stablehlo/dense.h"
#include "analysis/import/stablehlo/type.h"
#include "analysis/support/checked.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace tilewright::stablehlo {

bool Attributes::add(MlirLexer &lexer, Attribute attribute) {
  if (list.size() == hlo_limits::attributesOfAnOp)
    return lexer.fail(attribute.offset,
                      fmt::format("over {} attributes", hlo_limits::attributesOfAnOp));
  if (find(attribute.name))
    return lexer.fail(attribute.offset,
                      fmt::format("attribute {} is given twice", excerpt(attribute.name)));
  list.push_back(attribute);
  return true;
}

const Attribute *Attributes::find(std::string_view name) const {
  auto it = std::find_if(list.begin(), list.end(), [&](auto &a) { return a.name == name; });
  return it == list.end() ? nullptr : &*it;
}

const Attribute *Attributes::take(std::string_view name) {
  auto it = std::find_if(list.begin(), list.end(), [&](auto &a) { return a.name == name; });
  if (it == list.end())
    return nullptr;
  it->isUsed = true;
  return &*it;
}

bool parseDictionary(MlirLexer &lexer, char open, char close, const AttributeAliases &aliases,
                     Attributes &out) {
  if (!lexer.expect(open))
    return false;
  for (bool isFirst = true; lexer.peek() != close; isFirst = false) {
    if (!isFirst && !lexer.expect(','))
      return false;
    Attribute attribute;
    attribute.offset = lexer.place();
    if (lexer.peek() == '"') {
      if (!lexer.skipString())
        return false;
      attribute.name = lexer.slice(attribute.offset + 1, lexer.offset() - 1);
    } else {
      attribute.name = lexer.identifier();
    }
    if (attribute.name.empty())
      return lexer.failExpected("an attribute's name");
    attribute.value = {lexer.offset(), lexer.offset()};
    if (lexer.consume('=')) {
      attribute.value.begin = lexer.place();
      if (!lexer.skipValueInDictionary())
        return false;
      attribute.value.end = lexer.offset();
      std::string_view text = lexer.slice(attribute.value);
      while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
        text.remove_suffix(1);
      attribute.value.end = attribute.value.begin + static_cast<uint32_t>(text.size());
      if (text.starts_with('#'))
        if (auto it = aliases.find(text.substr(1)); it != aliases.end())
          attribute.value = it->second;
    }
    if (!out.add(lexer, attribute))
      return false;
  }
  return lexer.expect(close);
}

namespace {

/// `: i64` behind a value, or nothing.
bool endsOrHasType(MlirLexer &in) {
  if (in.consume(':'))
    return true;
  return in.atEnd() || in.failExpected("the attribute's end");
}

/// The words of an enum: the last identifier of `#stablehlo<precision HIGH>`, `HIGH`.
bool wordAt(MlirLexer &in, std::string_view &out) {
  if (!in.consume('#')) {
    out = in.identifier();
    return !out.empty() || in.failExpected("a word");
  }
  in.identifier();
  if (!in.expect('<'))
    return false;
  while (true) {
    std::string_view word = in.identifier();
    if (word.empty())
      break;
    out = word;
  }
  return in.expect('>');
}

bool integerOrFlag(MlirLexer &in, int64_t &out) {
  if (in.consumeIdentifier("true")) {
    out = 1;
    return true;
  }
  if (in.consumeIdentifier("false")) {
    out = 0;
    return true;
  }
  if (!in.integer(out, "an integer"))
    return false;
  if (in.peek() == ':') { // [0 : i64]
    in.advance();
    in.identifier();
  }
  return true;
}

/// `[1, 2]` or `[[1, 2], [3, 4]]`
bool integersInBrackets(MlirLexer &in, Integers &out) {
  if (!in.expect('['))
    return false;
  const bool isNested = in.peek() == '[';
  for (bool isFirst = true; in.peek() != ']'; isFirst = false) {
    if (!isFirst && !in.expect(','))
      return false;
    const uint32_t begin = in.place();
    if (!isNested) {
      if (!integerOrFlag(in, out.values.emplace_back()))
        return false;
      continue;
    }
    Integers row;
    if (in.peek() != '[')
      return in.failExpected("'['");
    MlirLexer inner = in;
    if (!in.skipGroup())
      return false;
    MlirLexer rowReader = inner.part({begin, in.offset()});
    if (!rowReader.expect('['))
      return false;
    while (rowReader.peek() != ']')
      if ((!row.values.empty() && !rowReader.expect(',')) ||
          !integerOrFlag(rowReader, row.values.emplace_back()))
        return false;
    if (!isFirst && row.values.size() != out.columns)
      return in.fail(begin,
                     fmt::format("a row of {} beside one of {}", row.values.size(), out.columns));
    out.columns = row.values.size();
    ++out.rows;
    out.values.insert(out.values.end(), row.values.begin(), row.values.end());
  }
  return in.expect(']');
}

} // namespace

bool readInteger(MlirLexer in, int64_t &out) {
  Integers all;
  const uint32_t begin = in.place();
  if (in.peekIdentifier() == "dense") {
    if (!readIntegers(in, all))
      return false;
    if (all.values.size() != 1)
      return in.fail(begin, fmt::format("{} integers, one is needed", all.values.size()));
    out = all.values[0];
    return true;
  }
  return in.integer(out, "an integer") && endsOrHasType(in);
}

bool readFlag(MlirLexer in, bool &out) {
  if (in.atEnd() || in.consumeIdentifier("unit")) {
    out = true;
    return true;
  }
  int64_t value;
  const uint32_t begin = in.place();
  if (!integerOrFlag(in, value))
    return false;
  if (value != 0 && value != 1 && value != -1)
    return in.fail(begin, fmt::format("{} is neither true nor false", value));
  out = value != 0;
  return in.atEnd() || in.failExpected("the attribute's end");
}

bool readWord(MlirLexer in, std::string_view &out) {
  return wordAt(in, out) && (in.atEnd() || in.failExpected("the attribute's end"));
}

bool readWords(MlirLexer in, std::vector<std::string_view> &out) {
  if (!in.expect('['))
    return false;
  while (in.peek() != ']')
    if ((!out.empty() && !in.expect(',')) || !wordAt(in, out.emplace_back()))
      return false;
  return in.expect(']');
}

bool readNumberText(MlirLexer in, std::string_view &out) {
  const uint32_t begin = in.place();
  while (in.peekRaw() != '\0' && in.peekRaw() != ' ' && in.peekRaw() != ':')
    in.advance();
  out = in.slice(begin, in.offset());
  return (!out.empty() || in.failExpected("a number")) && endsOrHasType(in);
}

bool readIntegers(MlirLexer in, Integers &out) {
  const std::string_view kind = in.peekIdentifier();
  if (kind == "array") {
    in.identifier();
    if (!in.expect('<') || in.identifier().empty())
      return in.failExpected("the type of the array's elements");
    if (in.consume(':'))
      do {
        if (!integerOrFlag(in, out.values.emplace_back()))
          return false;
      } while (in.consume(','));
    return in.expect('>') && (in.atEnd() || in.failExpected("the attribute's end"));
  }
  if (kind == "dense") {
    constexpr int64_t most = 1 << 20;
    MlirLexer value = in;
    in.identifier();
    if (in.peek() != '<' || !in.skipGroup() || !in.expect(':'))
      return in.failExpected("'<'");
    const uint32_t typeAt = in.place();
    Type type;
    size_t nodes = 0;
    if (!parseType(in, {}, nodes, type))
      return false;
    const std::optional<int64_t> count = type.shape.elementCount();
    if (!count || *count > most || type.shape.rank() > 2)
      return in.fail(typeAt, fmt::format("{} as a list of integers, at most {} in at most two dims "
                                         "are read",
                                         briefText(type.shape), most));
    Dense dense;
    if (!parseDense(value, type.shape, dense) ||
        !integersOf(value, typeAt, type.shape, dense, out.values))
      return false;
    if (type.shape.rank() == 2) {
      out.rows = static_cast<size_t>(type.shape.dims[0]);
      out.columns = static_cast<size_t>(type.shape.dims[1]);
    }
    return in.atEnd() || in.failExpected("the attribute's end");
  }
  return integersInBrackets(in, out) && endsOrHasType(in);
}

bool readStruct(MlirLexer in, const AttributeAliases &aliases, Attributes &out) {
  if (in.consume('#'))
    in.identifier();
  if (in.peek() == '{')
    return parseDictionary(in, '{', '}', aliases, out);
  return parseDictionary(in, '<', '>', aliases, out);
}

} // namespace tilewright::stablehlo
