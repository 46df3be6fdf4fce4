#include "codegen/check.h"

#include "analysis/ir/evaluator.h"
#include "analysis/tiling/matrix_product.h"
#include "codegen/expectation.h"
#include "codegen/extract.h"
#include "codegen/locate.h"
#include "codegen/lower.h"
#include "codegen/point_reference.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
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

/// The order in which CTAs are run: first, last, then by bisection, so that any prefix is spread
/// over the grid. CTAs that share a tile stay together.
std::vector<int64_t> spreadCtas(int64_t ctas, int64_t together, int64_t most) {
  int64_t grid = ctas / together;
  std::vector<int64_t> order{0};
  std::set<int64_t> seen{0};
  auto add = [&](int64_t cta) {
    if (seen.insert(cta).second)
      order.push_back(cta);
  };
  add(grid - 1);
  for (int64_t parts = 2; static_cast<int64_t>(order.size()) < std::min(grid, most); parts *= 2)
    for (int64_t i = 1; i < parts && static_cast<int64_t>(order.size()) < most; i += 2)
      add(static_cast<int64_t>(static_cast<__int128>(grid) * i / parts));
  std::vector<int64_t> result;
  for (int64_t set : order)
    for (int64_t i = 0; i < together; ++i)
      result.push_back(set * together + i);
  return result;
}

struct Difference {
  double maxError = 0;
  int64_t worst = -1; ///< element
  std::complex<double> got, expected;
  int64_t unwritten = -1; ///< first element that was not written
};

/// The elements (logical row-major) that were written; the first one that was not.
std::vector<int64_t> writtenElements(const Shape &shape, const std::vector<bool> &written,
                                     int64_t &unwritten) {
  std::vector<int64_t> order = physicalOrder(shape), result;
  size_t bits = bitWidth(shape.dtype);
  int64_t count = shape.elementCount().value_or(0);
  unwritten = -1;
  for (int64_t position = 0; position < count; ++position) {
    int64_t element = order.empty() ? position : order[static_cast<size_t>(position)];
    if (written[static_cast<size_t>(position) * bits / 8])
      result.push_back(element);
    else if (unwritten < 0)
      unwritten = element;
  }
  return result;
}

std::complex<double> valueAt(const Tensor &tensor, int64_t element) {
  return tensor.wordsPerElement() == 2 ? tensor.complex(element) : tensor.asDouble(element);
}
bool isNan(std::complex<double> x) { return std::isnan(x.real()) || std::isnan(x.imag()); }
bool isFinite(std::complex<double> x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }

/// The number as text, with its imaginary part if it has one.
std::string shown(std::complex<double> x) {
  return x.imag() == 0 ? fmt::format("{:.9g}", x.real())
                       : fmt::format("({:.9g}, {:.9g})", x.real(), x.imag());
}

/// `expected` gives the reference of an element.
llvm::Error compare(const Tensor &got, std::span<const int64_t> elements,
                    const std::function<llvm::Expected<std::complex<double>>(int64_t)> &expected,
                    Difference &result) {
  std::vector<std::complex<double>> references;
  double sumOfSquares = 0;
  int64_t finite = 0;
  for (int64_t element : elements) {
    auto reference = expected(element);
    if (!reference)
      return reference.takeError();
    references.push_back(*reference);
    if (isFinite(*reference)) {
      sumOfSquares += std::norm(*reference);
      ++finite;
    }
  }
  double scale = finite ? std::sqrt(sumOfSquares / static_cast<double>(finite)) : 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    std::complex<double> value = valueAt(got, elements[i]), wanted = references[i];
    double error = 0;
    if (isNan(wanted) || isNan(value))
      error = isNan(wanted) == isNan(value) ? 0 : INFINITY;
    else if (value != wanted)
      error = isFinite(value) && isFinite(wanted)
                  ? std::abs(value - wanted) / std::max(std::abs(wanted), scale)
                  : INFINITY;
    if (error > result.maxError || result.worst < 0) {
      result.maxError = error;
      result.worst = elements[i];
      result.got = value;
      result.expected = wanted;
    }
  }
  return llvm::Error::success();
}

/// At most `most` of the elements, spread evenly, first and last among them.
std::vector<int64_t> sample(const std::vector<int64_t> &elements, size_t most) {
  if (elements.size() <= most)
    return elements;
  std::vector<int64_t> result;
  for (size_t i = 0; i < most; ++i)
    result.push_back(elements[i * (elements.size() - 1) / (most - 1)]);
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

double toleranceOf(const Graph &graph, Instruction instruction) {
  double tolerance = 0;
  for (const Op &op : graph.all()) {
    if (op.shape.isTuple)
      continue;
    const bool isProduct = op.opcode == Opcode::Dot || op.opcode == Opcode::Convolution;
    if (isProduct && instruction != Instruction::Fma &&
        graph[op.operands[0]].shape.dtype == DType::F32 && tf32Products(graph, op) == 1)
      tolerance = std::max(tolerance, 4e-3); // ten bits of mantissa; the rest is cut off
    switch (op.shape.dtype) {
    case DType::F64:
    case DType::C128:
      tolerance = std::max(tolerance, 1e-12);
      break;
    case DType::F32:
    case DType::C64:
      tolerance = std::max(tolerance, 5e-5);
      break;
    case DType::F16:
      tolerance = std::max(tolerance, 0.004);
      break;
    default:
      if (isFloat(op.shape.dtype))
        tolerance = std::max(tolerance, 0.03);
    }
  }
  return tolerance;
}

CheckOutcome checkKernel(const KernelSpec &spec, const CheckOptions &options) {
  auto run = [&](CodeMode mode) {
    auto kernel = lowerKernel(spec, mode);
    return kernel ? checkKernel(spec, std::move(*kernel), options) : fromError(kernel.takeError());
  };
  CheckOutcome outcome = run(CodeMode::Emulation);
  if (outcome.status != CheckOutcome::Status::Fail)
    return outcome;
  // Run once more, traced, to say where it goes wrong.
  CheckOutcome traced = run(CodeMode::Traced);
  return traced.status == CheckOutcome::Status::Fail ? traced : outcome;
}

CheckOutcome checkKernel(const KernelSpec &spec, KernelModule module, const CheckOptions &options) {
  constexpr int64_t maxElements = int64_t(1) << 26;
  int64_t elements = 0;
  for (const KernelParameter &parameter : module.parameters)
    if (int64_t count = parameter.shape.elementCount().value_or(INT64_MAX);
        count > maxElements || (elements += count) > maxElements)
      return fromError(makeError(DiagClass::BudgetSpent,
                                 "too large to emulate: more than {} elements in memory",
                                 maxElements));
  std::vector<Tensor> arguments = fillArguments(*spec.module, spec.module->entryId, options.seed);
  // Whole tensors where that is cheap, else single elements of those that were written.
  bool isSampled = evaluationWork(spec.graph()) > options.maxReferenceWork;
  std::vector<Tensor> references;
  if (!isSampled) {
    auto evaluated = evaluate(*spec.module, spec.module->entryId, arguments);
    if (!evaluated)
      return fromError(evaluated.takeError());
    references = std::move(*evaluated);
  }

  CheckOutcome outcome;
  outcome.tolerance = options.tolerance > 0 ? options.tolerance
                                            : toleranceOf(spec.graph(), module.code.instruction);
  std::optional<WrongValueFinder> finder;
  if (module.mode() == CodeMode::Traced && !isSampled) {
    auto made = WrongValueFinder::make(spec, arguments, outcome.tolerance);
    if (!made)
      return fromError(made.takeError());
    finder = std::move(*made);
  }
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
  for (const KernelWorkspace &workspace : compiled->workspaces()) {
    if (workspace.bytes > maxElements * 8)
      return fromError(makeError(DiagClass::BudgetSpent,
                                 "too large to emulate: a workspace of {} bytes", workspace.bytes));
    memory.emplace_back(static_cast<size_t>(workspace.bytes));
    std::memset(memory.back().data, workspace.isZeroed ? 0 : 0xff, memory.back().size);
    buffers.push_back({memory.back().data, workspace.bytes, false, nullptr, true});
  }

  outcome.ctas = compiled->launch().grid;
  EmulationOptions emulation;
  emulation.maxEvents = options.maxEvents;
  if (outcome.ctas > 64)
    emulation.ctas = spreadCtas(outcome.ctas, compiled->ctasTogether(), int64_t(1) << 20);
  emulation.stopWhenSpent = true;
  emulation.weakenWaits = options.weakenWaits;
  if (finder)
    emulation.observer = [&](const TracedValue &value) { finder->see(value); };
  auto run = compiled->run(buffers, emulation);
  if (!run)
    return fromError(run.takeError());
  outcome.counts = *run;
  outcome.ctasRun = run->ctas;
  bool isWhole = outcome.ctasRun == outcome.ctas;
  if (!isWhole)
    outcome.reason = fmt::format("{} of {} CTAs were run", outcome.ctasRun, outcome.ctas);
  if (isSampled)
    outcome.reason +=
        outcome.reason.empty() ? "compared at sampled elements" : ", compared at sampled elements";

  for (size_t i = 0; i < compiled->workspaces().size(); ++i) {
    const AlignedBytes &left = memory[compiled->parameters().size() + i];
    if (compiled->workspaces()[i].isZeroed &&
        std::any_of(left.data, left.data + left.size, [](std::byte b) { return b != std::byte(); }))
      return failed(fmt::format("the {} are not left at zero for the next launch",
                                compiled->workspaces()[i].name));
  }

  std::vector<OpId> results = resultsOf(spec.graph());
  PointReference points(*spec.module, arguments, options.maxReferenceWork);
  constexpr size_t sampledElements = 64;
  size_t result = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].isOutput)
      continue;
    const KernelParameter &parameter = compiled->parameters()[i];
    auto got = unpackTensor(parameter.shape, {memory[i].data, memory[i].size});
    if (!got)
      return fromError(got.takeError());
    Difference comparison;
    std::vector<int64_t> elements =
        writtenElements(parameter.shape, written[i], comparison.unwritten);
    if (isSampled)
      elements = sample(elements, sampledElements);
    auto expected = [&](int64_t element) -> llvm::Expected<std::complex<double>> {
      if (isSampled)
        return points.at(results[result], coordinatesOf(parameter.shape, element));
      return valueAt(references[result], element);
    };
    if (auto error = compare(*got, elements, expected, comparison))
      return fromError(std::move(error));
    ++result;
    outcome.maxRelativeError = std::max(outcome.maxRelativeError, comparison.maxError);
    if (isWhole && comparison.unwritten >= 0) {
      outcome.status = CheckOutcome::Status::Fail;
      outcome.reason =
          fmt::format("%{}: element {} is never written", parameter.name, comparison.unwritten);
    } else if (!(comparison.maxError <= outcome.tolerance)) {
      outcome.status = CheckOutcome::Status::Fail;
      outcome.reason =
          fmt::format("%{}: element {} is {}, expected {}: relative error {:.3g}, allowed {:.3g}",
                      parameter.name, comparison.worst, shown(comparison.got),
                      shown(comparison.expected), comparison.maxError, outcome.tolerance);
    }
  }
  if (finder) {
    outcome.valuesSeen = finder->seen();
    outcome.firstWrong = finder->describe(compiled->steps());
    if (outcome.status == CheckOutcome::Status::Fail && !outcome.firstWrong.empty())
      outcome.reason += "; first wrong: " + outcome.firstWrong;
  }
  return outcome;
}

} // namespace tilewright
