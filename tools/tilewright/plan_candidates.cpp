#include "tools/tilewright/plan_candidates.h"

#include "analysis/import/hlo_text.h"
#include "codegen/expectation.h"
#include "codegen/lower.h"
#include "codegen/pack_manifest.h"

#include <set>

namespace tilewright::cli {

namespace {

/// Identity of a plan: its ops and configuration.
std::string identityOf(const DatasetRow &row) {
  std::string text = row.identity.group;
  for (size_t i = 0; i < row.choice.values.size(); ++i)
    text += fmt::format(" {}={}", (*row.choice.names)[i], row.choice.values[i]);
  return text + " " + std::string(toString(row.choice.instruction));
}

/// The row of one plan. Unsupported: no code, or no price.
llvm::Expected<DatasetRow> rowOf(const KernelSpec &spec, const Device &device) {
  auto code = lowerKernel(spec, CodeMode::Device);
  if (!code)
    return code.takeError();
  auto plan = planOf(spec);
  if (!plan)
    return plan.takeError();
  auto features = featuresOf(*plan, device);
  if (!features)
    return features.takeError();
  DatasetRow row;
  const Graph &graph = spec.graph();
  std::vector<OpId> parameters = graph.parameters();
  DType type = graph[parameters.empty() ? graph.root() : parameters.front()].shape.dtype;
  row.identity.family = fmt::format("{}/{}", code->kind, toString(type));
  row.identity.group = row.identity.shape = hashOf(printHlo(*spec.module));
  std::vector<std::string> names;
  for (const TileParameter &parameter : plan->tiled->space.parameters)
    names.push_back(parameter.name);
  row.choice = {std::make_shared<const std::vector<std::string>>(std::move(names)), plan->values,
                plan->instruction};
  row.features = std::move(*features);
  return row;
}

} // namespace

llvm::Expected<PlanCandidates> addCandidates(std::span<const std::string> files,
                                             const Device &device, Dataset &data) {
  std::set<std::string> known;
  for (const DatasetRow &row : data.rows)
    known.insert(identityOf(row));
  PlanCandidates result;
  for (const std::string &file : files) {
    auto text = readFile(file);
    if (!text)
      return text.takeError();
    auto spec = parsePlan(file, *text);
    if (!spec)
      return spec.takeError();
    auto row = rowOf(*spec, device);
    if (!row) {
      Diag diag = takeDiag(row.takeError());
      if (diag.cls == DiagClass::Internal)
        return makeError(std::move(diag));
      result.unused.push_back(file + ": " + diag.message);
      continue;
    }
    if (!known.insert(identityOf(*row)).second) {
      result.unused.push_back(file + ": measured already, or given twice");
      continue;
    }
    row->table = static_cast<unsigned>(data.files.size());
    row->line = 1;
    data.files.push_back(file);
    result.rows.push_back(data.rows.size());
    result.texts.push_back(std::move(*text));
    result.files.push_back(file);
    data.rows.push_back(std::move(*row));
  }
  return result;
}

} // namespace tilewright::cli
