// The rewrite rules of the expression engine as data, and how often each was applied.
//
// rules.def lists them. The code that applies a rule names it, so that tests can show that every
// rule is applied, that none is applied which isn't listed, and that each has been proved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright {

enum class Rule : uint8_t {
#define TILEWRIGHT_RULE(name, before, after, condition, ends) name,
#include "analysis/affine/rules.def"
};

/// A rule in words: `before` becomes `after` where `condition` holds (empty: always).
struct RuleInfo {
  Rule rule;
  std::string_view name, before, after, condition, ends;
};

namespace detail {
inline constexpr RuleInfo ruleTable[] = {
#define TILEWRIGHT_RULE(name, before, after, condition, ends)                                      \
  {Rule::name, #name, before, after, condition, ends},
#include "analysis/affine/rules.def"
};
} // namespace detail

/// All rules, in order of their enumerators.
constexpr std::span<const RuleInfo> rules() { return detail::ruleTable; }
constexpr const RuleInfo &info(Rule rule) { return rules()[static_cast<size_t>(rule)]; }

/// How often each rule was applied in one context.
class RuleCounts {
public:
  void add(Rule rule) { ++counts[static_cast<size_t>(rule)]; }
  uint64_t operator[](Rule rule) const { return counts[static_cast<size_t>(rule)]; }

private:
  std::array<uint64_t, std::size(detail::ruleTable)> counts{};
};

} // namespace tilewright
