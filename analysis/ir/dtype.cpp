#include "analysis/ir/dtype.h"

#include "analysis/support/checked.h"

#include <array>

namespace tilewright {

namespace {
struct Info {
  std::string_view text;
  unsigned bits;
  DTypeClass cls;
};
constexpr std::array infos = {
#define TILEWRIGHT_DTYPE(name, text, bits, cls) Info{text, bits, DTypeClass::cls},
#include "analysis/ir/dtypes.def"
};
const Info &info(DType type) { return infos[static_cast<size_t>(type)]; }
} // namespace

std::string_view toString(DType type) { return info(type).text; }

std::optional<DType> parseDType(std::string_view text) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].text == text)
      return static_cast<DType>(i);
  return std::nullopt;
}

unsigned bitWidth(DType type) { return info(type).bits; }

DTypeClass dtypeClass(DType type) { return info(type).cls; }

std::optional<int64_t> packedBytes(DType type, int64_t elements) {
  std::optional<int64_t> bits = checkedMul(elements, bitWidth(type));
  if (!bits || *bits > INT64_MAX - 7)
    return std::nullopt;
  return (*bits + 7) / 8;
}

} // namespace tilewright
