#include "costmodel/measured_plans.h"

#include "analysis/import/import_file.h"
#include "analysis/support/json_guard.h"
#include "analysis/support/printable.h"
#include "analysis/tiling/plan_text.h"

#include <nlohmann/json.hpp>

namespace tilewright {

bool MeasuredPlans::describes(const Table &table) {
  return table.column("problem") && table.column("plan") && table.column("regime");
}

llvm::Error MeasuredPlans::readProblems(const Table &table) {
  std::string path = table.name();
  if (path.ends_with(".gz"))
    path.resize(path.size() - 3);
  path += ".problems.json";
  auto text = readFile(path);
  if (!text) {
    Diag diag = takeDiag(text.takeError());
    diag.notes.push_back("tilewright-profile writes that file beside its rows; keep them together");
    return makeError(std::move(diag));
  }
  if (auto error = checkJson(*text, 32, path))
    return error;
  using Json = nlohmann::json;
  Json root = Json::parse(*text, nullptr, false);
  if (!root.is_object() || !root.contains("problems") || !root["problems"].is_array() ||
      root.value("schema", Json()) != "tilewright.problems")
    return makeError(DiagClass::BadInput, "{}: no document of schema tilewright.problems", path);
  size_t number = 0;
  for (const Json &problem : root["problems"]) {
    bool isWhole = problem.is_object() && problem.contains("hash") && problem.contains("hlo") &&
                   problem["hash"].is_string() && problem["hlo"].is_string();
    if (!isWhole)
      return makeError(DiagClass::BadInput, "{}: problems[{}] has no hash and hlo", path, number);
    problems.try_emplace(problem["hash"].get<std::string>(),
                         Problem{problem["hlo"].get<std::string>(), "", nullptr});
    ++number;
  }
  return llvm::Error::success();
}

llvm::Expected<KernelPlan> MeasuredPlans::planOf(const TableRow &row) {
  auto known = problems.find(row.text("problem"));
  if (known == problems.end())
    return row.error(
        fmt::format("problem '{}' is not in the file of problems", excerpt(row.text("problem"))));
  Problem &problem = known->second;
  if (!problem.prototype) {
    auto module = importBuffer(std::make_shared<SourceBuffer>(
        fmt::format("(ops of problem {})", known->first), problem.hlo));
    if (!module)
      return module.takeError();
    const Graph &graph = module->entry();
    std::vector<OpId> parameters = graph.parameters();
    problem.dtype =
        std::string(toString(parameters.empty() ? graph[graph.root()].shape.dtype
                                                : graph[parameters.front()].shape.dtype));
    auto plan = planOfEntry(std::make_shared<const Module>(std::move(*module)));
    if (!plan)
      return plan.takeError();
    problem.prototype = std::make_shared<const KernelPlan>(std::move(*plan));
  }
  KernelPlan plan = *problem.prototype;
  plan.name = std::string(row.text("kernel"));
  if (auto error = assignText(plan, row.text("plan")))
    return row.error(takeDiag(std::move(error)).message);
  return plan;
}

std::string MeasuredPlans::familyOf(const TableRow &row) const {
  auto known = problems.find(row.text("problem"));
  return fmt::format("{}/{}", row.text("kind"),
                     known == problems.end() || known->second.dtype.empty() ? "?"
                                                                            : known->second.dtype);
}

std::set<size_t> rowsThatCount(const Table &table) {
  std::set<size_t> result;
  std::map<std::pair<std::string, std::string>, size_t> last;
  for (size_t i = 0; i < table.rowCount(); ++i) {
    TableRow row(table, i);
    if (row.text("role") == "incumbent")
      continue;
    // Rows are in order of measurement, later attempts after earlier ones.
    std::pair key(std::string(row.text("problem")) + " " + std::string(row.text("plan")) + " " +
                      std::string(row.text("board")) + std::string(row.text("uuid")),
                  std::string(row.text("regime")));
    auto [at, isNew] = last.try_emplace(key, i);
    if (!isNew) {
      result.erase(at->second);
      at->second = i;
    }
    result.insert(i);
  }
  return result;
}

} // namespace tilewright
