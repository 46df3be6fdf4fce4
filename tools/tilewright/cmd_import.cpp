// tilewright import: parse, verify, summarise.
#include "analysis/import/hlo_text.h"
#include "analysis/import/import_file.h"
#include "analysis/import/summary.h"
#include "analysis/indexing/trip_count.h"
#include "analysis/ir/cpu_module.h"
#include "analysis/ir/inline.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/model_input.h"

#include <fmt/format.h>

namespace tilewright::cli {

namespace {

struct ImportArguments {
  std::string model;
  ModuleChoice choice;
  bool json = false, dot = false, text = false;
  std::string inlining = "none";
};

/// What the file says otherwise than is taken, and whose module it is.
struct Note {
  std::string computation, op, text;
};

std::vector<Note> notesOfModule(const Module &module) {
  std::vector<Note> notes;
  if (std::optional<CpuSign> sign = cpuSign(module)) {
    const Graph &graph = module.graph(sign->graph);
    notes.push_back({graph.name(), graph.op(sign->op).name, sign->note()});
  }
  for (const Graph &graph : module.all())
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (const Op &op = graph.op(OpId{i}); op.opcode == Opcode::While)
        if (TripCount trips = tripCount(module, graph, OpId{i}); !trips.note.empty())
          notes.push_back({graph.name(), op.name, std::move(trips.note)});
  return notes;
}

Json toJson(const ModuleSummary &summary, const std::vector<Note> &notes) {
  Json document;
  document["module"] = summary.module;
  document["entry"] = summary.entry;
  document["computations"] = summary.computations;
  document["ops"] = summary.ops;
  document["entry_ops"] = summary.entryOps;
  document["parameters"] = Json::array();
  for (const ModuleSummary::Parameter &parameter : summary.parameters)
    document["parameters"].push_back(
        {{"name", parameter.name}, {"shape", parameter.shape}, {"bytes", parameter.bytes}});
  document["result"] = {{"shape", summary.resultShape}, {"bytes", summary.resultBytes}};
  document["parameter_bytes"] = summary.parameterBytes ? Json(*summary.parameterBytes) : Json();
  document["constant_bytes"] = summary.constantBytes ? Json(*summary.constantBytes) : Json();
  document["elided_constants"] = summary.elidedConstants;
  document["op_counts"] = Json::array();
  for (const auto &[opcode, count] : summary.opCounts)
    document["op_counts"].push_back({{"opcode", opcode}, {"count", count}});
  document["opaque"] = Json::array();
  for (const ModuleSummary::OpaqueOp &op : summary.opaque)
    document["opaque"].push_back(
        {{"computation", op.computation}, {"op", op.name}, {"reason", op.reason}});
  document["notes"] = Json::array();
  for (const Note &note : notes)
    document["notes"].push_back(
        {{"computation", note.computation}, {"op", note.op}, {"text", note.text}});
  return document;
}

void printTable(const ModuleSummary &summary, const std::vector<Note> &notes) {
  say("module      {}\n", summary.module.empty() ? "(unnamed)" : summary.module);
  say("entry       {}: {} ops; {} ops in {} computations\n", summary.entry, summary.entryOps,
      summary.ops, summary.computations);
  say("result      {}\n", summary.resultShape);
  std::string total = summary.parameterBytes ? bytesText(*summary.parameterBytes) : "over 2^63 B";
  say("parameters  {} ({})\n", summary.parameters.size(), total);
  for (const ModuleSummary::Parameter &parameter : summary.parameters)
    say("  {:<24} {}\n", parameter.name, parameter.shape);
  if (summary.elidedConstants)
    say("constants   {} without their values, which the dump left out\n", summary.elidedConstants);
  say("ops\n");
  for (const auto &[opcode, count] : summary.opCounts)
    say("  {:<24} {:>6}\n", opcode, count);
  if (!summary.opaque.empty()) {
    say("opaque ops  {}\n", summary.opaque.size());
    for (const ModuleSummary::OpaqueOp &op : summary.opaque)
      say("  {:<24} {}\n", "%" + op.name, op.reason);
  }
  for (const Note &note : notes)
    say("note        %{}: {}\n", note.op, note.text);
}

std::string dotString(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + "\"";
}

/// Graphviz text: one cluster a computation.
std::string toDot(const Module &module) {
  std::string out = "digraph " + dotString(module.name) + " {\n  node [shape=box];\n";
  unsigned cluster = 0;
  for (const Graph &graph : module.all()) {
    auto node = [&](OpId id) { return fmt::format("n{}_{}", cluster, id.index); };
    out +=
        fmt::format("  subgraph cluster_{} {{\n    label={};\n", cluster, dotString(graph.name()));
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const Op &op = graph.op(OpId{i});
      std::string label =
          fmt::format("{}\n{}\n{}", op.name, toString(op.opcode), op.shape.str(false));
      size_t at = 0;
      std::string escaped = dotString(label);
      while ((at = escaped.find('\n', at)) != std::string::npos)
        escaped.replace(at, 1, "\\n");
      out += fmt::format("    {} [label={}];\n", node(OpId{i}), escaped);
      for (OpId operand : op.operands)
        out += fmt::format("    {} -> {};\n", node(operand), node(OpId{i}));
    }
    out += "  }\n";
    ++cluster;
  }
  return out + "}\n";
}

/// The modules that are asked for, in the order of their files.
llvm::Expected<std::vector<Module>> allModules(const ImportArguments &options) {
  llvm::Expected<std::vector<ModelFile>> files = modelFiles(options.model, options.choice);
  if (!files)
    return files.takeError();
  std::vector<Module> all;
  for (const ModelFile &file : *files) {
    llvm::Expected<std::string> text = readModelText(file.path);
    if (!text)
      return text.takeError();
    llvm::Expected<std::vector<Module>> modules =
        importModules(std::make_shared<const SourceBuffer>(modelName(file.path), std::move(*text)),
                      file.module, file.sizes);
    if (!modules)
      return modules.takeError();
    std::move(modules->begin(), modules->end(), std::back_inserter(all));
  }
  return all;
}

int runImport(const ImportArguments &options) {
  llvm::Expected<std::vector<Module>> modules = allModules(options);
  if (!modules)
    return failInput(modules.takeError());
  if (options.inlining != "none") {
    InlineOptions inlining;
    inlining.fusions = options.inlining == "fusions";
    for (Module &module : *modules) {
      llvm::Expected<Module> inlined = inlineCalls(module, inlining);
      if (!inlined)
        return failInput(inlined.takeError());
      module = std::move(*inlined);
    }
  }
  // Of several modules the JSON lists each; the fields of the one are at the top otherwise.
  Json document = newDocument("import");
  for (const Module &module : *modules) {
    const bool isFirst = &module == &modules->front();
    if (options.text || options.dot) {
      say("{}", options.text ? printHlo(module) : toDot(module));
      continue;
    }
    const ModuleSummary summary = summarize(module);
    const std::vector<Note> notes = notesOfModule(module);
    if (!options.json) {
      if (!isFirst)
        say("\n");
      printTable(summary, notes);
    } else if (modules->size() > 1) {
      document["modules"].push_back(toJson(summary, notes));
    } else {
      document.update(toJson(summary, notes));
    }
  }
  if (options.json)
    print(document);
  return Fine;
}

} // namespace

void addImport(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<ImportArguments>();
  CLI::App *command = app.add_subcommand("import", "Read, verify and summarise a model file");
  command->footer("Example: tilewright import datasets/models/gpt2_block.hlo.txt");
  command->add_option("MODEL", options->model, modelHelp)->required();
  addModuleChoice(*command, options->choice, "all");
  auto *json = command->add_flag("--json", options->json, "Print JSON");
  auto *dot = command->add_flag("--dot", options->dot, "Print a Graphviz graph");
  auto *text = command->add_flag("--text", options->text, "Print the module as HLO text");
  json->excludes(dot)->excludes(text);
  dot->excludes(text);
  command
      ->add_option("--inline", options->inlining,
                   "First inline calls, or calls and fusions: none, calls, fusions")
      ->check(CLI::IsMember({"none", "calls", "fusions"}));
  command->callback(
      [options, &selection] { selection.run = [options] { return runImport(*options); }; });
}

} // namespace tilewright::cli
