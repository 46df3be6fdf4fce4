#include "codegen/tensor_view.h"

#include "analysis/affine/linear_form.h"

namespace tilewright {

llvm::Expected<TensorView> tensorViewOf(ValueEmitter &emitter, OpId op) {
  const Op &viewed = emitter.graph()[op];
  llvm::Value *unused = emitter.builder().c32(0);
  Coordinates at;
  for (int64_t extent : viewed.shape.dims)
    at.push_back(emitter.variable(VarKind::Dim, "element", Interval::ofExtent(extent), unused));
  auto seen = emitter.seenThroughMovement(op, at);
  if (!seen)
    return makeError(DiagClass::Unsupported, "%{} is computed, not read from memory", viewed.name);
  const Op &parameter = emitter.graph()[seen->first];
  TensorView view;
  view.buffer = static_cast<unsigned>(parameter.attrs.parameterNumber);
  view.strides.assign(at.size(), 0);
  if (seen->second.empty())
    return view;
  LinearForm offset =
      LinearForm::of(emitter.simplify(ValueEmitter::offsetOf(parameter.shape, seen->second)));
  view.offset = offset.constant;
  for (const LinearForm::Term &term : offset.terms) {
    bool isDim = false;
    for (size_t d = 0; d < at.size() && !isDim; ++d)
      if (term.expr == at[d]) {
        view.strides[d] = term.coefficient;
        isDim = true;
      }
    if (!isDim)
      return makeError(DiagClass::Unsupported,
                       "the elements of %{} lie in %{} at no fixed distance from each other",
                       viewed.name, parameter.name);
  }
  return view;
}

llvm::Expected<TensorMap> tensorMapOf(const TensorView &view, DType type,
                                      const std::vector<BoxDim> &dims, int64_t swizzleBytes) {
  int64_t elementBytes = bitWidth(type) / 8;
  TensorMap map;
  map.parameter = view.buffer;
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
