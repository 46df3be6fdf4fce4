#include "analysis/ir/attributes.h"

namespace tilewright {

std::span<const AttributeRow> attributeTable() {
  using enum AttributeEffect;
  using enum AttributeImport;
  using Use = AttributeUse;
  static constexpr AttributeRow rows[] = {
#define TILEWRIGHT_ATTRIBUTE(name, ops, changes, import, evaluator, analysis, code, note)          \
  {name, ops, changes, import, Use::evaluator, Use::analysis, Use::code, note},
#include "analysis/ir/attributes.def"
  };
  return rows;
}

} // namespace tilewright
