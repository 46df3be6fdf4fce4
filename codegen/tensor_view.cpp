#include "codegen/tensor_view.h"

namespace tilewright {

llvm::Expected<TensorMap> tensorMapOf(const StridedView &view, unsigned buffer, DType type,
                                      const std::vector<BoxDim> &dims, int64_t swizzleBytes) {
  int64_t elementBytes = bitWidth(type) / 8;
  TensorMap map;
  map.parameter = buffer;
  map.offsetBytes = view.offset * elementBytes;
  map.dtype = type;
  map.swizzleBytes = swizzleBytes;
  if (map.offsetBytes % 16 != 0)
    return makeError(DiagClass::Unsupported, "its first element is {} bytes past a multiple of 16",
                     map.offsetBytes % 16);
  for (size_t i = 0; i < dims.size(); ++i) {
    const BoxDim &dim = dims[i];
    if (i > 0 && (dim.stride * elementBytes % 16 != 0 || dim.stride <= 0))
      return makeError(DiagClass::Unsupported,
                       "a stride of {} bytes is not a positive multiple of 16",
                       dim.stride * elementBytes);
    if (dim.box > 256 || dim.extent > UINT32_MAX)
      return makeError(DiagClass::Unsupported, "a box of {} in a dim of {} elements", dim.box,
                       dim.extent);
    map.dims.push_back(dim.extent);
    map.box.push_back(dim.box);
    if (i > 0)
      map.strides.push_back(dim.stride * elementBytes);
  }
  if (map.box[0] * elementBytes % 16 != 0)
    return makeError(DiagClass::Unsupported, "rows of {} bytes in a box are no multiple of 16",
                     map.box[0] * elementBytes);
  if (map.dims.size() > 5)
    return makeError(DiagClass::Unsupported, "{} dims, at most 5 are allowed", map.dims.size());
  return map;
}

} // namespace tilewright
