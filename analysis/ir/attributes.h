// The table of HLO's attributes: what each changes and what every part does with it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright {

enum class AttributeEffect : uint8_t { Numbers, Costs, Nothing };
enum class AttributeImport : uint8_t { Typed, Checked, Kept };
enum class AttributeUse : uint8_t { Reads, None, Refuses };

/// One row, see attributes.def.
struct AttributeRow {
  std::string_view name, ops;
  AttributeEffect changes;
  AttributeImport import;
  AttributeUse evaluator, analysis, code;
  std::string_view note;
};

std::span<const AttributeRow> attributeTable();

} // namespace tilewright
