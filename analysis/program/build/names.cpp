#include "analysis/program/build/names.h"

namespace tilewright::program {

Names::Names() {
  for (std::string_view word :
       {"kernel", "let",   "warps",  "roles", "grid",     "axis",   "ring", "shared",  "copy",
        "write",  "store", "atomic", "for",   "if",       "else",   "role", "barrier", "issue",
        "load",   "read",  "map",    "full",  "relayout", "reduce", "scan", "dot",     "join",
        "over",   "of",    "at",     "from",  "via",      "in",     "pad",  "swizzle", "inf",
        "lowest", "nan",   "like",   "W",     "V",        "G"})
    taken.emplace(word);
}

std::string Names::ofOp(std::string_view op) {
  std::string name;
  for (char c : op) {
    bool isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool isDigit = c >= '0' && c <= '9';
    name += isLetter || (isDigit && !name.empty()) ? c : '_';
  }
  if (name.empty())
    name = "_";
  while (!isFree(name))
    name += '_';
  return take(std::move(name));
}

std::string Names::of(std::string_view letters) {
  // No name is given back: those before the last one are taken.
  for (size_t &next = tried[std::string(letters)];; ++next) {
    std::string name(1, letters[next % letters.size()]);
    if (const size_t round = next / letters.size())
      name += std::to_string(round);
    if (isFree(name))
      return take(std::move(name));
  }
}

} // namespace tilewright::program
