#include "codegen/locate.h"

#include "analysis/ir/evaluator.h"

#include <bit>
#include <cmath>

namespace tilewright {

llvm::Expected<WrongValueFinder> WrongValueFinder::make(const KernelSpec &spec,
                                                        std::span<const Tensor> arguments,
                                                        double tolerance) {
  WrongValueFinder finder(spec, tolerance);
  EvalOptions options;
  GraphId entry = spec.module->entryId;
  options.onResult = [&](const OpInstance &instance, std::span<const Tensor *const> leaves) {
    if (instance.graph != entry || leaves.size() != 1 ||
        leaves[0]->wordsPerElement() != 1) // complex ones are compared as results only
      return;
    OpValues &op = finder.ops[instance.op.index];
    op.reference = *leaves[0];
    double squares = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < op.reference.size(); ++i)
      if (double value = op.reference.asDouble(i); std::isfinite(value)) {
        squares += value * value;
        ++finite;
      }
    op.scale = finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  };
  auto results = evaluate(*spec.module, entry, arguments, options);
  if (!results)
    return results.takeError();
  return finder;
}

void WrongValueFinder::see(const TracedValue &value) {
  auto found = ops.find(static_cast<uint32_t>(value.number));
  if (found == ops.end() || value.element < 0 || value.element >= found->second.reference.size())
    return;
  OpValues &op = found->second;
  DType type = op.reference.shape().dtype;
  double got = isFloat(type) ? std::bit_cast<double>(value.bits)
               : dtypeClass(type) == DTypeClass::Signed
                   ? static_cast<double>(static_cast<int64_t>(value.bits))
                   : static_cast<double>(value.bits);
  double expected = op.reference.asDouble(value.element);
  ++op.seen;
  bool isRight = std::isnan(expected)
                     ? std::isnan(got)
                     : got == expected || (std::isfinite(got) && std::isfinite(expected) &&
                                           std::abs(got - expected) <=
                                               tolerance * std::max(std::abs(expected), op.scale));
  if (isRight)
    return;
  if (op.wrong++ == 0) {
    op.first = value;
    op.got = got;
  }
}

int64_t WrongValueFinder::seen() const {
  int64_t count = 0;
  for (const auto &[index, op] : ops)
    count += op.seen;
  return count;
}

std::string WrongValueFinder::operandsOf(OpId id) const {
  const Graph &graph = spec->graph();
  std::string right, unseen;
  for (OpId operand : graph[id].operands) {
    auto found = ops.find(operand.index);
    bool isSeen = found != ops.end() && found->second.seen > 0;
    std::string &list = isSeen ? right : unseen;
    if (list.find("%" + graph[operand].name) == std::string::npos)
      list += (list.empty() ? "%" : ", %") + graph[operand].name;
  }
  std::string text;
  if (!right.empty())
    text += "; right as far as seen: " + right;
  if (!unseen.empty())
    text += "; not seen: " + unseen;
  return text;
}

std::string WrongValueFinder::describe(const std::vector<std::string> &steps) const {
  for (const auto &[index, op] : ops) { // operands come before their users
    if (op.wrong == 0)
      continue;
    const Shape &shape = op.reference.shape();
    std::vector<int64_t> at(shape.rank());
    for (size_t i = shape.rank(), rest = static_cast<size_t>(op.first.element); i-- > 0;) {
      auto extent = static_cast<size_t>(shape.dims[i]);
      at[i] = static_cast<int64_t>(rest % extent);
      rest /= extent;
    }
    std::string step = op.first.step < 0 ? "before the first step"
                                         : fmt::format("after step {} ({})", op.first.step,
                                                       steps[static_cast<size_t>(op.first.step)]);
    return fmt::format("%{}[{}] is {:.9g}, expected {:.9g}, in CTA {}, thread {}, {}; {} of {} "
                       "values of it are wrong{}",
                       spec->graph()[OpId{index}].name, fmt::join(at, ", "), op.got,
                       op.reference.asDouble(op.first.element), op.first.cta, op.first.thread, step,
                       op.wrong, op.seen, operandsOf(OpId{index}));
  }
  return "";
}

} // namespace tilewright
