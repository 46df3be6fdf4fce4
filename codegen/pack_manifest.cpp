#include "codegen/pack_manifest.h"

#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/program/pass/of_plan.h"
#include "analysis/support/json_text.h"
#include "analysis/support/printable.h"

#include <cmath>

namespace tilewright {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char *schema = "tilewright.pack", *planSchema = "tilewright.plan";
constexpr int64_t schemaVersion = 1;
constexpr unsigned maxJsonDepth = 32;

Json toJson(const KernelParameter &parameter) {
  return {{"name", parameter.name},
          {"role", parameter.isOutput ? "output" : "input"},
          {"dtype", std::string(toString(parameter.shape.dtype))},
          {"dims", parameter.shape.dims},
          {"minor_to_major", parameter.shape.minorToMajorOrDefault()},
          {"bytes", parameter.shape.byteSize().value_or(0)}};
}

Json toJson(const TensorMap &map) {
  return {{"parameter", map.parameter},
          {"offset_bytes", map.offsetBytes},
          {"dtype", std::string(toString(map.dtype))},
          {"dims", map.dims},
          {"strides_bytes", map.strides},
          {"box", map.box},
          {"swizzle_bytes", map.swizzleBytes}};
}

Json toJson(const KernelSpec &spec) {
  Json sequential = Json::array();
  for (const KernelSpec::Sequential &tile : spec.sequential)
    sequential.push_back({{"op", tile.op}, {"dim", tile.dim}, {"size", tile.size}});
  Json json{{"root_tile", spec.rootTile},
            {"sequential", sequential},
            {"warps", spec.schedule.warps},
            {"stages", spec.schedule.stages},
            {"split_k", spec.schedule.splitK},
            {"group_m", spec.schedule.groupM},
            {"instruction", std::string(toString(spec.schedule.instruction))}};
  for (const PlanLoop &loop : spec.loops) {
    Json entry{{"loop", loop.loop}};
    if (loop.ahead)
      entry["ahead"] = *loop.ahead;
    if (loop.wait)
      entry["wait"] = *loop.wait;
    json["loops"].push_back(std::move(entry));
  }
  for (const PlanLayout &layout : spec.layouts)
    json["layouts"].push_back({{"of", layout.of}, {"layout", layout.layout}});
  return json;
}

/// The first thing that is wrong with a document, and where.
struct Problem {
  std::string path, message; ///< no message: nothing is
};

/// Reads fields of one object; the first problem is kept.
class Reader {
public:
  Reader(const Json &object, std::string where, Problem &problem)
      : object(object), where(std::move(where)), problem(problem) {
    if (!object.is_object())
      complain("", "is not an object");
  }

  const Json *field(const char *name) {
    if (!object.is_object())
      return nullptr;
    auto at = object.find(name);
    return at == object.end() ? nullptr : &*at;
  }
  std::string text(const char *name) {
    const Json *value = field(name);
    if (value && value->is_string())
      return value->get<std::string>();
    complain(name, "is not a string");
    return "";
  }
  int64_t integer(const char *name, int64_t least = INT64_MIN, int64_t most = INT64_MAX) {
    int64_t value = integerOf(field(name), name);
    if (value < least || value > most)
      complain(name, fmt::format("is {}, allowed are {} to {}", value, least, most));
    return value;
  }
  std::vector<int64_t> integers(const char *name) {
    std::vector<int64_t> result;
    const Json *value = field(name);
    if (!value || !value->is_array() || value->size() > 1000)
      complain(name, "is not a list of at most 1000 integers");
    else
      for (const Json &item : *value)
        result.push_back(integerOf(&item, name));
    return result;
  }
  /// The objects of a list.
  std::vector<Reader> list(const char *name) {
    std::vector<Reader> result;
    const Json *value = field(name);
    if (!value || !value->is_array())
      complain(name, "is not a list");
    else
      for (size_t i = 0; i < value->size(); ++i)
        result.emplace_back((*value)[i], fmt::format("{}{}[{}].", where, name, i), problem);
    return result;
  }
  Reader inner(const char *name) {
    static const Json nothing;
    const Json *value = field(name);
    return Reader(value ? *value : nothing, where + name + ".", problem);
  }
  std::string path(const char *name) const { return where + name; }
  void complain(const char *name, std::string_view what) {
    if (problem.message.empty())
      problem = {where + name, fmt::format("'{}{}' {}", where, name, what)};
  }

private:
  int64_t integerOf(const Json *value, const char *name) {
    if (value && value->is_number_unsigned() && value->get<uint64_t>() <= INT64_MAX)
      return value->get<int64_t>();
    if (value && value->is_number_integer() && !value->is_number_unsigned())
      return value->get<int64_t>();
    complain(name, "is not an integer of 64 bits");
    return 0;
  }

  const Json &object;
  std::string where;
  Problem &problem;
};

/// A document's text, for errors that point into it.
struct Source {
  const std::string &file, &text;
  llvm::Error errorOf(const Problem &problem) const {
    return jsonError(file, text, problem.path, problem.message);
  }
};

/// Loops and layouts that don't fit the program of their plan are an error where they stand.
llvm::Error fitRecorded(const KernelSpec &spec, const Reader &kernel, const Source &source) {
  if (!spec.recordsProgram())
    return llvm::Error::success();
  if (llvm::Error error = validate(spec))
    return error;
  Misfit misfit;
  llvm::Expected<program::PlanProgram> program = programOf(spec, &misfit);
  if (program)
    return llvm::Error::success();
  const Diag diag = takeDiag(program.takeError());
  if (diag.cls == DiagClass::Internal)
    return makeError(diag);
  std::string path = kernel.path("plan.") + std::string(misfit.list);
  if (misfit.index < (misfit.list == "loops" ? spec.loops.size() : spec.layouts.size()))
    path += fmt::format("[{}]", misfit.index);
  return source.errorOf(
      {path, fmt::format("'{}' does not fit the program of the plan: {}", path, diag.message)});
}

PlanLoop readLoop(Reader &reader) {
  PlanLoop loop;
  loop.loop = reader.text("loop");
  if (reader.field("ahead"))
    loop.ahead = reader.integer("ahead", 0);
  if (reader.field("wait"))
    loop.wait = reader.integer("wait", 0, 1);
  return loop;
}

/// Name, plan and HLO text of a kernel. `problem` may already hold one.
llvm::Expected<KernelSpec> readSpec(Reader kernel, const Source &source, Problem &problem) {
  KernelSpec spec;
  spec.name = kernel.text("name");
  Reader plan = kernel.inner("plan");
  spec.rootTile = plan.integers("root_tile");
  for (Reader &tile : plan.list("sequential"))
    spec.sequential.push_back({tile.text("op"),
                               static_cast<unsigned>(tile.integer("dim", 0, UINT32_MAX)),
                               tile.integer("size")});
  spec.schedule.warps = plan.integer("warps");
  spec.schedule.stages = plan.integer("stages");
  spec.schedule.splitK = plan.integer("split_k");
  spec.schedule.groupM = plan.integer("group_m");
  std::string instruction = plan.text("instruction");
  bool isKnown = false;
  for (Instruction each : {Instruction::Fma, Instruction::MmaSync, Instruction::Wgmma})
    if (instruction == toString(each)) {
      spec.schedule.instruction = each;
      isKnown = true;
    }
  if (!isKnown)
    plan.complain("instruction", "is not one of fma, mma.sync, wgmma");
  if (plan.field("loops"))
    for (Reader &loop : plan.list("loops"))
      spec.loops.push_back(readLoop(loop));
  if (plan.field("layouts"))
    for (Reader &layout : plan.list("layouts"))
      spec.layouts.push_back({layout.text("of"), layout.text("layout")});
  std::string hlo = kernel.text("hlo");
  if (!problem.message.empty())
    return source.errorOf(problem);
  auto module = importBuffer(std::make_shared<SourceBuffer>(
      fmt::format("{} (hlo of {})", source.file, shortened(spec.name, 100)), hlo));
  if (!module)
    return module.takeError();
  spec.module = std::make_shared<Module>(std::move(*module));
  if (llvm::Error error = fitRecorded(spec, kernel, source))
    return error;
  return spec;
}

/// What a kernel was made from, and what an assembler said of it.
llvm::Expected<ManifestKernel> readKernel(Reader kernel, const Source &source, Problem &problem) {
  ManifestKernel result;
  result.name = kernel.text("name");
  result.seed = static_cast<uint64_t>(kernel.inner("fill").integer("seed", 0));
  Reader files = kernel.inner("files");
  if (files.field("cubin"))
    result.cubinFile = files.text("cubin");
  if (kernel.field("registers")) {
    result.assembly.emplace();
    result.assembly->registers = kernel.integer("registers");
    result.assembly->spillStoreBytes = kernel.integer("spill_bytes");
  }
  if (kernel.field("min_ctas_per_sm"))
    result.minCtasPerSm = kernel.integer("min_ctas_per_sm", 1, 1);
  llvm::Expected<KernelSpec> spec = readSpec(kernel, source, problem);
  if (!spec)
    return spec.takeError();
  result.spec = std::move(*spec);
  return result;
}

void expectSchema(Reader &reader, const char *expected, Problem &problem) {
  if (reader.text("schema") != expected)
    reader.complain("schema", fmt::format("is not {}", expected));
  if (problem.message.empty() && reader.integer("schema_version") != schemaVersion)
    reader.complain("schema_version", "is not 1");
}

/// JSON has no words for what is not finite.
Json numberJson(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json toJson(const KernelProblem &problem) {
  Json expected = Json::array();
  for (const ExpectedOutput &output : problem.outputs) {
    Json values = Json::array();
    for (double value : output.values)
      values.push_back(numberJson(value));
    expected.push_back({{"output", output.output},
                        {"positions", output.positions},
                        {"values", values},
                        {"scale", output.scale}});
  }
  Json json{{"hash", problem.hash}, {"expected", expected}};
  if (!problem.unchecked.empty())
    json["unchecked"] = problem.unchecked;
  json["hlo"] = problem.hlo;
  return json;
}

} // namespace

std::string printManifest(const Manifest &manifest) {
  Json kernels = Json::array(), problems = Json::array();
  for (const KernelProblem &problem : manifest.problems)
    problems.push_back(toJson(problem));
  for (const ManifestKernel &kernel : manifest.kernels) {
    Json parameters = Json::array();
    for (const KernelParameter &parameter : kernel.parameters) {
      parameters.push_back(toJson(parameter));
      if (size_t i = parameters.size() - 1; i < kernel.ranges.size() && kernel.ranges[i].isGiven)
        parameters.back()["range"] = {kernel.ranges[i].low, kernel.ranges[i].high};
    }
    Json workspaces = Json::array(), maps = Json::array();
    for (const KernelWorkspace &workspace : kernel.workspaces)
      workspaces.push_back(
          {{"name", workspace.name}, {"bytes", workspace.bytes}, {"zeroed", workspace.isZeroed}});
    for (const TensorMap &map : kernel.tensorMaps)
      maps.push_back(toJson(map));
    Json files{{"ll", kernel.llFile}, {"ptx", kernel.ptxFile}};
    if (!kernel.cubinFile.empty())
      files["cubin"] = kernel.cubinFile;
    Json json{{"name", kernel.name},
              {"kind", kernel.kind},
              {"entry", kernel.entry},
              {"grid", {kernel.launch.grid, 1, 1}},
              {"block", {kernel.launch.threads, 1, 1}},
              {"dynamic_shared_bytes", kernel.launch.sharedBytes},
              {"files", files},
              {"parameters", parameters},
              {"workspaces", workspaces},
              {"tensor_maps", maps},
              {"fill", {{"recipe", "splitmix64"}, {"seed", kernel.seed}}},
              {"tolerance", kernel.tolerance},
              {"notes", kernel.notes}};
    if (kernel.assembly) {
      json["registers"] = kernel.assembly->registers;
      json["spill_bytes"] = kernel.assembly->spillStoreBytes + kernel.assembly->spillLoadBytes;
    }
    if (kernel.minCtasPerSm)
      json["min_ctas_per_sm"] = kernel.minCtasPerSm;
    if (kernel.work)
      json["work"] = {{"flops", kernel.work->flops},
                      {"tensor_cores", kernel.work->onTensorCores},
                      {"dtype", std::string(toString(kernel.work->type))},
                      {"read_bytes", kernel.work->readBytes},
                      {"write_bytes", kernel.work->writeBytes}};
    json["problem"] = kernel.problem;
    json["plan_hash"] = kernel.planHash;
    json["plan_text"] = kernel.planText;
    json["plan"] = toJson(kernel.spec);
    json["hlo"] = printHlo(*kernel.spec.module);
    kernels.push_back(std::move(json));
  }
  Json root{{"schema", schema},
            {"schema_version", schemaVersion},
            {"target", manifest.target},
            {"architecture_specific", manifest.isSpecific},
            {"ptx_version", manifest.ptxVersion},
            {"llvm", manifest.llvm},
            {"ptxas", manifest.ptxas.empty() ? Json() : Json(manifest.ptxas)},
            {"problems", problems},
            {"kernels", kernels}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

llvm::Expected<Manifest> parseManifest(const std::string &file, const std::string &text) {
  llvm::Expected<Json> root = parseJson<Json>(file, text, maxJsonDepth);
  if (!root)
    return root.takeError();
  Source source{file, text};
  Problem problem;
  Reader reader(*root, "", problem);
  Manifest manifest;
  expectSchema(reader, schema, problem);
  manifest.target = reader.text("target");
  manifest.ptxVersion = reader.text("ptx_version");
  manifest.llvm = reader.text("llvm");
  if (const Json *ptxas = reader.field("ptxas"); ptxas && !ptxas->is_null())
    manifest.ptxas = reader.text("ptxas");
  for (Reader &each : reader.list("kernels")) {
    auto kernel = readKernel(each, source, problem);
    if (!kernel)
      return kernel.takeError();
    manifest.kernels.push_back(std::move(*kernel));
  }
  if (!problem.message.empty())
    return source.errorOf(problem);
  return manifest;
}

std::string printPlan(const KernelSpec &spec) {
  Json root{{"schema", planSchema},
            {"schema_version", schemaVersion},
            {"name", spec.name},
            {"plan", toJson(spec)},
            {"hlo", printHlo(*spec.module)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

llvm::Expected<KernelSpec> parsePlan(const std::string &file, const std::string &text) {
  llvm::Expected<Json> root = parseJson<Json>(file, text, maxJsonDepth);
  if (!root)
    return root.takeError();
  Problem problem;
  Reader reader(*root, "", problem);
  expectSchema(reader, planSchema, problem);
  return readSpec(reader, {file, text}, problem);
}

} // namespace tilewright
