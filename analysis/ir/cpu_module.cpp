#include "analysis/ir/cpu_module.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace tilewright {

namespace {

std::string_view attributeText(const Op &op, std::string_view name) {
  auto it = std::find_if(op.rawAttrs.begin(), op.rawAttrs.end(),
                         [&](const RawAttribute &attribute) { return attribute.name == name; });
  return it == op.rawAttrs.end() ? std::string_view() : std::string_view(it->text);
}

/// What XLA's CPU compiler writes: xla/backends/cpu/codegen and
/// xla/service/cpu/backend_config.proto.
std::string signOfCompiler(const Op &op) {
  const std::string_view config = attributeText(op, "backend_config");
  for (std::string_view kind : {"__ynn_fusion", "__xnn_fusion", "__onednn_fusion"})
    if (op.opcode == Opcode::Fusion && config.find(kind) != std::string_view::npos)
      return fmt::format("a fusion of kind {}", kind);
  if (config.find("outer_dimension_partitions") != std::string_view::npos)
    return "outer_dimension_partitions, by which its threads share an op";
  if (attributeText(op, "frontend_attributes").find("xla_cpu_") != std::string_view::npos)
    return "an attribute xla_cpu_*";
  return {};
}

/// Libraries that only CPUs have.
std::string signOfLibrary(const Op &op) {
  constexpr std::array<std::string_view, 6> prefixes = {"lapack_", "__onednn$", "__ynn",
                                                        "__xnn",   "ducc_fft",  "__cpu$"};
  const std::string_view target = op.attrs.customCallTarget;
  if (op.opcode == Opcode::CustomCall &&
      std::any_of(prefixes.begin(), prefixes.end(),
                  [&](std::string_view prefix) { return target.starts_with(prefix); }))
    return fmt::format("a call of {}", target);
  return {};
}

/// The numbers of a literal without braces and blanks.
std::string bareLiteral(const std::string &literal) {
  std::string bare;
  std::copy_if(literal.begin(), literal.end(), std::back_inserter(bare),
               [](char c) { return (c >= '0' && c <= '9') || c == ','; });
  return bare;
}

/// JAX's random numbers are a loop over tables of rotations for a CPU, written out or one call for
/// a GPU (jax/_src/prng.py, use_rolled_loops).
std::string signOfRandomNumbers(const Op &op) {
  const bool isTable = op.opcode == Opcode::Constant && !op.shape.isTuple &&
                       op.shape.dtype == DType::U32 && op.shape.dims == std::vector<int64_t>{4} &&
                       bareLiteral(op.literal) == "13,15,26,6";
  return isTable ? "random numbers (threefry) rolled into a loop" : "";
}

} // namespace

std::string CpuSign::note() const {
  return isCompiled
             ? fmt::format("this module was compiled for a CPU: {}; its fusions and types are a "
                           "CPU's, and so the times here are not those that a GPU would take for "
                           "the model; give the module as it was before optimisation",
                           what)
             : fmt::format("this module was lowered for a CPU: {}; a GPU runs another program "
                           "there; lower it for one, which needs no GPU",
                           what);
}

std::optional<CpuSign> cpuSign(const Module &module) {
  std::optional<CpuSign> lowered;
  for (uint32_t g = 0; g < module.all().size(); ++g)
    for (uint32_t i = 0; i < module.all()[g].size(); ++i) {
      const Op &op = module.all()[g].op(OpId{i});
      if (std::string what = signOfCompiler(op); !what.empty())
        return CpuSign{GraphId{g}, OpId{i}, true, std::move(what)};
      if (lowered)
        continue;
      std::string what = signOfLibrary(op);
      if (what.empty())
        what = signOfRandomNumbers(op);
      if (!what.empty())
        lowered = CpuSign{GraphId{g}, OpId{i}, false, std::move(what)};
    }
  return lowered;
}

} // namespace tilewright
