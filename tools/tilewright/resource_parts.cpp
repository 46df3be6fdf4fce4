#include "tools/tilewright/resource_parts.h"

#include <fmt/format.h>

namespace tilewright::cli {

Json partsJson(const std::vector<ResourcePart> &parts) {
  Json list = Json::array();
  for (const ResourcePart &part : parts)
    list.push_back({{"name", part.name}, {"amount", part.amount}});
  return list;
}

std::string partsText(const std::vector<ResourcePart> &parts) {
  std::string out;
  for (const ResourcePart &part : parts)
    out += fmt::format("{}{:.0f} {}", out.empty() ? "" : ", ", part.amount, part.name);
  return out.empty() ? "nothing" : out;
}

} // namespace tilewright::cli
