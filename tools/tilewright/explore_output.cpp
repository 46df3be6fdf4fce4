#include "tools/tilewright/explore_output.h"

#include "analysis/support/printable.h"
#include "tools/tilewright/plan_saving.h"
#include "tools/tilewright/resource_parts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tilewright::cli {

Json planJson(const KernelPlan &plan) {
  Json tile = Json::object(), schedule = Json::object();
  int64_t grid = 1;
  const TileSpace &space = plan.tiled->space;
  for (size_t i = 0; i < space.parameters.size(); ++i) {
    const TileParameter &parameter = space.parameters[i];
    bool isSchedule = parameter.role == TileParameter::Role::Schedule;
    (isSchedule ? schedule : tile)[parameter.name] = plan.values[i];
    if (parameter.role == TileParameter::Role::Parallel)
      grid *= (parameter.largest() + plan.values[i] - 1) / plan.values[i];
  }
  schedule["instruction"] = toString(plan.instruction);
  return {{"tile", tile}, {"schedule", schedule}, {"grid", grid * plan.value("split_k")}};
}

Json leversJson(const std::vector<Lever> &levers) {
  Json result = Json::array();
  for (const Lever &lever : levers) {
    result.push_back({{"what", lever.what}, {"gain_ns", lever.gainNs}});
    if (!lever.because.empty())
      result.back()["because"] = lever.because;
  }
  return result;
}

namespace {

/// Cells row by row; those without a time are explained in `refusals`.
Json tileMapJson(const TileMap &map) {
  auto axis = [](const TileMap::Axis &axis) {
    return Json{{"parameter", axis.parameter}, {"sizes", axis.sizes}};
  };
  Json times = Json::array(), schedules = Json::array(), refusals = Json::array();
  for (size_t i = 0; i < map.cells.size(); ++i) {
    const TileMap::Cell &cell = map.cells[i];
    times.push_back(cell.rule.empty() ? Json(cell.timeNs) : Json());
    if (!cell.rule.empty())
      refusals.push_back({{"cell", i}, {"rule", cell.rule}, {"reason", cell.reason}});
    if (!cell.schedule.empty())
      schedules.push_back({{"cell", i}, {"schedule", cell.schedule}});
  }
  return {{"rows", axis(map.rows)},
          {"columns", axis(map.columns)},
          {"times_ns", times},
          {"schedules", schedules},
          {"refusals", refusals}};
}

Json sequenceJson(const InSequence &sequence) {
  return {{"time_ns", sequence.timeNs},
          {"limiter", sequence.limiter},
          {"missed_bytes", sequence.missedBytes},
          {"written_back_bytes", sequence.writtenBackBytes}};
}

Json kernelJson(const ExploredKernel &kernel, size_t index) {
  const RankedPlan &best = kernel.plans.front();
  const Estimate &estimate = best.estimate;
  Json entry;
  entry["name"] = fmt::format("k{:02}_{}", index, kernel.name);
  if (!kernel.layer.empty()) {
    entry["layer"] = kernel.layer;
    entry["source"] = {{"op_name", kernel.origin.name}};
    if (!kernel.origin.file.empty()) {
      entry["source"]["file"] = kernel.origin.file;
      entry["source"]["line"] = kernel.origin.line;
    }
  }
  entry["ops"] = kernel.ops;
  if (!kernel.recomputed.empty())
    entry["recomputed"] = kernel.recomputed;
  if (kernel.results.size() > 1)
    entry["results"] = kernel.results;
  entry["root_shape"] = kernel.rootShape;
  entry["kind"] = toString(kernel.kind);
  entry["program"] = best.plan.style.name;
  entry["trip_count"] = kernel.tripCount;
  entry["trip_count_is_known"] = kernel.isTripCountKnown;
  if (!kernel.partOf.empty())
    entry["part_of"] = kernel.partOf;
  if (!kernel.computation.empty())
    entry["computation"] = kernel.computation;
  entry["plan"] = planJson(best.plan);
  entry["time_ns"] = estimate.timeNs;
  entry["sigma_ln"] = estimate.sigmaLn;
  if (kernel.inSequence)
    entry["in_sequence"] = sequenceJson(*kernel.inSequence);
  entry["levers"] = leversJson(kernel.levers);
  entry["lower_bound_ns"] = kernel.lowerBoundNs;
  entry["share_of_bound"] = estimate.timeNs > 0 ? kernel.lowerBoundNs / estimate.timeNs : 1;
  entry["time_to_gain_ns"] = double(kernel.tripCount) * (estimate.timeNs - kernel.lowerBoundNs);
  entry["limiter"] = estimate.limiter;
  entry["terms"] = Json::object();
  for (const EstimateTerm &term : estimate.terms)
    entry["terms"][term.name] = term.ns;
  if (!kernel.notes.empty())
    entry["notes"] = kernel.notes;
  entry["flops"] = kernel.flops;
  entry["transcendentals"] = kernel.transcendentals;
  entry["issued_flops"] = estimate.issuedFlops;
  entry["recompute_factor"] = kernel.recomputeFactor;
  if (!kernel.recomputedOps.empty()) {
    entry["recomputed_ops"] = Json::array();
    for (const RecomputedOp &each : kernel.recomputedOps)
      entry["recomputed_ops"].push_back({{"op", each.op}, {"per_element", each.perElement}});
  }
  if (!kernel.uncounted.empty())
    entry["uncounted"] = kernel.uncounted;
  entry["bytes"] = std::llround(estimate.compulsoryBytes);
  entry["dram_bytes"] = estimate.dramReadBytes + estimate.dramWriteBytes;
  entry["l2_bytes"] = estimate.l2Bytes;
  entry["resources"] = {{"registers", estimate.resources.registers},
                        {"shared_bytes", estimate.resources.sharedBytes},
                        {"threads", estimate.resources.warps * 32},
                        {"blocks_per_sm", estimate.resources.ctasPerSm},
                        {"occupancy", estimate.resources.occupancy},
                        {"occupancy_limiter", estimate.resources.occupancyLimiter},
                        {"register_items", partsJson(estimate.resources.registerParts)},
                        {"shared_items", partsJson(estimate.resources.sharedParts)}};
  entry["candidates"] = {{"raw", kernel.raw},
                         {"feasible", kernel.feasible},
                         {"priced", kernel.priced},
                         {"is_exhaustive", kernel.isExhaustive}};
  entry["alternatives"] = Json::array();
  for (size_t i = 0; i < kernel.plans.size(); ++i) {
    const RankedPlan &plan = kernel.plans[i];
    entry["alternatives"].push_back({{"plan", planJson(plan.plan)},
                                     {"time_ns", plan.estimate.timeNs},
                                     {"limiter", plan.estimate.limiter}});
    if (kernel.savings.empty())
      continue;
    const PlanSaving &saving = kernel.savings[i];
    if (saving.layouts)
      entry["alternatives"].back()["layouts_gain_ns"] = saving.layouts->gainNs;
    if (saving.pipeline)
      entry["alternatives"].back()["pipeline_gain_ns"] = saving.pipeline->gainNs;
  }
  if (!kernel.savings.empty())
    addSaving(entry, kernel.savings.front());
  if (!kernel.tileMap.cells.empty())
    entry["tile_map"] = tileMapJson(kernel.tileMap);
  return entry;
}

Json fusionJson(const ExploredFusion &fusion) {
  Json row = {{"first", fusion.first},
              {"second", fusion.second},
              {"is_fused", fusion.isFused},
              {"unfused_time_ns", fusion.unfusedNs},
              {"fused_time_ns", fusion.reason.empty() ? Json(fusion.fusedNs) : Json()}};
  if (!fusion.reason.empty())
    row["reason"] = fusion.reason;
  if (!fusion.computation.empty())
    row["computation"] = fusion.computation;
  return row;
}

} // namespace

Json modelJson(const std::string &path, const ExploredModel &model) {
  Json entry;
  entry["model"] = path;
  entry["ops"] = model.ops;
  entry["computations"] = model.computations;
  entry["kernels"] = Json::array();
  for (const ExploredKernel &kernel : model.kernels)
    entry["kernels"].push_back(kernelJson(kernel, entry["kernels"].size()));
  for (size_t k = 0; k < model.kernels.size(); ++k) {
    Json reads = Json::array();
    for (size_t from : model.kernels[k].reads)
      reads.push_back(entry["kernels"][from]["name"]);
    entry["kernels"][k]["reads"] = std::move(reads);
  }
  auto list = [](const std::vector<UnsupportedOp> &ops) {
    Json result = Json::array();
    for (const UnsupportedOp &op : ops) {
      Json row = {{"op", op.op}, {"reason", op.reason}};
      if (!op.computation.empty())
        row["computation"] = op.computation;
      if (op.flops)
        row["flops"] = *op.flops;
      if (op.bytes)
        row["bytes"] = *op.bytes;
      if (op.linkBytes)
        row["link_bytes"] = *op.linkBytes;
      if (!op.layer.empty())
        row["layer"] = op.layer;
      result.push_back(std::move(row));
    }
    return result;
  };
  entry["unsupported"] = list(model.unsupported);
  entry["assumed"] = Json::array();
  for (const AssumedOp &op : model.assumed) {
    Json row = {{"op", op.op},
                {"reason", op.reason},
                {"read_bytes", std::llround(op.readBytes)},
                {"written_bytes", std::llround(op.writtenBytes)},
                {"time_ns", op.timeNs},
                {"sigma_ln", op.sigmaLn},
                {"flops", std::llround(op.flops)},
                {"link_bytes", std::llround(op.linkBytes)},
                {"trip_count", op.tripCount},
                {"trip_count_is_known", op.isTripCountKnown}};
    if (!op.computation.empty())
      row["computation"] = op.computation;
    if (op.inSequence)
      row["in_sequence"] = sequenceJson(*op.inSequence);
    if (!op.layer.empty())
      row["layer"] = op.layer;
    entry["assumed"].push_back(std::move(row));
  }
  entry["notes"] = list(model.notes);
  entry["no_kernel"] = list(model.noKernel);
  entry["split_groups"] = Json::array();
  for (const SplitGroup &split : model.split)
    entry["split_groups"].push_back(
        {{"root", split.root}, {"ops", split.ops}, {"reason", split.reason}});
  entry["chains"] = Json::array();
  for (const ExploredChain &chain : model.chains) {
    bool isPriced = std::isfinite(chain.unfusedNs);
    Json row = {{"first", chain.first},
                {"second", chain.second},
                {"kernels", chain.kernels},
                {"is_taken", chain.isTaken},
                {"apart_time_ns", isPriced ? Json(chain.unfusedNs) : Json()},
                {"joined_time_ns", chain.reason.empty() ? Json(chain.fusedNs) : Json()}};
    if (!chain.reason.empty())
      row["reason"] = chain.reason;
    if (!chain.computation.empty())
      row["computation"] = chain.computation;
    entry["chains"].push_back(std::move(row));
  }
  entry["fusions"] = Json::array();
  for (const ExploredFusion &fusion : model.fusions)
    entry["fusions"].push_back(fusionJson(fusion));
  entry["total_time_ns"] = model.sequenceNs;
  entry["alone_time_ns"] = model.totalTimeNs;
  entry["total_is_complete"] = model.isComplete();
  entry["simple_grouping_time_ns"] = model.simpleGroupingNs;
  entry["greedy_time_ns"] = model.greedyNs;
  if (model.partitionBoundNs) {
    entry["partition_bound_ns"] = *model.partitionBoundNs;
    entry["partition_is_optimal"] = model.isPartitionOptimal;
  }
  entry["lower_bound_ns"] = model.lowerBoundNs;
  return entry;
}

Json deviceJson(const Device &device) {
  Json peaks = Json::object();
  for (DType type : {DType::F8E4M3FN, DType::BF16, DType::F16})
    if (double peak = device.peakFlops(type, true))
      peaks[std::string(toString(type))] = peak * 1e9; // FLOP/ns
  if (double peak = device.peakFlops(DType::F32, true))
    peaks["tf32"] = peak * 1e9;
  peaks["f32"] = device.peakFlops(DType::F32, false) * 1e9;
  return {{"name", device.name},
          {"display_name", device.name},
          {"sm_count", device.smCount},
          {"clock_ghz", device.smClock},
          {"dram_bytes_per_s", device.dramBandwidth * 1e9},
          {"l2_bytes", device.l2Bytes},
          {"peak_flops_per_s", peaks}};
}

namespace {

std::string sizesText(const Json &sizes) {
  std::string out;
  for (const auto &[name, value] : sizes.items())
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name,
                       value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

constexpr size_t mostLayerLetters = 28;

/// A kernel's layer; of a long one the end, which tells more.
std::string layerText(const Json &kernel) {
  const std::string layer = printable(kernel.value("layer", ""));
  constexpr std::string_view mark = "..";
  size_t begin = 0;
  for (size_t slash = 0; layer.size() - begin + (begin ? mark.size() : 0) > mostLayerLetters;
       begin = slash)
    if (slash = layer.find('/', begin + 1); slash == std::string::npos)
      break;
  return clipped((begin ? std::string(mark) : "") + layer.substr(begin), mostLayerLetters);
}

/// Width of the column with a space on its right; 0 where no kernel has a layer.
size_t layerWidth(const Json &model) {
  size_t width = 0;
  for (const Json &kernel : model["kernels"])
    width = std::max(width, layerText(kernel).size());
  return width > 0 ? std::max(width, std::string_view("layer").size()) + 1 : 0;
}

/// " (attn/rank)" of an op without a kernel.
std::string layerOfRow(const Json &op) {
  return op.contains("layer") ? fmt::format(" ({})", layerText(op)) : "";
}

void printChain(const Json &chain) {
  std::string unfused =
      chain["apart_time_ns"].is_null() ? "not possible" : timeText(chain["apart_time_ns"]);
  say("  {}: the {} kernels from %{} to %{}: unfused {}, fused: {}\n",
      chain["is_taken"].get<bool>() ? "fused" : "not fused", chain["kernels"].get<size_t>(),
      chain["first"].get<std::string>(), chain["second"].get<std::string>(), unfused,
      chain["joined_time_ns"].is_null() ? chain["reason"].get<std::string>()
                                        : timeText(chain["joined_time_ns"]));
}

/// Those that matter most: what is saved by what is fused, and lost by what is not.
void printFusions(const Json &model) {
  constexpr size_t most = 12;
  std::vector<std::pair<double, const Json *>> rows;
  for (const Json &row : model["fusions"]) {
    const double unfused = row["unfused_time_ns"].get<double>();
    const double fused = row["fused_time_ns"].is_null() ? 0 : row["fused_time_ns"].get<double>();
    rows.push_back({std::abs(unfused - fused), &row});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  for (size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const Json &row = *rows[i].second;
    say("  {}: %{} and %{}: unfused {}, fused {}\n",
        row["is_fused"].get<bool>() ? "fused" : "not fused", row["first"].get<std::string>(),
        row["second"].get<std::string>(), timeText(row["unfused_time_ns"].get<double>()),
        row["fused_time_ns"].is_null() ? "not possible: " + row["reason"].get<std::string>()
                                       : timeText(row["fused_time_ns"].get<double>()));
  }
  if (rows.size() > most)
    say("  and {} more, in --json\n", rows.size() - most);
}

/// Of a kernel whose ops run notably more often than their results have elements.
std::string recomputationText(const Json &kernel) {
  constexpr double notable = 1.05;
  constexpr size_t most = 3;
  if (kernel["recompute_factor"].get<double>() < notable || !kernel.contains("recomputed_ops"))
    return {};
  const Json &ops = kernel["recomputed_ops"];
  std::string text;
  for (size_t i = 0; i < std::min(most, ops.size()); ++i)
    text += fmt::format("{}%{} {:.3g} times", i ? ", " : "", ops[i]["op"].get<std::string>(),
                        ops[i]["per_element"].get<double>());
  return fmt::format("computes {:.3g} times as much as is needed: {} for each element{}",
                     kernel["recompute_factor"].get<double>(), text,
                     ops.size() > most ? fmt::format(", and {} more ops", ops.size() - most) : "");
}

/// The kernels that would gain most, and by what.
void printGains(const Json &model) {
  constexpr size_t mostKernels = 3, mostLevers = 2;
  std::vector<std::pair<double, const Json *>> order;
  for (const Json &kernel : model["kernels"])
    if (!kernel["levers"].empty())
      order.push_back(
          {kernel["levers"][0]["gain_ns"].get<double>() * kernel["trip_count"].get<double>(),
           &kernel});
  std::stable_sort(order.begin(), order.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  for (size_t i = 0; i < std::min(mostKernels, order.size()); ++i) {
    const Json &kernel = *order[i].second, &levers = kernel["levers"];
    std::string text;
    for (size_t l = 0; l < std::min(mostLevers, levers.size()); ++l)
      text += fmt::format(
          "{}{} by {}{}", l ? "; " : "",
          timeText(levers[l]["gain_ns"].get<double>() * kernel["trip_count"].get<double>()),
          levers[l]["what"].get<std::string>(),
          levers[l].contains("because")
              ? ", were it not for " + levers[l]["because"].get<std::string>()
              : "");
    say("  would gain: {}: {}\n", kernel["name"].get<std::string>(), text);
  }
}

/// How near the kernels are to the best choice, by their times alone; empty where none was looked
/// for.
std::string choiceText(const Json &model) {
  if (!model.contains("partition_bound_ns"))
    return {};
  const double percent =
      100 * (model["alone_time_ns"].get<double>() / model["partition_bound_ns"].get<double>() - 1);
  const bool isProved = model["partition_is_optimal"].get<bool>();
  if (!(percent >= 0.05))
    return isProved ? " (proved least)" : "";
  return isProved ? fmt::format(" ({:.1f}% above the least, faster in this order)", percent)
                  : fmt::format(" (at most {:.1f}% above the least)", percent);
}

} // namespace

void printModel(const Json &model) {
  const double greedyNs = model["greedy_time_ns"].get<double>();
  const double aloneNs = model["alone_time_ns"].get<double>();
  const double total = model["total_time_ns"].get<double>();
  say("{}: {} kernels of our own, {} in the order they run{}; each alone {}{}{}\n",
      model["model"].get<std::string>(), model["kernels"].size(), timeText(total),
      model["total_is_complete"].get<bool>()
          ? ""
          : fmt::format(" without {} unsupported ops", model["unsupported"].size()),
      timeText(aloneNs), choiceText(model),
      aloneNs < greedyNs * 0.9995 ? ", greedy " + timeText(greedyNs) : "");
  const size_t layers = layerWidth(model);
  say("  {:<32} {:<{}}{:>9} {:>6}  {:<12} {:>9} {:>7}  {}\n", "kernel", layers ? "layer" : "",
      layers, "time", "share", "limit", "alone", "bound", "plan");
  for (const Json &kernel : model["kernels"]) {
    int64_t runs = kernel["trip_count"].get<int64_t>();
    const Json &inRun = kernel.contains("in_sequence") ? kernel["in_sequence"] : kernel;
    double time = inRun["time_ns"].get<double>() * static_cast<double>(runs);
    std::string name = clipped(kernel["name"].get<std::string>(), 32);
    say("  {:<32} {:<{}}{:>9} {:>5.1f}%  {:<12} {:>9} {:>6.1f}%  {} | {}{}\n", name,
        layerText(kernel), layers, timeText(time), total > 0 ? 100 * time / total : 0.0,
        inRun["limiter"].get<std::string>(),
        timeText(kernel["time_ns"].get<double>() * static_cast<double>(runs)),
        100 * kernel["share_of_bound"].get<double>(), sizesText(kernel["plan"]["tile"]),
        sizesText(kernel["plan"]["schedule"]),
        !kernel["trip_count_is_known"].get<bool>() ? " | a trip of a loop of unknown length"
        : runs == 1                                ? ""
                                                   : fmt::format(" | {} runs", runs));
    if (std::string line = recomputationText(kernel); !line.empty())
      say("    {}\n", line);
    if (kernel.contains("notes"))
      for (const Json &note : kernel["notes"])
        say("    {}\n", note.get<std::string>());
    for (const std::string &line : savingLines(kernel))
      say("    {}\n", line);
  }
  printGains(model);
  for (const Json &op : model["assumed"])
    say("  assumed: %{}{}: {} (a factor of {:.1f} either way){}: {}\n", op["op"].get<std::string>(),
        layerOfRow(op),
        timeText((op.contains("in_sequence") ? op["in_sequence"] : op)["time_ns"].get<double>()),
        std::exp(op["sigma_ln"].get<double>()),
        op["trip_count"] == 1 ? "" : fmt::format(", {} runs", op["trip_count"].get<int64_t>()),
        op["reason"].get<std::string>());
  for (const Json &note : model["notes"])
    say("  note: %{}: {}\n", note["op"].get<std::string>(), note["reason"].get<std::string>());
  for (const Json &split : model["split_groups"])
    say("  split: the {} ops of %{}: {}\n", split["ops"].get<size_t>(),
        split["root"].get<std::string>(), split["reason"].get<std::string>());
  for (const Json &chain : model["chains"])
    printChain(chain);
  printFusions(model);
  for (const Json &op : model["unsupported"])
    say("  not modelled: %{}{}: {}\n", op["op"].get<std::string>(), layerOfRow(op),
        op["reason"].get<std::string>());
}

} // namespace tilewright::cli
