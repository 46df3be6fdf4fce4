#include "analysis/import/module_equal.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

bool sameAttributes(const std::vector<RawAttribute> &a, const std::vector<RawAttribute> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].name != b[i].name || a[i].text != b[i].text)
      return false;
  return true;
}

/// What differs between two ops, or null.
const char *difference(const Op &a, const Op &b) {
  if (a.name != b.name)
    return "name";
  if (a.opcode != b.opcode)
    return "opcode";
  if (a.shape != b.shape)
    return "shape";
  if (a.operands != b.operands)
    return "operands";
  if (a.called != b.called)
    return "called computations";
  if (a.literal != b.literal)
    return "literal";
  if (!sameAttributes(a.rawAttrs, b.rawAttrs))
    return "attributes";
  if (a.attrs != b.attrs)
    return "typed attributes";
  return nullptr;
}

std::string difference(const Graph &a, const Graph &b) {
  if (a.name() != b.name())
    return fmt::format("computation %{} against %{}", a.name(), b.name());
  if (a.signature != b.signature)
    return fmt::format("signature of %{}", a.name());
  if (a.suffix != b.suffix)
    return fmt::format("suffix of %{}", a.name());
  if (a.size() != b.size())
    return fmt::format("%{} has {} ops against {}", a.name(), a.size(), b.size());
  if (a.root() != b.root())
    return fmt::format("root of %{}", a.name());
  for (uint32_t i = 0; i < a.size(); ++i)
    if (const char *what = difference(a.op(OpId{i}), b.op(OpId{i})))
      return fmt::format("{} of %{} in %{}", what, a.op(OpId{i}).name, a.name());
  return "";
}

std::string difference(const Module &a, const Module &b) {
  if (a.name != b.name)
    return "module name";
  if (!sameAttributes(a.attributes, b.attributes))
    return "module attributes";
  if (a.preamble != b.preamble)
    return "preamble";
  if (a.all().size() != b.all().size())
    return fmt::format("{} computations against {}", a.all().size(), b.all().size());
  if (a.entryId != b.entryId)
    return "entry";
  for (size_t i = 0; i < a.all().size(); ++i)
    if (std::string what = difference(a.all()[i], b.all()[i]); !what.empty())
      return what;
  return "";
}

} // namespace

bool equal(const Module &a, const Module &b, std::string *why) {
  std::string what = difference(a, b);
  if (why)
    *why = what;
  return what.empty();
}

} // namespace tilewright
