#include "analysis/ir/donation.h"

#include "llvm/ADT/StringRef.h"

namespace tilewright {

namespace {

/// "(2, {0}, may-alias" behind the parenthesis: the argument that it names.
bool consumeArgument(llvm::StringRef &text, EntryArgument &argument) {
  text = text.ltrim();
  if (text.consumeInteger(10, argument.parameter) || argument.parameter < 0)
    return false;
  text = text.ltrim();
  if (!text.consume_front(","))
    return false;
  text = text.ltrim();
  if (!text.consume_front("{"))
    return false;
  text = text.ltrim();
  if (text.consume_front("}"))
    return true;
  if (text.consumeInteger(10, argument.element) || argument.element < 0)
    return false;
  text = text.ltrim();
  return text.consume_front("}"); // more indices: an element of a nested tuple
}

} // namespace

std::set<EntryArgument> donatedArguments(const Module &module) {
  std::set<EntryArgument> donated;
  for (const RawAttribute &attribute : module.attributes) {
    if (attribute.name != "input_output_alias" && attribute.name != "buffer_donor")
      continue;
    llvm::StringRef rest(attribute.text);
    for (size_t open; (open = rest.find('(')) != llvm::StringRef::npos;) {
      rest = rest.drop_front(open + 1);
      if (EntryArgument argument; consumeArgument(rest, argument))
        donated.insert(argument);
    }
  }
  return donated;
}

} // namespace tilewright
