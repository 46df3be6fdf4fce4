#include "codegen/check.h"

#include "analysis/ir/evaluator.h"
#include "codegen/extract.h"
#include "codegen/lower.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <set>

namespace tilewright {

namespace {

/// Memory of one parameter, aligned as a GPU allocation is.
class AlignedBytes {
public:
  explicit AlignedBytes(size_t size)
      : size(size), data(static_cast<std::byte *>(
                        ::operator new(std::max<size_t>(size, 1), std::align_val_t(256)))) {}
  AlignedBytes(AlignedBytes &&other) noexcept
      : size(other.size), data(std::exchange(other.data, nullptr)) {}
  AlignedBytes(const AlignedBytes &) = delete;
  AlignedBytes &operator=(const AlignedBytes &) = delete;
  ~AlignedBytes() {
    if (data)
      ::operator delete(data, std::align_val_t(256));
  }

  size_t size;
  std::byte *data;
};

CheckOutcome failed(std::string reason) {
  CheckOutcome outcome;
  outcome.status = CheckOutcome::Status::Fail;
  outcome.reason = std::move(reason);
  return outcome;
}

CheckOutcome fromError(llvm::Error error) {
  Diag diag = takeDiag(std::move(error));
  CheckOutcome outcome = failed(diag.message);
  if (diag.cls == DiagClass::Unsupported || diag.cls == DiagClass::BudgetSpent)
    outcome.status = CheckOutcome::Status::Skipped;
  return outcome;
}

/// Blocks in the order in which they are worth running: the first, the last, then by bisection,
/// so that any prefix is spread over the grid.
std::vector<int64_t> spreadBlocks(int64_t grid, int64_t most) {
  std::vector<int64_t> order{0};
  std::set<int64_t> seen{0};
  auto add = [&](int64_t block) {
    if (seen.insert(block).second)
      order.push_back(block);
  };
  add(grid - 1);
  for (int64_t parts = 2; static_cast<int64_t>(order.size()) < std::min(grid, most); parts *= 2)
    for (int64_t i = 1; i < parts && static_cast<int64_t>(order.size()) < most; i += 2)
      add(static_cast<int64_t>(static_cast<__int128>(grid) * i / parts));
  return order;
}

struct Difference {
  double maxError = 0;
  int64_t worst = -1;     ///< element
  int64_t unwritten = -1; ///< first element that was not written
};

/// Compares elements that were written, in physical order.
Difference compare(const Tensor &got, const Tensor &reference, const std::vector<bool> &written) {
  unsigned elementBytes = bitWidth(got.dtype()) / 8;
  std::vector<int64_t> order = physicalOrder(got.shape());
  double sumOfSquares = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < reference.size(); ++i)
    if (double value = reference.asDouble(i); std::isfinite(value)) {
      sumOfSquares += value * value;
      ++finite;
    }
  double scale = finite ? std::sqrt(sumOfSquares / static_cast<double>(finite)) : 0;
  Difference result;
  for (int64_t position = 0; position < got.size(); ++position) {
    int64_t i = order.empty() ? position : order[static_cast<size_t>(position)];
    if (!written[static_cast<size_t>(position) * elementBytes]) {
      if (result.unwritten < 0)
        result.unwritten = i;
      continue;
    }
    double value = got.asDouble(i), expected = reference.asDouble(i), error = 0;
    if (std::isnan(expected) || std::isnan(value))
      error = std::isnan(expected) == std::isnan(value) ? 0 : INFINITY;
    else if (value != expected)
      error = std::isfinite(value) && std::isfinite(expected)
                  ? std::abs(value - expected) / std::max(std::abs(expected), scale)
                  : INFINITY;
    if (error > result.maxError || result.worst < 0) {
      result.maxError = error;
      result.worst = i;
    }
  }
  return result;
}

} // namespace

std::string_view toString(CheckOutcome::Status status) {
  switch (status) {
  case CheckOutcome::Status::Pass:
    return "pass";
  case CheckOutcome::Status::Fail:
    return "fail";
  case CheckOutcome::Status::Skipped:
    return "skipped";
  }
  return "";
}

double toleranceOf(const Graph &graph) {
  double tolerance = 0;
  for (const Op &op : graph.all()) {
    if (op.shape.isTuple || !isFloat(op.shape.dtype))
      continue;
    switch (op.shape.dtype) {
    case DType::F64:
      tolerance = std::max(tolerance, 1e-12);
      break;
    case DType::F32:
      tolerance = std::max(tolerance, 5e-5);
      break;
    case DType::F16:
      tolerance = std::max(tolerance, 0.004);
      break;
    default:
      tolerance = std::max(tolerance, 0.03);
    }
  }
  return tolerance;
}

CheckOutcome checkKernel(const KernelSpec &spec, const CheckOptions &options) {
  auto kernel = lowerKernel(spec, CodeMode::Emulation);
  if (!kernel)
    return fromError(kernel.takeError());
  return checkKernel(spec, std::move(*kernel), options);
}

CheckOutcome checkKernel(const KernelSpec &spec, KernelModule module, const CheckOptions &options) {
  std::vector<Tensor> arguments = fillArguments(*spec.module, spec.module->entryId, options.seed);
  EvalOptions evaluation;
  evaluation.maxWork = options.maxReferenceWork;
  auto references = evaluate(*spec.module, spec.module->entryId, arguments, evaluation);
  if (!references)
    return fromError(references.takeError());

  auto compiled = EmulatedKernel::compile(std::move(module));
  if (!compiled)
    return fromError(compiled.takeError());
  std::vector<AlignedBytes> memory;
  std::vector<EmulatorBuffer> buffers;
  std::vector<std::vector<bool>> written(compiled->parameters().size());
  for (size_t i = 0; i < compiled->parameters().size(); ++i) {
    const KernelParameter &parameter = compiled->parameters()[i];
    if (parameter.isOutput) {
      memory.emplace_back(static_cast<size_t>(parameter.shape.byteSize().value_or(0)));
      std::memset(memory.back().data, 0xff, memory.back().size);
      written[i].resize(memory.back().size);
    } else {
      std::vector<std::byte> packed = packTensor(arguments[i]);
      memory.emplace_back(packed.size());
      std::copy(packed.begin(), packed.end(), memory.back().data);
    }
    buffers.push_back({memory.back().data, static_cast<int64_t>(memory.back().size),
                       parameter.isOutput, parameter.isOutput ? &written[i] : nullptr});
  }

  CheckOutcome outcome;
  outcome.tolerance = options.tolerance > 0 ? options.tolerance : toleranceOf(spec.graph());
  outcome.blocks = compiled->launch().grid;
  EmulationOptions emulation;
  emulation.maxEvents = options.maxEvents;
  if (outcome.blocks > 64)
    emulation.blocks = spreadBlocks(outcome.blocks, int64_t(1) << 20);
  emulation.stopWhenSpent = true;
  emulation.weakenWaits = options.weakenWaits;
  auto run = compiled->run(buffers, emulation);
  if (!run)
    return fromError(run.takeError());
  outcome.counts = *run;
  outcome.blocksRun = run->blocks;
  bool isWhole = outcome.blocksRun == outcome.blocks;
  if (!isWhole)
    outcome.reason = fmt::format("{} of {} blocks were run", outcome.blocksRun, outcome.blocks);

  size_t result = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].isOutput)
      continue;
    const KernelParameter &parameter = compiled->parameters()[i];
    const Tensor &reference = (*references)[result++];
    auto got = unpackTensor(parameter.shape, {memory[i].data, memory[i].size});
    if (!got)
      return fromError(got.takeError());
    Difference comparison = compare(*got, reference, written[i]);
    outcome.maxRelativeError = std::max(outcome.maxRelativeError, comparison.maxError);
    if (isWhole && comparison.unwritten >= 0) {
      outcome.status = CheckOutcome::Status::Fail;
      outcome.reason =
          fmt::format("%{}: element {} is never written", parameter.name, comparison.unwritten);
    } else if (!(comparison.maxError <= outcome.tolerance)) {
      outcome.status = CheckOutcome::Status::Fail;
      outcome.reason = fmt::format(
          "%{}: element {} is {:.9g}, expected {:.9g}: relative error {:.3g}, allowed {:.3g}",
          parameter.name, comparison.worst, got->asDouble(comparison.worst),
          reference.asDouble(comparison.worst), comparison.maxError, outcome.tolerance);
    }
  }
  return outcome;
}

} // namespace tilewright
