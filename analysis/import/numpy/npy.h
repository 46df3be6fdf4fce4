// Arrays as numpy saves them: .npy and .npz (numpy.lib.format, versions 1 to 3).
#pragma once

#include "analysis/ir/tensor.h"
#include "analysis/support/diag.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct NumpyArray {
  std::string name;  ///< "weights.npz: layer_0"; for errors
  std::string key;   ///< of a member of an .npz without ".npy"; empty for an .npy
  std::string descr; ///< "<f4"
  std::vector<int64_t> dims;
  bool isColumnMajor = false;
  std::string elements; ///< as many bytes as dims and descr say
};

/// The array of an .npy, or those of an .npz in order. BadInput where the file is none, is cut off
/// or goes on, or holds Python objects, records or text.
llvm::Expected<std::vector<NumpyArray>> readNumpy(const std::string &path);

/// The same for bytes in memory.
llvm::Expected<std::vector<NumpyArray>> parseNumpy(const std::string &name, std::string_view bytes);

/// The array as a tensor of that shape. The dims must be the same. Of another type it is taken
/// where every element keeps its value: f4 as bf16, i8 as s32. Types that numpy has no name for
/// (bf16, the 8- and 4-bit floats) are read from `V1` and `V2` as ml_dtypes saves them, elements
/// under a byte one a byte.
llvm::Expected<Tensor> tensorOf(const NumpyArray &array, const Shape &shape);

} // namespace tilewright
