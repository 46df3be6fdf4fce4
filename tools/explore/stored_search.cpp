#include "tools/explore/stored_search.h"

#include "analysis/import/hlo_attribute_printer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <sstream>

namespace tilewright {

namespace {

/// Attributes that are names, or say nothing that a plan depends on.
constexpr std::array namesAndMetadata = {"metadata",
                                         "calls",
                                         "to_apply",
                                         "body",
                                         "condition",
                                         "select",
                                         "scatter",
                                         "branch_computations",
                                         "called_computations",
                                         "frontend_attributes",
                                         "origin",
                                         "control-predecessors"};

bool isKept(std::string_view attribute) {
  return std::find(namesAndMetadata.begin(), namesAndMetadata.end(), attribute) ==
         namesAndMetadata.end();
}

/// Writes ops by number.
class KernelWriter {
public:
  explicit KernelWriter(const Module &module) : module(module) {}

  std::string run(const KernelSource &source) {
    const Graph &graph = module.graph(source.graph);
    const Group &group = source.group;
    std::set<OpId> shown(group.ops.begin(), group.ops.end());
    addProducers(graph, shown);
    std::vector<OpId> order(shown.begin(), shown.end());
    out += fmt::format("kind {}\n", static_cast<int>(source.kind));
    writeOps(graph, order);
    auto list = [&](const char *what, const std::vector<OpId> &ops) {
      out += what;
      for (OpId id : ops)
        out += fmt::format(" {}", numberIn(order, id));
      out += "\n";
    };
    list("ops", group.ops);
    list("roots", group.roots);
    list("inputs", group.inputs);
    for (const auto &[id, extents] : group.within)
      out += fmt::format("within {} {}\n", numberIn(order, id), fmt::join(extents, ","));
    for (OpId id : group.roots)
      out += id == graph.root() ? "result" : "used";
    return std::move(out);
  }

private:
  /// What the ops read, and what that is made of: whether an input is a view of another, a
  /// constant, an argument.
  static void addProducers(const Graph &graph, std::set<OpId> &shown) {
    constexpr int steps = 3;
    std::vector<OpId> last(shown.begin(), shown.end());
    for (int step = 0; step < steps; ++step) {
      std::vector<OpId> next;
      for (OpId id : last)
        for (OpId operand : graph.op(id).operands)
          if (shown.insert(operand).second)
            next.push_back(operand);
      last = std::move(next);
    }
  }

  static std::string numberIn(const std::vector<OpId> &order, OpId id) {
    auto at = std::lower_bound(order.begin(), order.end(), id);
    return at != order.end() && *at == id ? fmt::format("{}", at - order.begin()) : "?";
  }

  void writeOps(const Graph &graph, const std::vector<OpId> &order) {
    for (OpId id : order) {
      const Op &op = graph.op(id);
      out += fmt::format("{} = {} {}(", numberIn(order, id), op.shape.str(), toString(op.opcode));
      // An argument's number only tells arguments of a called computation apart.
      if (op.opcode == Opcode::Parameter && depth > 0)
        out += fmt::format("#{}", op.attrs.parameterNumber);
      out += op.literal;
      for (OpId operand : op.operands)
        out += fmt::format(" {}", numberIn(order, operand));
      out += ")";
      for (const RawAttribute &attribute : op.rawAttrs)
        if (isKept(attribute.name))
          out += fmt::format(" {}={}", attribute.name, attribute.text);
      for (const auto &[name, text] : typedAttributes(module, op))
        if (isKept(name))
          out += fmt::format(" {}:{}", name, text);
      for (const CalledGraph &called : op.called)
        writeCalled(called);
      out += "\n";
    }
  }

  void writeCalled(const CalledGraph &called) {
    const Graph &graph = module.graph(called.graph);
    std::vector<OpId> all;
    for (uint32_t i = 0; i < graph.size(); ++i)
      all.push_back(OpId{i});
    out += fmt::format(" {}{{\n", static_cast<int>(called.role));
    ++depth;
    writeOps(graph, all);
    --depth;
    out += fmt::format("root {}}}", graph.root().index);
  }

  const Module &module;
  std::string out;
  int depth = 0;
};

/// "raw feasible priced exhaustive", then a line a plan: instruction and values.
std::string textOf(const PlanRanking &ranking) {
  std::string text = fmt::format("{} {} {} {}\n", ranking.raw, ranking.feasible, ranking.priced,
                                 ranking.isExhaustive ? 1 : 0);
  for (const RankedPlan &each : ranking.best)
    text +=
        fmt::format("{} {}\n", toString(each.plan.instruction), fmt::join(each.plan.values, " "));
  return text;
}

/// The plan of a line; nothing where it is none of these.
std::optional<KernelPlan> planOf(const std::string &line, const KernelPlans &plans) {
  std::istringstream words(line);
  std::string instruction;
  words >> instruction;
  for (const KernelPlan &space : plans.spaces()) {
    if (toString(space.instruction) != instruction)
      continue;
    KernelPlan plan = space;
    plan.values.clear();
    for (int64_t value; words >> value;)
      plan.values.push_back(value);
    const std::vector<TileParameter> &parameters = space.tiled->space.parameters;
    if (!words.eof() || plan.values.size() != parameters.size() ||
        std::any_of(plan.values.begin(), plan.values.end(), [](int64_t v) { return v < 1; }))
      return std::nullopt;
    return plan;
  }
  return std::nullopt;
}

/// What a text of the store says; nothing where it does not fit the plans.
std::optional<PlanRanking> rankingOf(const std::string &text, const KernelPlans &plans,
                                     size_t top) {
  std::istringstream lines(text);
  PlanRanking ranking;
  int isExhaustive = 0;
  std::string line;
  if (!std::getline(lines, line))
    return std::nullopt;
  std::istringstream counts(line);
  if (!(counts >> ranking.raw >> ranking.feasible >> ranking.priced >> isExhaustive))
    return std::nullopt;
  ranking.isExhaustive = isExhaustive == 1;
  while (std::getline(lines, line)) {
    std::optional<KernelPlan> plan = planOf(line, plans);
    if (!plan || ranking.best.size() == top)
      return std::nullopt;
    llvm::Expected<Estimate> estimate = plans.price(*plan);
    if (!estimate) {
      llvm::consumeError(estimate.takeError());
      return std::nullopt;
    }
    ranking.best.push_back({std::move(*plan), std::move(*estimate)});
  }
  if (ranking.best.empty())
    return std::nullopt;
  return ranking;
}

} // namespace

std::string kernelText(const Module &module, const KernelSource &source) {
  return KernelWriter(module).run(source);
}

std::string searchKey(const Module &module, const KernelSource &source, const PlanOptions &plans,
                      const PlanSearchOptions &search, std::string_view context) {
  const std::string options = fmt::format(
      "cache {} instruction {} registers {} top {} priced {} refined {} nodes {} thorough {}",
      static_cast<int>(plans.cache),
      plans.instruction ? std::string(toString(*plans.instruction)) : "auto",
      plans.registers ? fmt::format("{}", *plans.registers) : "estimated", search.top,
      search.maxPriced, search.refinedTilings, search.maxNodes, search.isThorough);
  llvm::SHA256 hash;
  for (const std::string &part : {std::string(context), options, kernelText(module, source)}) {
    hash.update(fmt::format("{}:", part.size()));
    hash.update(part);
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

llvm::Expected<PlanRanking> storedSearch(const KernelPlans &plans, const KernelSource &source,
                                         const PlanSearchOptions &options, PlanStore *store,
                                         std::string_view context) {
  if (!store)
    return plans.search(options);
  const Module &module = *plans.spaces().front().module;
  const std::string key = searchKey(module, source, plans.options, options, context);
  if (std::optional<std::string> text = store->find(key)) {
    if (std::optional<PlanRanking> known = rankingOf(*text, plans, options.top))
      return std::move(*known);
  }
  llvm::Expected<PlanRanking> ranking = plans.search(options);
  if (ranking && !ranking->best.empty())
    store->keep(key, textOf(*ranking));
  return ranking;
}

} // namespace tilewright
