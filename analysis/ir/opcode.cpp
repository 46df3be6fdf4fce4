#include "analysis/ir/opcode.h"

#include <array>
#include <string>
#include <unordered_map>

namespace tilewright {

namespace {
struct Info {
  std::string_view text;
  OpClass cls;
};
constexpr std::array infos = {
#define TILEWRIGHT_OPCODE(name, text, cls) Info{text, OpClass::cls},
#include "analysis/ir/opcodes.def"
};
} // namespace

std::string_view toString(Opcode opcode) { return infos[static_cast<size_t>(opcode)].text; }

std::optional<Opcode> parseOpcode(std::string_view text) {
  static const auto table = [] {
    std::unordered_map<std::string_view, Opcode> map;
    for (size_t i = 0; i < infos.size(); ++i)
      map.emplace(infos[i].text, static_cast<Opcode>(i));
    return map;
  }();
  auto it = table.find(text);
  if (it == table.end())
    return std::nullopt;
  return it->second;
}

OpClass opClass(Opcode opcode) { return infos[static_cast<size_t>(opcode)].cls; }

} // namespace tilewright
