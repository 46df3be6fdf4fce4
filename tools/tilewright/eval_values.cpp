#include "tools/tilewright/eval_values.h"

#include "analysis/import/numpy/npy.h"
#include "analysis/ir/literal.h"
#include "analysis/ir/numeric.h"

#include <cmath>
#include <fmt/ranges.h>

namespace tilewright::cli {

namespace {

/// Fills slots, one given text after the other.
class Giver {
public:
  explicit Giver(const std::vector<ValueSlot> &slots) : slots(slots), values(slots.size()) {}

  llvm::Error give(const std::string &text);
  std::vector<std::optional<GivenValue>> take() { return std::move(values); }

private:
  /// The slot of a name or number, in the way that numpy numbers arrays, too.
  std::optional<size_t> slotOf(std::string_view name) const;
  llvm::Error set(size_t slot, llvm::Expected<Tensor> tensor, std::string source);
  llvm::Error giveNamed(std::string_view name, const std::string &value);
  llvm::Error giveFile(const std::string &path);

  std::string names() const {
    std::vector<std::string> all;
    for (const ValueSlot &slot : slots)
      all.push_back(slot.name);
    return shortened(fmt::format("{}", fmt::join(all, ", ")), 200);
  }

  const std::vector<ValueSlot> &slots;
  std::vector<std::optional<GivenValue>> values;
};

std::optional<size_t> Giver::slotOf(std::string_view name) const {
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i].name == name)
      return i;
  if (name.starts_with("arr_"))
    name.remove_prefix(4);
  for (size_t i = 0; i < slots.size(); ++i)
    if (std::to_string(i) == name)
      return i;
  return std::nullopt;
}

llvm::Error Giver::set(size_t slot, llvm::Expected<Tensor> tensor, std::string source) {
  if (!tensor)
    return tensor.takeError();
  if (values[slot])
    return makeError(DiagClass::BadInput, "{} is given twice: {} and {}", slots[slot].name,
                     values[slot]->source, source);
  values[slot] = GivenValue{std::move(*tensor), std::move(source)};
  return llvm::Error::success();
}

llvm::Error Giver::giveNamed(std::string_view name, const std::string &value) {
  const std::optional<size_t> slot = slotOf(name);
  if (!slot)
    return makeError(DiagClass::BadInput, "there is no '{}', there is {}", excerpt(name), names());
  const Shape &shape = slots[*slot].shape;
  const size_t keyAt = value.rfind(".npz:");
  if (!value.ends_with(".npy") && keyAt == std::string::npos) {
    llvm::Expected<Tensor> literal = parseLiteral(shape, value);
    if (!literal) {
      Diag diag = takeDiag(literal.takeError());
      return makeError(diag.cls, "{}: the literal of {}: {}", slots[*slot].name, shape.str(false),
                       diag.message);
    }
    return set(*slot, std::move(*literal), "literal");
  }
  const std::string path = keyAt == std::string::npos ? value : value.substr(0, keyAt + 4);
  const std::string key = keyAt == std::string::npos ? "" : value.substr(keyAt + 5);
  llvm::Expected<std::vector<NumpyArray>> arrays = readNumpy(path);
  if (!arrays)
    return arrays.takeError();
  for (const NumpyArray &array : *arrays)
    if (array.key == key)
      return set(*slot, tensorOf(array, shape), value);
  return makeError(DiagClass::BadInput, "{}: it holds no array '{}'", path, excerpt(key));
}

llvm::Error Giver::giveFile(const std::string &path) {
  llvm::Expected<std::vector<NumpyArray>> arrays = readNumpy(path);
  if (!arrays)
    return arrays.takeError();
  for (const NumpyArray &array : *arrays) {
    std::optional<size_t> slot = slotOf(array.key);
    if (array.key.empty()) {
      size_t next = 0;
      while (next < slots.size() && values[next])
        ++next;
      if (next == slots.size())
        return makeError(DiagClass::BadInput, "{}: all of {} have a value already", path, names());
      slot = next;
    }
    if (!slot)
      return makeError(DiagClass::BadInput, "{}: there is no such name, there is {}", array.name,
                       names());
    if (llvm::Error error = set(*slot, tensorOf(array, slots[*slot].shape), path))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Giver::give(const std::string &text) {
  const size_t equals = text.find('=');
  if (equals != std::string::npos)
    return giveNamed(std::string_view(text).substr(0, equals), text.substr(equals + 1));
  if (text.ends_with(".npy") || text.ends_with(".npz"))
    return giveFile(text);
  return makeError(DiagClass::BadInput,
                   "'{}' is neither NAME=VALUE nor a file .npy or .npz; names are {}",
                   excerpt(text), names());
}

Json realJson(DType type, double value) {
  if (std::isfinite(value))
    return bitWidth(type) < 64 ? Json::parse(realText(type, value)) : Json(value);
  return realText(type, value);
}

} // namespace

llvm::Expected<std::vector<std::optional<GivenValue>>>
givenValues(const std::vector<ValueSlot> &slots, const std::vector<std::string> &texts) {
  Giver giver(slots);
  for (const std::string &text : texts)
    if (llvm::Error error = giver.give(text))
      return error;
  return giver.take();
}

Json elementsJson(const Tensor &tensor, int64_t most) {
  Json list = Json::array();
  const DType type = partType(tensor.dtype());
  for (int64_t i = 0; i < std::min(most, tensor.size()); ++i)
    switch (dtypeClass(tensor.dtype())) {
    case DTypeClass::Complex:
      list.push_back(
          {realJson(type, tensor.complex(i).real()), realJson(type, tensor.complex(i).imag())});
      break;
    case DTypeClass::Float:
      list.push_back(realJson(type, tensor.real(i)));
      break;
    case DTypeClass::Pred:
      list.push_back(tensor.integer(i) != 0);
      break;
    case DTypeClass::Unsigned:
      list.push_back(static_cast<uint64_t>(tensor.integer(i)));
      break;
    case DTypeClass::Signed:
      list.push_back(tensor.integer(i));
      break;
    case DTypeClass::NonNumeric:
      break;
    }
  return list;
}

} // namespace tilewright::cli
