// Values of tensors, in the model or beside it.
#include "analysis/import/hlo_lexer.h"
#include "analysis/import/onnx/proto.h"
#include "analysis/support/printable.h"

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <onnx/onnx_pb.h>

namespace tilewright::onnx_format {

namespace {

struct ElementRow {
  const char *name;
  std::optional<DType> type;
};

/// By TensorProto.DataType; those behind the library's own are of later versions of the format.
constexpr std::array<ElementRow, 25> elementRows = {{
    {"UNDEFINED", {}},
    {"FLOAT", DType::F32},
    {"UINT8", DType::U8},
    {"INT8", DType::S8},
    {"UINT16", DType::U16},
    {"INT16", DType::S16},
    {"INT32", DType::S32},
    {"INT64", DType::S64},
    {"STRING", {}},
    {"BOOL", DType::Pred},
    {"FLOAT16", DType::F16},
    {"DOUBLE", DType::F64},
    {"UINT32", DType::U32},
    {"UINT64", DType::U64},
    {"COMPLEX64", DType::C64},
    {"COMPLEX128", DType::C128},
    {"BFLOAT16", DType::BF16},
    {"FLOAT8E4M3FN", DType::F8E4M3FN},
    {"FLOAT8E4M3FNUZ", DType::F8E4M3FNUZ},
    {"FLOAT8E5M2", DType::F8E5M2},
    {"FLOAT8E5M2FNUZ", DType::F8E5M2FNUZ},
    {"UINT4", DType::U4},
    {"INT4", DType::S4},
    {"FLOAT4E2M1", DType::F4E2M1FN},
    {"FLOAT8E8M0", DType::F8E8M0FNU},
}};

template <typename List> void appendBytes(const List &values, size_t width, std::string &out) {
  for (auto value : values) {
    std::array<char, sizeof(value)> raw;
    std::memcpy(raw.data(), &value, sizeof value);
    out.append(raw.data(), std::min(width, raw.size()));
  }
}

/// The little-endian bytes of a tensor whose values stand in lists by type.
std::string bytesOfLists(const ::onnx::TensorProto &tensor, DType type) {
  std::string out;
  switch (type) {
  case DType::F32:
  case DType::C64:
    appendBytes(tensor.float_data(), 4, out);
    break;
  case DType::F64:
  case DType::C128:
    appendBytes(tensor.double_data(), 8, out);
    break;
  case DType::S64:
    appendBytes(tensor.int64_data(), 8, out);
    break;
  case DType::U32:
    appendBytes(tensor.uint64_data(), 4, out);
    break;
  case DType::U64:
    appendBytes(tensor.uint64_data(), 8, out);
    break;
  default: // a number of that many bits each, types under a byte packed as in memory
    appendBytes(tensor.int32_data(), std::max(1u, bitWidth(type) / 8), out);
    break;
  }
  return out;
}

/// Where external values stand.
struct ExternalPlace {
  std::string path, location;
  uint64_t offset = 0, length = 0;
};

bool parseSize(const std::string &text, uint64_t &out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

llvm::Expected<ExternalPlace> externalPlace(const ::onnx::TensorProto &tensor,
                                            const std::string &folder) {
  ExternalPlace place;
  auto refuse = [&](const std::string &why) {
    return makeError(DiagClass::BadInput, "weight '{}': {}", excerpt(tensor.name()), why);
  };
  for (const auto &entry : tensor.external_data()) {
    if (entry.key() == "location")
      place.location = entry.value();
    else if ((entry.key() == "offset" && !parseSize(entry.value(), place.offset)) ||
             (entry.key() == "length" && !parseSize(entry.value(), place.length)))
      return refuse(fmt::format("{} '{}' is no size", entry.key(), excerpt(entry.value())));
  }
  const std::filesystem::path relative(place.location);
  if (place.location.empty())
    return refuse("its values are in another file, which is not named");
  if (relative.is_absolute() || place.location.find("..") != std::string::npos ||
      place.location.find('\0') != std::string::npos)
    return refuse(fmt::format("the file '{}' of its values must be in the model's folder",
                              excerpt(place.location)));
  place.path = (std::filesystem::path(folder) / relative).string();
  llvm::Expected<Shape> shape = shapeOfTensor(tensor);
  if (!shape)
    return shape.takeError();
  const auto bytes = static_cast<uint64_t>(*packedBytes(shape->dtype, *shape->elementCount()));
  if (place.length != 0 && place.length != bytes)
    return refuse(fmt::format("{} bytes of values are given, {} needs {}", place.length,
                              shape->str(false), bytes));
  place.length = bytes;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(place.path, error);
  if (error)
    return refuse(
        fmt::format("the file '{}' of its values can't be read: {}", place.path, error.message()));
  if (place.offset > size || place.length > size - place.offset)
    return refuse(fmt::format("its values end at byte {} of '{}', which has {}",
                              place.offset + place.length, place.path, size));
  return place;
}

llvm::Expected<std::string> externalBytes(const ::onnx::TensorProto &tensor,
                                          const std::string &folder) {
  llvm::Expected<ExternalPlace> place = externalPlace(tensor, folder);
  if (!place)
    return place.takeError();
  std::ifstream file(place->path, std::ios::binary);
  std::string bytes(place->length, '\0');
  if (!file.seekg(static_cast<std::streamoff>(place->offset)) ||
      !file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    return makeError(DiagClass::BadInput, "weight '{}': the file '{}' of its values can't be read",
                     excerpt(tensor.name()), place->path);
  return bytes;
}

bool isExternal(const ::onnx::TensorProto &tensor) {
  return tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
}

} // namespace

std::optional<DType> elementType(int dataType) {
  return dataType >= 0 && dataType < static_cast<int>(elementRows.size())
             ? elementRows[static_cast<size_t>(dataType)].type
             : std::nullopt;
}

std::string elementTypeName(int dataType) {
  return dataType >= 0 && dataType < static_cast<int>(elementRows.size())
             ? elementRows[static_cast<size_t>(dataType)].name
             : fmt::format("type {}", dataType);
}

llvm::Expected<Shape> shapeOfTensor(const ::onnx::TensorProto &tensor) {
  const std::optional<DType> type = elementType(tensor.data_type());
  if (!type)
    return makeError(DiagClass::Unsupported, "tensor '{}' is of {}, which has no values here",
                     excerpt(tensor.name()), elementTypeName(tensor.data_type()));
  Shape shape = Shape::tensor(*type, {tensor.dims().begin(), tensor.dims().end()});
  if (shape.rank() > hlo_limits::rank)
    return makeError(DiagClass::Unsupported, "tensor '{}' has {} dims, at most {} are read",
                     excerpt(tensor.name()), shape.rank(), hlo_limits::rank);
  for (int64_t extent : shape.dims)
    if (extent < 0)
      return makeError(DiagClass::BadInput, "tensor '{}' has a dim of {} elements",
                       excerpt(tensor.name()), extent);
  const std::optional<int64_t> count = shape.elementCount();
  if (!count || *count > (int64_t(1) << 40))
    return makeError(DiagClass::BadInput, "tensor '{}' has too many elements",
                     excerpt(tensor.name()));
  return shape;
}

llvm::Error checkExternal(const ::onnx::TensorProto &tensor, const std::string &folder) {
  return isExternal(tensor) ? externalPlace(tensor, folder).takeError() : llvm::Error::success();
}

llvm::Expected<Tensor> readTensor(const ::onnx::TensorProto &tensor, const std::string &folder) {
  llvm::Expected<Shape> shape = shapeOfTensor(tensor);
  if (!shape)
    return shape.takeError();
  std::string bytes;
  if (isExternal(tensor)) {
    llvm::Expected<std::string> read = externalBytes(tensor, folder);
    if (!read)
      return read.takeError();
    bytes = std::move(*read);
  } else if (tensor.has_raw_data()) {
    bytes = tensor.raw_data();
  } else {
    bytes = bytesOfLists(tensor, shape->dtype);
  }
  llvm::Expected<Tensor> values = unpackTensor(*shape, std::as_bytes(std::span(bytes)));
  if (!values) {
    llvm::consumeError(values.takeError());
    return makeError(DiagClass::BadInput, "tensor '{}' of {} has {} bytes of values",
                     excerpt(tensor.name()), shape->str(false), bytes.size());
  }
  return values;
}

} // namespace tilewright::onnx_format
