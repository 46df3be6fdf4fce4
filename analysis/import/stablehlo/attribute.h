// Attributes of MLIR ops: dictionaries, whose values are kept as text until an op asks for them.
#pragma once

#include "analysis/import/stablehlo/lexer.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::stablehlo {

struct Attribute {
  std::string_view name;
  uint32_t offset = 0; ///< of the name
  Span value;          ///< empty for a name without value
  bool isUsed = false;
};

/// `#name = value` lines of the file.
using AttributeAliases = std::map<std::string, Span, std::less<>>;

class Attributes {
public:
  /// Adds one; an error if there is one of that name.
  bool add(MlirLexer &lexer, Attribute attribute);
  /// The attribute of that name, which is then used; null if there is none.
  const Attribute *take(std::string_view name);
  /// The same without using it.
  const Attribute *find(std::string_view name) const;
  const std::vector<Attribute> &all() const { return list; }

private:
  std::vector<Attribute> list;
};

/// `{name = value, "name" = value, name}`, in braces or in other brackets. Values that are aliases
/// are replaced by what they stand for.
bool parseDictionary(MlirLexer &lexer, char open, char close, const AttributeAliases &aliases,
                     Attributes &out);

// Readers of one value; the lexer holds exactly its text.

/// `3`, `3 : i64`, `dense<3> : tensor<i64>`
bool readInteger(MlirLexer in, int64_t &out);
/// `true`, `1 : i1`, or nothing at all, which is true
bool readFlag(MlirLexer in, bool &out);
/// `LT`, `#stablehlo<comparison_direction LT>`, `#stablehlo.comparison_direction<LT>`
bool readWord(MlirLexer in, std::string_view &out);
/// Words in brackets.
bool readWords(MlirLexer in, std::vector<std::string_view> &out);
/// `1.0e-3 : f32` as it is written, without the type.
bool readNumberText(MlirLexer in, std::string_view &out);

/// Integers of `[0, 1]`, `array<i64: 0, 1>`, `dense<[[0, 1]]> : tensor<1x2xi64>`, also true and
/// false, which are 1 and 0.
struct Integers {
  std::vector<int64_t> values;
  size_t rows = 0, columns = 0; ///< of nested lists; columns 0: not nested
};
bool readIntegers(MlirLexer in, Integers &out);

/// `#stablehlo.dot<lhs_contracting_dimensions = [1], …>` or `{stride = [1, 1]}`
bool readStruct(MlirLexer in, const AttributeAliases &aliases, Attributes &out);

} // namespace tilewright::stablehlo
