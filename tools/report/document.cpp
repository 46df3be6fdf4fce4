#include "tools/report/document.h"

#include "analysis/support/diag.h"
#include "analysis/support/json_guard.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

namespace tilewright::report {

namespace {
using json = nlohmann::json; // sorted keys: ordered_json looks keys up linearly

constexpr size_t maxBytes = 64u << 20;
constexpr unsigned maxDepth = 64; // our own documents reach 8
constexpr int knownVersion = 1;

enum class Need { Required, Optional };

/// A value with the way to it from the document's root; the path is spelt out only for an error.
struct Node {
  const json &value;
  const Node *parent = nullptr;
  std::string_view key = {}; ///< name in the parent, when the parent is an object
  size_t index = 0;          ///< position in the parent, when the parent is an array

  std::string path() const {
    if (!parent)
      return "the document";
    std::string own = parent->value.is_array() ? fmt::format("[{}]", index) : std::string(key);
    if (!parent->parent)
      return own;
    return parent->path() + (parent->value.is_array() ? "" : ".") + own;
  }
};

/// Typed access to members. The first mistake is kept and everything after it reads as missing, so
/// that a reader function needs one check at its end.
class Reader {
public:
  explicit Reader(const std::string &file) : file(file) {}

  bool failed() const { return error.has_value(); }
  llvm::Error takeError() { return error ? makeError(*error) : llvm::Error::success(); }

  void fail(std::string message) {
    if (error)
      return;
    error.emplace();
    error->file = file;
    error->message = std::move(message);
  }

  Quantity number(const Node &object, std::string_view key, Need need = Need::Optional) {
    Quantity value = signedNumber(object, key, need);
    if (!value || *value >= 0)
      return value;
    fail(fmt::format("{} is {}, allowed is 0 or more", memberPath(object, key), *value));
    return std::nullopt;
  }

  Quantity signedNumber(const Node &object, std::string_view key, Need need = Need::Optional) {
    const json *value = member(object, key, need, &json::is_number, "a number");
    return value ? Quantity(value->get<double>()) : std::nullopt;
  }

  std::string text(const Node &object, std::string_view key, Need need = Need::Optional) {
    const json *value = member(object, key, need, &json::is_string, "a string");
    return value ? value->get<std::string>() : std::string();
  }

  /// A string, or the member "name" of an object.
  std::string textOrName(const Node &object, std::string_view key) {
    if (object.value.is_object()) {
      auto found = object.value.find(key);
      if (found != object.value.end() && found->is_object())
        return text(Node{*found, &object, key}, "name");
    }
    return text(object, key);
  }

  bool flag(const Node &object, std::string_view key, bool ifMissing) {
    const json *value = member(object, key, Need::Optional, &json::is_boolean, "true or false");
    return value ? value->get<bool>() : ifMissing;
  }

  /// Calls `visit(node)` with each element of the array `key`.
  template <typename Visit>
  void eachElement(const Node &object, std::string_view key, Need need, Visit visit) {
    const json *value = member(object, key, need, &json::is_array, "an array");
    if (!value)
      return;
    Node array{*value, &object, key};
    for (size_t i = 0; i < value->size() && !failed(); ++i)
      visit(Node{(*value)[i], &array, {}, i});
  }

  /// Calls `visit(node)` with the object `key`, when it is there.
  template <typename Visit>
  void object(const Node &parent, std::string_view key, Need need, Visit visit) {
    if (const json *value = member(parent, key, need, &json::is_object, "an object"))
      visit(Node{*value, &parent, key});
  }

  std::vector<std::pair<std::string, double>> numbers(const Node &parent, std::string_view key) {
    std::vector<std::pair<std::string, double>> result;
    object(parent, key, Need::Optional, [&](const Node &map) {
      for (auto it = map.value.begin(); it != map.value.end() && !failed(); ++it)
        if (Quantity value = number(map, it.key()))
          result.emplace_back(it.key(), *value);
    });
    return result;
  }

  Parameters parameters(const Node &parent, std::string_view key) {
    Parameters result;
    object(parent, key, Need::Optional, [&](const Node &map) {
      for (auto it = map.value.begin(); it != map.value.end() && !failed(); ++it) {
        if (it->is_string())
          result.emplace_back(it.key(), it->get<std::string>());
        else if (it->is_number() || it->is_boolean())
          result.emplace_back(it.key(), it->dump());
        else if (!it->is_null())
          fail(fmt::format("{} is {}, expected a number, a string, true or false",
                           memberPath(map, it.key()), article(*it)));
      }
    });
    return result;
  }

private:
  static std::string memberPath(const Node &object, std::string_view key) {
    return Node{object.value, &object, key}.path();
  }

  static std::string article(const json &value) {
    std::string_view name = value.type_name();
    if (name == "null")
      return "null";
    return fmt::format("{} {}", name == "array" || name == "object" ? "an" : "a", name);
  }

  const json *member(const Node &object, std::string_view key, Need need,
                     bool (json::*isType)() const noexcept, std::string_view expected) {
    if (failed())
      return nullptr;
    if (!object.value.is_object()) {
      fail(fmt::format("{} is {}, expected an object", object.path(), article(object.value)));
      return nullptr;
    }
    auto found = object.value.find(key);
    if (found == object.value.end() || found->is_null()) {
      if (need == Need::Required)
        fail(fmt::format("{} is missing, expected {}", memberPath(object, key), expected));
      return nullptr;
    }
    if (!((*found).*isType)()) {
      fail(
          fmt::format("{} is {}, expected {}", memberPath(object, key), article(*found), expected));
      return nullptr;
    }
    return &*found;
  }

  std::string file;
  std::optional<Diag> error;
};

/// Parallel dims before the others, and t2 before t10.
void sortTile(Parameters &tile) {
  std::stable_sort(tile.begin(), tile.end(), [](const auto &a, const auto &b) {
    auto rank = [](const std::string &name) {
      return std::tuple(name.empty() || name[0] != 't', name.size(), std::string_view(name));
    };
    return rank(a.first) < rank(b.first);
  });
}

/// What people look at first, first; the rest by name.
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

Kernel readKernel(Reader &reader, const Node &node) {
  Kernel kernel;
  kernel.name = reader.text(node, "name", Need::Required);
  kernel.rootShape = reader.text(node, "root_shape");
  kernel.kind = reader.text(node, "kind");
  kernel.limiter = reader.text(node, "limiter");
  reader.eachElement(node, "ops", Need::Optional, [&](const Node &op) {
    if (op.value.is_string())
      kernel.ops.push_back(op.value.get<std::string>());
    else
      reader.fail(fmt::format("{} is not a string", op.path()));
  });
  kernel.tripCount = reader.number(node, "trip_count").value_or(1);
  kernel.plan = readPlan(reader, node);
  kernel.timeNs = reader.number(node, "time_ns");
  kernel.sigmaLn = reader.number(node, "sigma_ln");
  kernel.termsNs = reader.numbers(node, "terms");
  kernel.flops = reader.number(node, "flops");
  kernel.transcendentals = reader.number(node, "transcendentals");
  kernel.dramBytes = reader.number(node, "dram_bytes");
  kernel.l2Bytes = reader.number(node, "l2_bytes");
  reader.object(node, "resources", Need::Optional, [&](const Node &resources) {
    kernel.registersPerThread = reader.number(resources, "registers");
    kernel.sharedBytes = reader.number(resources, "shared_bytes");
    kernel.threads = reader.number(resources, "threads");
    kernel.blocksPerSm = reader.number(resources, "blocks_per_sm");
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
  return kernel;
}

std::vector<OpNote> readNotes(Reader &reader, const Node &parent, std::string_view key) {
  std::vector<OpNote> notes;
  reader.eachElement(parent, key, Need::Optional, [&](const Node &note) {
    notes.push_back({reader.text(note, "op", Need::Required), reader.text(note, "reason")});
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
  reader.eachElement(node, "split_groups", Need::Optional, [&](const Node &split) {
    model.split.push_back({reader.text(split, "root", Need::Required), reader.text(split, "reason"),
                           reader.number(split, "ops")});
  });
  model.totalNs = reader.number(node, "total_time_ns");
  model.totalIsComplete = reader.flag(node, "total_is_complete", true);
  model.simpleGroupingNs = reader.number(node, "simple_grouping_time_ns");
  model.lowerBoundNs = reader.number(node, "lower_bound_ns");
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
  reader.eachElement(root, "models", Need::Required,
                     [&](const Node &model) { result.models.push_back(readModel(reader, model)); });
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
    result.rows.push_back({reader.text(row, "family", Need::Required),
                           reader.number(row, "predicted_ns"), reader.number(row, "measured_ns")});
  });
  return result;
}

/// What nlohmann says without its prefix ("[json.exception…] parse error at line 1, column 5: ").
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
  if (llvm::Error error = checkJsonDepth(input.json, maxDepth, input.name))
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
    documents.explorations.push_back(std::move(exploration));
  } else if (schema == "tilewright.evaluate") {
    Evaluation evaluation = readEvaluation(reader, root);
    evaluation.file = input.name;
    documents.evaluations.push_back(std::move(evaluation));
  } else {
    reader.fail(fmt::format("schema is \"{}\", expected \"tilewright.explore\" or "
                            "\"tilewright.evaluate\"",
                            std::string_view(schema).substr(0, 80)));
  }
  return reader.takeError();
}
} // namespace

llvm::Expected<Documents> readDocuments(std::span<const ReportInput> inputs) {
  if (inputs.empty())
    return makeError(DiagClass::BadInput, "no documents to report on; give the JSON of explore or "
                                          "evaluate");
  Documents documents;
  for (const ReportInput &input : inputs)
    if (llvm::Error error = readDocument(input, documents))
      return error;
  return documents;
}

} // namespace tilewright::report
