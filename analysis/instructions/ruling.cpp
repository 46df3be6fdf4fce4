#include "analysis/instructions/ruling.h"

#include "analysis/instructions/number_set.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {

namespace {

using FormList = std::vector<const InstructionForm *>;

std::vector<std::string_view> splitAt(std::string_view text, char separator) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0)
      result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

bool isOneOf(std::string_view alternatives, std::string_view word) {
  const std::vector<std::string_view> all = splitAt(alternatives, '|');
  return std::find(all.begin(), all.end(), word) != all.end();
}

/// A short name leaves modifiers open; not these, without which the instruction does less.
bool isFeature(std::string_view slot) {
  for (std::string_view word :
       {"sp", "sp::ordered_metadata", "ws", "block_scale", "reduce", "store", "red",
        "multicast::cluster", "tile::gather4", "tile::scatter4", "im2col", "im2col::w",
        "shared::cta", "shared::cluster", "cta_group::2"})
    if (slot == word)
      return true;
  return slot.starts_with("sp|");
}

/// What of a form's slots the modifiers fill.
struct SlotFit {
  size_t filled = 0;
  std::vector<std::string> extra;      ///< modifiers that no slot has
  std::vector<std::string_view> unmet; ///< slots without a modifier
  bool fits() const { return extra.empty() && unmet.empty(); }
};

SlotFit fitOf(const InstructionForm &form, const PtxInstruction &asked, bool withFeatures = false) {
  SlotFit fit;
  std::vector<bool> used(asked.modifiers.size());
  for (std::string_view slot : splitAt(form.slots, ' ')) {
    bool isFilled = false;
    for (size_t i = 0; i < used.size() && !isFilled; ++i)
      if (!used[i] && isOneOf(slot, asked.modifiers[i]))
        used[i] = isFilled = true;
    fit.filled += isFilled;
    const bool isOpen = !asked.isWhole && (withFeatures || !isFeature(slot));
    if (!isFilled && !isOneOf(slot, "-") && !isOpen)
      fit.unmet.push_back(slot);
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      fit.extra.push_back(asked.modifiers[i]);
  return fit;
}

bool fitsType(std::string_view types, std::string_view asked) {
  return asked.empty() || types.empty() || isOneOf(types, asked);
}
bool fitsTypes(const InstructionForm &form, const PtxInstruction &asked) {
  // Sums of another type than what they are added to, where nothing is said of that.
  return fitsType(form.a, asked.a) && fitsType(form.b, asked.b) && fitsType(form.sums, asked.sums);
}

size_t misfittingSizes(const InstructionForm &form, const PtxInstruction &asked) {
  size_t count = 0;
  for (size_t i = 0; i < 3; ++i)
    count +=
        asked.shape[i] && !form.shape[i].empty() && !NumberSet(form.shape[i]).has(*asked.shape[i]);
  return count;
}

template <class Keep> FormList kept(const FormList &forms, const Keep &keep) {
  FormList result;
  for (const InstructionForm *form : forms)
    if (keep(*form))
      result.push_back(form);
  return result;
}

void addOnce(std::vector<std::string> &list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(std::move(text));
}

/// "x" of "x128", "d" of "6d", "scale_vec" of "scale_vec::4X".
std::string kindOfWord(std::string_view word) {
  if (word == "ue8m0" || word == "ue4m3")
    return "scale type";
  std::string kind;
  for (char c : word.substr(0, word.find("::")))
    if (c < '0' || c > '9')
      kind += c;
  return kind;
}

std::vector<std::string> wordsLike(const FormList &forms, std::string_view word) {
  std::vector<std::string> found;
  for (const InstructionForm *form : forms)
    for (std::string_view slot : splitAt(form->slots, ' '))
      for (std::string_view each : splitAt(slot, '|'))
        if (each != "-" && kindOfWord(each) == kindOfWord(word))
          addOnce(found, fmt::format(".{}", each));
  return found;
}

FormList allForms(InstructionUnit unit) {
  FormList all;
  for (const InstructionForm &form : formsOf(unit))
    all.push_back(&form);
  return all;
}

/// Why none has these modifiers, by the forms that are nearest to them.
void explainModifiers(const PtxInstruction &asked, const FormList &all, InstructionRuling &out) {
  // What is written first says what is meant.
  auto distance = [&](const InstructionForm &form) {
    const SlotFit fit = fitOf(form, asked);
    const size_t all = asked.modifiers.size();
    size_t sum = fit.unmet.size();
    for (const std::string &word : fit.extra)
      for (size_t i = 0; i < all; ++i)
        sum += word == asked.modifiers[i] ? 1000 + 10 * (all - i) : 0;
    return sum;
  };
  size_t least = SIZE_MAX;
  for (const InstructionForm *form : all)
    least = std::min(least, distance(*form));
  const FormList near =
      kept(all, [&](const InstructionForm &form) { return distance(form) == least; });
  const SlotFit fit = fitOf(*near.front(), asked);
  std::vector<std::string> beside;
  for (const std::string &word : asked.modifiers)
    if (std::find(fit.extra.begin(), fit.extra.end(), word) == fit.extra.end())
      beside.push_back("." + word);
  const std::string with =
      beside.empty() ? std::string() : fmt::format(" with {}", fmt::join(beside, " "));
  for (const std::string &word : fit.extra) {
    std::vector<std::string> instead = wordsLike(near, word);
    instead.erase(std::remove(instead.begin(), instead.end(), "." + word), instead.end());
    out.reasons.push_back(fmt::format(
        "{} has no .{}{}{}", toString(asked.unit), word, with,
        instead.empty() ? std::string() : fmt::format(", but {}", fmt::join(instead, ", "))));
  }
  if (fit.extra.empty())
    for (std::string_view slot : fit.unmet)
      out.reasons.push_back(fmt::format("{}{} needs .{}", toString(asked.unit), with,
                                        fmt::join(splitAt(slot, '|'), " or .")));
}

std::string typesText(const InstructionForm &form) {
  auto list = [](std::string_view types) {
    return fmt::format("{}", fmt::join(splitAt(types, '|'), "/"));
  };
  if (form.a.empty())
    return "";
  return fmt::format("{} x {} + {}", list(form.a), list(form.b), list(form.sums));
}

std::string typesAsked(const PtxInstruction &asked) {
  auto given = [](const std::string &type) { return type.empty() ? "any" : type; };
  return fmt::format("{} x {} + {}", given(asked.a), given(asked.b), given(asked.sums));
}

void explainTypes(const PtxInstruction &asked, const FormList &fitting, InstructionRuling &out) {
  std::vector<std::string> taken;
  // Those that have one of the types first.
  for (bool isNear : {true, false})
    for (const InstructionForm *form : fitting)
      if (isNear == ((!asked.a.empty() && isOneOf(form->a, asked.a)) ||
                     (!asked.b.empty() && isOneOf(form->b, asked.b))))
        addOnce(taken, typesText(*form));
  out.reasons.push_back(
      fmt::format("types {}: it takes {}", typesAsked(asked), fmt::join(taken, ", ")));
}

std::string shapeName(InstructionUnit unit, const std::array<int64_t, 3> &shape,
                      const InstructionForm &form) {
  if (form.shape[0].empty())
    return fmt::format("{} {}", shape[2], nameOfNumber(unit));
  return fmt::format("m{}n{}k{}", shape[0], shape[1], shape[2]);
}

/// Shapes that are taken, by how far each size is from what is asked, in ratios.
void addNearestShapes(const PtxInstruction &asked, const FormList &fitting,
                      InstructionRuling &out) {
  std::vector<std::pair<double, std::string>> shapes;
  auto values = [](std::string_view text) {
    const NumberSet set(text);
    return set.isEmpty() ? std::vector<int64_t>{0} : set.values();
  };
  for (const InstructionForm *form : fitting)
    for (int64_t m : values(form->shape[0]))
      for (int64_t n : values(form->shape[1]))
        for (int64_t k : values(form->shape[2])) {
          const std::array<int64_t, 3> shape{m, n, k};
          double distance = 0;
          for (size_t i = 0; i < 3; ++i)
            if (asked.shape[i] && shape[i] > 0)
              distance += std::fabs(
                  std::log(double(shape[i]) / double(std::max<int64_t>(1, *asked.shape[i]))));
          shapes.emplace_back(distance, shapeName(asked.unit, shape, *form));
        }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const auto &a, const auto &b) { return a.first < b.first - 1e-12; });
  constexpr size_t most = 3;
  for (const auto &[distance, name] : shapes)
    if (out.nearest.size() < most)
      addOnce(out.nearest, name);
}

void explainShape(const PtxInstruction &asked, const FormList &fitting, InstructionRuling &out) {
  size_t least = SIZE_MAX;
  for (const InstructionForm *form : fitting)
    least = std::min(least, misfittingSizes(*form, asked));
  const FormList near = kept(
      fitting, [&](const InstructionForm &form) { return misfittingSizes(form, asked) == least; });
  const InstructionForm &form = *near.front();
  for (size_t i = 0; i < 3; ++i) {
    const NumberSet set(form.shape[i]);
    if (!asked.shape[i] || set.isEmpty() || set.has(*asked.shape[i]))
      continue;
    const std::string name =
        form.shape[0].empty() ? std::string(nameOfNumber(asked.unit)) : std::string(1, "mnk"[i]);
    const std::vector<int64_t> nearest = set.nearest(*asked.shape[i]);
    out.reasons.push_back(fmt::format(
        "{} = {}: {}{}{}", name, *asked.shape[i], set.str(),
        asked.a.empty() ? std::string() : fmt::format(" for {}", asked.a),
        set.values().size() > 1 ? fmt::format("; nearest {}", numbersText(nearest, "and"))
                                : std::string()));
  }
  addNearestShapes(asked, fitting, out);
}

FormList availableOn(const FormList &forms, const IsaTarget &target) {
  return kept(forms, [&](const InstructionForm &form) { return form.where.has(target); });
}

/// Features that are not written, with which there is such a form: ".sp", ".block_scale".
void addFeatures(const PtxInstruction &asked, const std::optional<IsaTarget> &target,
                 InstructionRuling &out) {
  if (asked.isWhole)
    return;
  for (const InstructionForm *form : allForms(asked.unit)) {
    if (!fitOf(*form, asked, true).fits() || !fitsTypes(*form, asked) ||
        misfittingSizes(*form, asked) > 0 || (target && !form->where.has(*target)))
      continue;
    std::vector<std::string> words;
    for (std::string_view slot : splitAt(form->slots, ' '))
      if (isFeature(slot) &&
          !std::any_of(asked.modifiers.begin(), asked.modifiers.end(),
                       [&](const std::string &word) { return isOneOf(slot, word); }))
        words.push_back(fmt::format(".{}", splitAt(slot, '|').front()));
    if (!words.empty())
      addOnce(out.nearest, fmt::format("with {}", fmt::join(words, " ")));
  }
}

} // namespace

std::string targetsOf(const std::vector<const InstructionForm *> &forms) {
  std::vector<std::string> texts;
  for (const InstructionForm *form : forms)
    addOnce(texts, form->where.str());
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string describe(const InstructionForm &form) {
  std::string text = typesText(form), slots;
  if (!form.shape[0].empty())
    for (size_t i = 0; i < 3; ++i)
      text += fmt::format("; {} = {}", "mnk"[i], NumberSet(form.shape[i]).str());
  else if (!form.shape[2].empty())
    text = fmt::format("{} {}", NumberSet(form.shape[2]).str(), nameOfNumber(form.unit));
  for (std::string_view slot : splitAt(form.slots, ' '))
    slots += fmt::format("{}.{}", slots.empty() ? "" : " ", slot);
  return text.empty() || slots.empty() ? text + slots : fmt::format("{}; {}", text, slots);
}

llvm::Error checkModifiers(const PtxInstruction &instruction) {
  const FormList all = allForms(instruction.unit);
  for (const std::string &word : instruction.modifiers)
    if (wordsLike(all, word).empty()) {
      std::vector<std::string> known;
      for (const InstructionForm *form : all)
        for (std::string_view slot : splitAt(form->slots, ' '))
          for (std::string_view each : splitAt(slot, '|'))
            if (each != "-")
              addOnce(known, fmt::format(".{}", each));
      return makeError(DiagClass::BadInput, "{} has no modifier .{}, but {}",
                       toString(instruction.unit), excerpt(word), fmt::join(known, ", "));
    }
  return llvm::Error::success();
}

InstructionRuling ruleOn(const PtxInstruction &asked, const std::optional<IsaTarget> &target) {
  InstructionRuling out;
  const FormList all = allForms(asked.unit);
  if (all.empty())
    return out;
  out.source = sourceOfShapes(asked.unit);
  const FormList written =
      kept(all, [&](const InstructionForm &form) { return fitOf(form, asked).fits(); });
  const FormList typed =
      kept(written, [&](const InstructionForm &form) { return fitsTypes(form, asked); });
  out.forms =
      kept(typed, [&](const InstructionForm &form) { return misfittingSizes(form, asked) == 0; });
  if (target) {
    // The narrowest that is not empty says what the target is asked for.
    const FormList &closest = !out.forms.empty() ? out.forms
                              : !typed.empty()   ? typed
                              : !written.empty() ? written
                                                 : all;
    if (availableOn(closest, *target).empty())
      out.reasons.push_back(fmt::format("{}: it needs {}", target->str(), targetsOf(closest)));
  }
  if (written.empty())
    explainModifiers(asked, all, out);
  else if (typed.empty())
    explainTypes(asked, written, out);
  else if (out.forms.empty())
    explainShape(
        asked, target && !availableOn(typed, *target).empty() ? availableOn(typed, *target) : typed,
        out);
  else if (target && !out.reasons.empty())
    addNearestShapes(asked, availableOn(typed, *target), out);
  out.isTaken = out.reasons.empty();
  if (!out.isTaken)
    addFeatures(asked, target, out);
  if (target)
    std::stable_partition(out.forms.begin(), out.forms.end(),
                          [&](const InstructionForm *form) { return form->where.has(*target); });
  return out;
}

} // namespace tilewright
