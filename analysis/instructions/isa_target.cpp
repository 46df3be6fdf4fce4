#include "analysis/instructions/isa_target.h"

#include "analysis/support/printable.h"

#include <charconv>
#include <fmt/format.h>
#include <vector>

namespace tilewright {

namespace {

/// "90a" as architecture and suffix; architecture 0: no such form.
IsaTarget numbered(std::string_view text) {
  IsaTarget target;
  const char *end = text.data() + text.size();
  auto [rest, status] = std::from_chars(text.data(), end, target.architecture);
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  if (suffix == "a")
    target.suffix = IsaTarget::Suffix::Specific;
  else if (suffix == "f")
    target.suffix = IsaTarget::Suffix::Family;
  const bool isKnown = suffix.empty() || target.suffix != IsaTarget::Suffix::None;
  if (status != std::errc() || !isKnown || target.architecture < 10 || target.architecture > 999)
    return {};
  return target;
}

template <class Visit> void eachWord(std::string_view words, const Visit &visit) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (end > 0)
      visit(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

std::string listed(const std::vector<std::string> &parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

} // namespace

std::string IsaTarget::str() const {
  return fmt::format("sm_{}{}", architecture,
                     suffix == Suffix::None     ? ""
                     : suffix == Suffix::Family ? "f"
                                                : "a");
}

llvm::Expected<IsaTarget> IsaTarget::parse(std::string_view name) {
  const IsaTarget target = name.starts_with("sm_") ? numbered(name.substr(3)) : IsaTarget();
  if (target.architecture == 0)
    return makeError(DiagClass::BadInput, "'{}' is no target, expected a form as sm_80 or sm_90a",
                     excerpt(std::string(name)));
  const int least = target.suffix == Suffix::Family     ? 100
                    : target.suffix == Suffix::Specific ? 90
                                                        : 0;
  if (target.architecture < least)
    return makeError(DiagClass::BadInput, "'{}' is no target: there is that suffix from sm_{} on",
                     name, least);
  return target;
}

llvm::Expected<IsaTarget> targetOfCapability(std::string_view capability) {
  const size_t dot = capability.find('.');
  IsaTarget target;
  if (dot != std::string_view::npos && dot + 2 == capability.size())
    target =
        numbered(std::string(capability.substr(0, dot)) + std::string(capability.substr(dot + 1)));
  if (target.architecture == 0 || target.suffix != IsaTarget::Suffix::None)
    return makeError(DiagClass::BadInput, "'{}' is no compute capability, expected a form as 9.0",
                     excerpt(std::string(capability)));
  if (target.architecture >= 90)
    target.suffix = IsaTarget::Suffix::Specific;
  return target;
}

bool Availability::has(const IsaTarget &target) const {
  if (from > 0 && target.architecture >= from)
    return true;
  bool isNamed = false;
  eachWord(named, [&](std::string_view word) {
    const IsaTarget each = numbered(word);
    if (each.suffix == IsaTarget::Suffix::Family)
      isNamed |= target.suffix != IsaTarget::Suffix::None &&
                 target.architecture / 10 == each.architecture / 10 &&
                 target.architecture >= each.architecture;
    else
      isNamed |= target.architecture == each.architecture && target.suffix == each.suffix;
  });
  return isNamed;
}

std::string Availability::str() const {
  std::vector<std::string> parts, families;
  if (from > 0)
    parts.push_back(fmt::format("sm_{} or newer", from));
  eachWord(named, [&](std::string_view word) {
    const IsaTarget each = numbered(word);
    if (each.suffix == IsaTarget::Suffix::Family)
      families.push_back(fmt::format("sm_{}", each.architecture));
    else
      parts.push_back(each.str());
  });
  if (!families.empty())
    parts.push_back(fmt::format("f and a targets of the {} {}",
                                families.size() == 1 ? "family" : "families", listed(families)));
  return parts.empty() ? "no target" : listed(parts);
}

} // namespace tilewright
