#include "tools/report/document.h"

#include "analysis/support/diag.h"
#include "analysis/support/json_guard.h"
#include "analysis/support/printable.h"
#include "tools/report/document_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace tilewright::report {

namespace {
constexpr size_t maxBytes = 64u << 20;
constexpr unsigned maxDepth = 64; // our own documents reach 8
constexpr int knownVersion = 1;

/// Parallel dims before the others, and t2 before t10.
void sortTile(Parameters &tile) {
  std::stable_sort(tile.begin(), tile.end(), [](const auto &a, const auto &b) {
    auto rank = [](const std::string &name) {
      return std::tuple(name.empty() || name[0] != 't', name.size(), std::string_view(name));
    };
    return rank(a.first) < rank(b.first);
  });
}

/// The most important names first; the rest in alphabetical order.
void sortSchedule(Parameters &schedule) {
  constexpr std::array<std::string_view, 5> order = {"instruction", "warps", "stages", "split_k",
                                                     "group_m"};
  std::stable_sort(schedule.begin(), schedule.end(), [&](const auto &a, const auto &b) {
    return std::find(order.begin(), order.end(), a.first) <
           std::find(order.begin(), order.end(), b.first);
  });
}

Plan readPlan(Reader &reader, const Node &parent) {
  Plan plan;
  reader.object(parent, "plan", Need::Optional, [&](const Node &node) {
    plan.tile = reader.parameters(node, "tile");
    plan.schedule = reader.parameters(node, "schedule");
    plan.grid = reader.number(node, "grid");
  });
  sortTile(plan.tile);
  sortSchedule(plan.schedule);
  return plan;
}

TileMap readTileMap(Reader &reader, const Node &node) {
  constexpr size_t maxSizes = 64;
  TileMap map;
  auto readAxis = [&](std::string_view key, TileMap::Axis &axis) {
    reader.object(node, key, Need::Required, [&](const Node &object) {
      axis.parameter = reader.text(object, "parameter");
      reader.eachElement(object, "sizes", Need::Required, [&](const Node &size) {
        axis.sizes.push_back(reader.numberAt(size).value_or(0));
      });
      if (axis.sizes.size() > maxSizes)
        reader.fail(fmt::format("{} has {} sizes, allowed are {}", object.path(), axis.sizes.size(),
                                maxSizes));
    });
  };
  readAxis("rows", map.rows);
  readAxis("columns", map.columns);
  reader.eachElement(node, "times_ns", Need::Required, [&](const Node &time) {
    map.cells.push_back({time.value.is_null() ? Quantity() : reader.numberAt(time), {}, {}, {}});
  });
  size_t expected = map.rows.sizes.size() * map.columns.sizes.size();
  if (map.cells.size() != expected)
    reader.fail(fmt::format("{} has {} times, expected {} rows x {} columns", node.path(),
                            map.cells.size(), map.rows.sizes.size(), map.columns.sizes.size()));
  auto cellOf = [&](const Node &of) -> TileMap::Cell * {
    Quantity cell = reader.number(of, "cell", Need::Required);
    if (!cell)
      return nullptr;
    if (*cell < static_cast<double>(map.cells.size()))
      return &map.cells[static_cast<size_t>(*cell)];
    reader.fail(
        fmt::format("{}.cell is {}, allowed is 0 to {}", of.path(), *cell, map.cells.size() - 1));
    return nullptr;
  };
  reader.eachElement(node, "refusals", Need::Optional, [&](const Node &refusal) {
    if (TileMap::Cell *cell = cellOf(refusal)) {
      cell->rule = reader.text(refusal, "rule");
      cell->reason = reader.text(refusal, "reason");
    }
  });
  reader.eachElement(node, "schedules", Need::Optional, [&](const Node &schedule) {
    if (TileMap::Cell *cell = cellOf(schedule))
      sortSchedule(cell->schedule = reader.parameters(schedule, "schedule"));
  });
  return map;
}

Kernel readKernel(Reader &reader, const Node &node) {
  Kernel kernel;
  kernel.name = reader.text(node, "name", Need::Required);
  kernel.rootShape = reader.text(node, "root_shape");
  kernel.kind = reader.text(node, "kind");
  kernel.limiter = reader.text(node, "limiter");
  kernel.computation = reader.text(node, "computation");
  kernel.layer = reader.text(node, "layer");
  reader.object(node, "source", Need::Optional, [&](const Node &source) {
    kernel.opName = reader.text(source, "op_name");
    kernel.sourceFile = reader.text(source, "file");
    kernel.sourceLine = reader.number(source, "line");
  });
  kernel.ops = reader.texts(node, "ops");
  kernel.reads = reader.texts(node, "reads");
  kernel.tripCount = reader.number(node, "trip_count").value_or(1);
  kernel.plan = readPlan(reader, node);
  kernel.timeNs = kernel.aloneNs = reader.number(node, "time_ns");
  kernel.sigmaLn = reader.number(node, "sigma_ln");
  kernel.termsNs = reader.numbers(node, "terms");
  kernel.flops = reader.number(node, "flops");
  kernel.transcendentals = reader.number(node, "transcendentals");
  kernel.issuedFlops = reader.number(node, "issued_flops");
  kernel.notes = reader.texts(node, "notes");
  kernel.lowerBoundNs = reader.number(node, "lower_bound_ns");
  reader.object(node, "in_sequence", Need::Optional, [&](const Node &sequence) {
    kernel.timeNs = reader.number(sequence, "time_ns");
    if (const std::string limiter = reader.text(sequence, "limiter"); !limiter.empty())
      kernel.limiter = limiter;
  });
  reader.eachElement(node, "levers", Need::Optional, [&](const Node &lever) {
    kernel.levers.push_back({reader.text(lever, "what"), reader.number(lever, "gain_ns"),
                             reader.text(lever, "because")});
  });
  kernel.dramBytes = reader.number(node, "dram_bytes");
  kernel.l2Bytes = reader.number(node, "l2_bytes");
  reader.object(node, "resources", Need::Optional, [&](const Node &resources) {
    kernel.registersPerThread = reader.number(resources, "registers");
    kernel.sharedBytes = reader.number(resources, "shared_bytes");
    kernel.threads = reader.number(resources, "threads");
    kernel.ctasPerSm = reader.number(resources, "blocks_per_sm");
  });
  reader.object(node, "candidates", Need::Optional, [&](const Node &candidates) {
    kernel.rawCandidates = reader.number(candidates, "raw");
    kernel.feasibleCandidates = reader.number(candidates, "feasible");
    kernel.pricedCandidates = reader.number(candidates, "priced");
  });
  reader.eachElement(node, "alternatives", Need::Optional, [&](const Node &alternative) {
    kernel.alternatives.push_back({readPlan(reader, alternative),
                                   reader.number(alternative, "time_ns"),
                                   reader.text(alternative, "limiter")});
  });
  if (const auto file = node.value.find("plan_file");
      file != node.value.end() && !file->is_null()) // null: the plan can't stand on its own
    kernel.planFile = reader.text(node, "plan_file");
  reader.object(node, "tile_map", Need::Optional,
                [&](const Node &map) { kernel.tileMap = readTileMap(reader, map); });
  return kernel;
}

std::vector<OpNote> readNotes(Reader &reader, const Node &parent, std::string_view key) {
  std::vector<OpNote> notes;
  reader.eachElement(parent, key, Need::Optional, [&](const Node &note) {
    notes.push_back({reader.text(note, "op", Need::Required), reader.text(note, "reason"),
                     reader.text(note, "layer")});
  });
  return notes;
}

Model readModel(Reader &reader, const Node &node) {
  Model model;
  model.name = reader.text(node, "model", Need::Required);
  model.ops = reader.number(node, "ops");
  model.computations = reader.number(node, "computations");
  reader.eachElement(node, "kernels", Need::Required, [&](const Node &kernel) {
    model.kernels.push_back(readKernel(reader, kernel));
  });
  model.unsupported = readNotes(reader, node, "unsupported");
  model.noKernel = readNotes(reader, node, "no_kernel");
  model.notes = readNotes(reader, node, "notes");
  reader.eachElement(node, "assumed", Need::Optional, [&](const Node &op) {
    model.assumed.push_back({reader.text(op, "op", Need::Required), reader.text(op, "reason"),
                             reader.text(op, "layer"), reader.number(op, "time_ns"),
                             reader.number(op, "trip_count").value_or(1)});
    reader.object(op, "in_sequence", Need::Optional, [&](const Node &sequence) {
      model.assumed.back().timeNs = reader.number(sequence, "time_ns");
    });
  });
  reader.eachElement(node, "split_groups", Need::Optional, [&](const Node &split) {
    model.split.push_back({reader.text(split, "root", Need::Required), reader.text(split, "reason"),
                           reader.number(split, "ops")});
  });
  model.totalNs = reader.number(node, "total_time_ns");
  model.totalIsComplete = reader.flag(node, "total_is_complete", true);
  model.simpleGroupingNs = reader.number(node, "simple_grouping_time_ns");
  model.lowerBoundNs = reader.number(node, "lower_bound_ns");
  model.aloneNs = reader.number(node, "alone_time_ns");
  return model;
}

Exploration readExploration(Reader &reader, const Node &root) {
  Exploration result;
  result.toolVersion = reader.text(root, "tool_version");
  result.calibration = reader.text(root, "calibration");
  reader.object(root, "device", Need::Optional, [&](const Node &node) {
    Device &device = result.device;
    device.name = reader.text(node, "name");
    device.displayName = reader.text(node, "display_name");
    device.smCount = reader.number(node, "sm_count");
    device.clockGhz = reader.number(node, "clock_ghz");
    device.dramBytesPerS = reader.number(node, "dram_bytes_per_s");
    device.l2Bytes = reader.number(node, "l2_bytes");
    device.peakFlopsPerS = reader.numbers(node, "peak_flops_per_s");
  });
  reader.eachElement(root, "notes", Need::Optional, [&](const Node &note) {
    result.notes.push_back(reader.text(note, "text", Need::Required));
  });
  reader.eachElement(root, "models", Need::Required,
                     [&](const Node &model) { result.models.push_back(readModel(reader, model)); });
  reader.eachElement(root, "failures", Need::Optional, [&](const Node &failure) {
    result.failures.push_back(
        {reader.text(failure, "file", Need::Required), reader.text(failure, "message")});
  });
  return result;
}

Accuracy readAccuracy(Reader &reader, const Node &node, Need familyNeed) {
  Accuracy result;
  result.family = reader.text(node, "family", familyNeed);
  result.groups = reader.number(node, "groups");
  result.rows = reader.number(node, "rows");
  result.unpricedRows = reader.number(node, "unpriced_rows");
  result.mape = reader.number(node, "mape");
  result.medianApe = reader.number(node, "median_ape");
  result.p90Ape = reader.number(node, "p90_ape");
  result.bias = reader.signedNumber(node, "bias");
  result.oracleAt1 = reader.number(node, "oracle_at_1");
  result.worstAt1 = reader.number(node, "worst_at_1");
  result.oracleAt5 = reader.number(node, "oracle_at_5");
  result.oracleAt10 = reader.number(node, "oracle_at_10");
  result.randomAt5 = reader.number(node, "random_at_5");
  return result;
}

Evaluation readEvaluation(Reader &reader, const Node &root) {
  Evaluation result;
  result.toolVersion = reader.text(root, "tool_version");
  result.device = reader.textOrName(root, "device");
  result.calibration = reader.text(root, "calibration");
  reader.eachElement(root, "families", Need::Required, [&](const Node &family) {
    result.families.push_back(readAccuracy(reader, family, Need::Required));
  });
  reader.object(root, "overall", Need::Optional, [&](const Node &overall) {
    result.overall = readAccuracy(reader, overall, Need::Optional);
  });
  reader.eachElement(root, "rows", Need::Optional, [&](const Node &row) {
    result.rows.push_back({reader.text(row, "family", Need::Required), reader.text(row, "group"),
                           reader.parameters(row, "plan"), reader.number(row, "predicted_ns"),
                           reader.number(row, "measured_ns")});
  });
  return result;
}

CalibrationDocument readCalibration(Reader &reader, const Node &root) {
  CalibrationDocument result;
  result.device = reader.text(root, "device");
  reader.object(root, "data", Need::Optional, [&](const Node &data) {
    result.rows = reader.number(data, "rows");
    result.groups = reader.number(data, "groups");
  });
  reader.object(root, "fit", Need::Optional, [&](const Node &fit) {
    result.mape = reader.number(fit, "mape");
    result.sigmaLn = reader.number(fit, "sigma_ln");
  });
  reader.object(root, "parameters", Need::Required, [&](const Node &parameters) {
    reader.eachMember(parameters, [&](const Node &node) {
      result.parameters.push_back({std::string(node.key), reader.text(node, "unit"),
                                   reader.text(node, "status"), reader.text(node, "meaning"),
                                   reader.number(node, "value"), reader.number(node, "prior"),
                                   reader.number(node, "sigma_ln")});
    });
  });
  return result;
}

/// nlohmann's message without its prefix ("[json.exception…] parse error at line 1, column 5: ").
std::string parserMessage(std::string_view what) {
  size_t start = what.find("syntax error");
  if (start == std::string_view::npos)
    start =
        std::min(what.find("] ") == std::string_view::npos ? 0 : what.find("] ") + 2, what.size());
  std::string_view text = what.substr(start);
  return std::string(text.substr(0, text.find("; last read")));
}

llvm::Expected<json> parse(const ReportInput &input) {
  if (input.json.size() > maxBytes) {
    Diag diag;
    diag.file = input.name;
    diag.message =
        fmt::format("the document has {} bytes, allowed are {}; report fewer models at once",
                    input.json.size(), maxBytes);
    return makeError(std::move(diag));
  }
  if (llvm::Error error = checkJson(input.json, maxDepth, input.name))
    return error;
  try {
    return json::parse(input.json);
  } catch (const json::parse_error &problem) {
    SourceBuffer buffer(input.name, input.json);
    SourceLoc where;
    where.offset =
        static_cast<uint32_t>(std::min(problem.byte ? problem.byte - 1 : 0, input.json.size()));
    return makeError(diagAt(buffer, where, "invalid JSON: " + parserMessage(problem.what())));
  } catch (const json::exception &problem) { // a number too large for a double
    Diag diag;
    diag.file = input.name;
    diag.message = "invalid JSON: " + parserMessage(problem.what());
    return makeError(std::move(diag));
  }
}

/// The runs of an exploration of several devices.
void readRuns(Reader &reader, const Node &root, const ReportInput &input, Documents &documents) {
  reader.eachElement(root, "runs", Need::Required, [&](const Node &run) {
    Exploration exploration = readExploration(reader, run);
    exploration.file = input.name;
    exploration.listings = input.listings;
    documents.explorations.push_back(std::move(exploration));
  });
}

llvm::Error readDocument(const ReportInput &input, Documents &documents) {
  llvm::Expected<json> parsed = parse(input);
  if (!parsed)
    return parsed.takeError();
  Reader reader(input.name);
  Node root{*parsed};
  std::string schema = reader.text(root, "schema", Need::Required);
  Quantity version = reader.number(root, "schema_version", Need::Required);
  if (version && *version != knownVersion)
    reader.fail(
        fmt::format("schema_version is {}, known is {}; use the tool that wrote the document",
                    *version, knownVersion));
  if (schema == "tilewright.explore") {
    Exploration exploration = readExploration(reader, root);
    exploration.file = input.name;
    exploration.listings = input.listings;
    documents.explorations.push_back(std::move(exploration));
  } else if (schema == "tilewright.explore.devices") {
    readRuns(reader, root, input, documents);
  } else if (schema == "tilewright.evaluate") {
    Evaluation evaluation = readEvaluation(reader, root);
    evaluation.file = input.name;
    documents.evaluations.push_back(std::move(evaluation));
  } else if (schema == "tilewright.calibration") {
    CalibrationDocument calibration = readCalibration(reader, root);
    calibration.file = input.name;
    documents.calibrations.push_back(std::move(calibration));
  } else {
    reader.fail(fmt::format("schema is \"{}\", expected \"tilewright.explore\", "
                            "\"tilewright.evaluate\" or \"tilewright.calibration\"",
                            excerpt(schema, 80)));
  }
  return reader.takeError();
}
} // namespace

llvm::Expected<Documents> readDocuments(std::span<const ReportInput> inputs) {
  if (inputs.empty())
    return makeError(DiagClass::BadInput, "no documents to report on; give the JSON of explore, "
                                          "evaluate or calibrate");
  Documents documents;
  for (const ReportInput &input : inputs)
    if (llvm::Error error = readDocument(input, documents))
      return error;
  return documents;
}

} // namespace tilewright::report
