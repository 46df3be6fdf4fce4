// tilewright index: the index maps of an op, both directions, and along paths.
#include "analysis/import/import_file.h"
#include "analysis/indexing/indexing.h"
#include "tools/tilewright/command.h"
#include "tools/tilewright/model_input.h"

#include <fmt/format.h>
#include <iterator>

namespace tilewright::cli {

namespace {

struct IndexArguments {
  std::string model, op, to;
  ModuleChoice choice;
  bool json = false, parameters = false;
};

Json toJson(const IndexMap &given) {
  IndexMap map = given.renumbered(); // uses the text's names, so that both agree
  Json entry;
  entry["text"] = map.str();
  entry["is_empty"] = map.isKnownEmpty();
  entry["variables"] = Json::array();
  const char *kinds[] = {"dim", "range", "runtime", "tile", "program", "step"};
  for (const MapVariable &variable : map.variables()) {
    const Variable &info = map.context().info(variable.var.variable());
    Json described = {{"name", info.name},
                      {"kind", kinds[static_cast<int>(info.kind)]},
                      {"lower", variable.domain.lo},
                      {"upper", variable.domain.hi}};
    if (variable.source) {
      Json element = Json::array();
      for (Expr coordinate : variable.source->element)
        element.push_back(coordinate.str());
      described["tensor"] = variable.source->tensorName;
      described["element"] = element;
    }
    entry["variables"].push_back(described);
  }
  entry["results"] = Json::array();
  for (Expr result : map.results())
    entry["results"].push_back(result.str());
  entry["constraints"] = Json::array();
  for (const MapConstraint &constraint : map.constraints())
    entry["constraints"].push_back({{"expr", constraint.expr.str()},
                                    {"lower", constraint.range.lo},
                                    {"upper", constraint.range.hi},
                                    {"modulus", constraint.modulus},
                                    {"residue", constraint.residue}});
  return entry;
}

Json toJson(const OperandMaps &maps) {
  Json entry;
  entry["coverage"] = maps.coverage == Coverage::Exact ? "exact" : "over-approximate";
  if (!maps.note.empty())
    entry["note"] = maps.note;
  if (!maps.operandPath.empty())
    entry["operand_path"] = maps.operandPath;
  entry["maps"] = Json::array();
  for (const IndexMap &map : maps.maps)
    entry["maps"].push_back(toJson(map));
  return entry;
}

void printMaps(const OperandMaps &maps, std::string &text) {
  if (maps.maps.empty())
    fmt::format_to(std::back_inserter(text), "    not read\n");
  for (const IndexMap &each : maps.maps) {
    IndexMap map = each.renumbered();
    fmt::format_to(std::back_inserter(text), "    {}\n", map.str());
    // The map's text names the scalar of a runtime variable, but not an element of a tensor.
    size_t number = 0;
    for (const MapVariable &variable : map.variables()) {
      if (!variable.source)
        continue;
      std::string element;
      for (Expr coordinate : variable.source->element)
        element += (element.empty() ? "" : ", ") + coordinate.str();
      if (!element.empty())
        fmt::format_to(std::back_inserter(text), "      rt{} is element ({}) of {}\n", number,
                       element, variable.source->tensorName);
      ++number;
    }
  }
  if (maps.coverage != Coverage::Exact)
    fmt::format_to(std::back_inserter(text), "    covers more than is read: {}\n", maps.note);
  else if (!maps.note.empty())
    fmt::format_to(std::back_inserter(text), "    note: {}\n", maps.note);
}

/// The graph that has the op: the entry first, then the others in file order.
std::pair<const Graph *, OpId> findOp(const Module &module, std::string name) {
  if (name.starts_with("%"))
    name.erase(0, 1);
  if (OpId id = module.entry().find(name); id.isValid())
    return {&module.entry(), id};
  for (const Graph &graph : module.all())
    if (OpId id = graph.find(name); id.isValid())
      return {&graph, id};
  return {nullptr, OpId{}};
}

llvm::Error noSuchOp(const std::string &name) {
  return makeError(DiagClass::BadInput, "no op {} in the module; see tilewright import --text",
                   name);
}

/// Shows maps under headings, as text or JSON.
class Output {
public:
  Output(const IndexArguments &options, const Graph &graph, OpId id) : json(options.json) {
    const Op &op = graph.op(id);
    document = newDocument("index");
    document["op"] = op.name;
    document["opcode"] = toString(op.opcode);
    document["shape"] = op.shape.str(false);
    if (!json)
      fmt::format_to(std::back_inserter(text), "%{} = {} {}\n", op.name, op.shape.str(false),
                     toString(op.opcode));
  }

  void section(const char *name, const std::string &heading) {
    key = name;
    if (!document.contains(key))
      document[key] = Json::array();
    if (!json && !heading.empty())
      fmt::format_to(std::back_inserter(text), "{}\n", heading);
  }

  void add(const Op &operand, const llvm::Expected<OperandMaps> &maps, const std::string &reason) {
    Json entry;
    entry["operand"] = operand.name;
    entry["shape"] = operand.shape.str(false);
    if (!json)
      fmt::format_to(std::back_inserter(text), "  %{} {}\n", operand.name,
                     operand.shape.str(false));
    if (reason.empty()) {
      entry.update(toJson(*maps));
      if (!json)
        printMaps(*maps, text);
    } else {
      entry["reason"] = reason;
      if (!json)
        fmt::format_to(std::back_inserter(text), "    no map: {}\n", reason);
    }
    document[key].push_back(std::move(entry));
  }

  /// The replica of the group that an element comes from.
  void replica(const std::string &number) {
    document["replica"] = number;
    if (!json)
      fmt::format_to(std::back_inserter(text), "  from replica {} of the group\n", number);
  }

  void opaque(const std::string &reason) {
    document["opaque"] = reason;
    if (!json)
      fmt::format_to(std::back_inserter(text), "opaque: {}\n", reason);
  }

  void finish() const {
    if (json)
      print(document);
    else
      say("{}", text);
  }

private:
  bool json;
  Json document;
  std::string key, text; ///< text: printed at the end, so that an error leaves nothing on stdout
};

/// Adds one line; an op without such a map becomes a row with the reason, other errors are
/// returned.
llvm::Error addMaps(Output &output, const Op &operand, llvm::Expected<OperandMaps> maps) {
  if (maps) {
    output.add(operand, maps, "");
    return llvm::Error::success();
  }
  Diag diag = takeDiag(maps.takeError());
  if (diag.cls != DiagClass::Unsupported && diag.cls != DiagClass::BudgetSpent)
    return makeError(std::move(diag));
  output.add(operand, OperandMaps{}, diag.message);
  return llvm::Error::success();
}

int runIndex(const IndexArguments &options) {
  llvm::Expected<Module> module = readModel(options.model, options.choice);
  if (!module)
    return failInput(module.takeError());
  auto [graph, id] = options.op.empty() ? std::pair{&module->entry(), module->entry().root()}
                                        : findOp(*module, options.op);
  if (!graph)
    return fail(noSuchOp(options.op));
  ExprContext context;
  const Op &op = graph->op(id);
  Output output(options, *graph, id);

  std::vector<OpId> targets;
  if (!options.to.empty()) {
    OpId target = graph->find(options.to.starts_with("%") ? options.to.substr(1) : options.to);
    if (!target.isValid())
      return fail(noSuchOp(options.to));
    targets.push_back(target);
  } else if (options.parameters) {
    targets = graph->parameters();
  }
  if (!targets.empty() || options.parameters) {
    output.section("composed", "composed along all paths");
    llvm::Expected<std::vector<MapsOrRefusal>> all = mapsToOps(*graph, id, targets, context);
    if (!all)
      return fail(all.takeError());
    for (size_t i = 0; i < targets.size(); ++i) {
      MapsOrRefusal &one = (*all)[i];
      output.add(graph->op(targets[i]), std::move(one.maps),
                 one.refusal ? one.refusal->message : "");
    }
    output.finish();
    return Fine;
  }

  llvm::Expected<OpIndexing> indexing = outputToOperands(*graph, id, context);
  if (!indexing)
    return fail(indexing.takeError());
  if (indexing->isOpaque) {
    output.opaque(indexing->reason);
    output.finish();
    return Fine;
  }
  output.section("output_to_operand",
                 op.operands.empty() ? "reads no operand" : "output element reads");
  for (size_t i = 0; i < indexing->operands.size(); ++i)
    output.add(graph->op(op.operands[i]), indexing->operands[i], "");
  if (indexing->replica)
    output.replica(indexing->replica->str());
  output.section("operand_to_output", op.operands.empty() ? "" : "operand element is read by");
  for (unsigned i = 0; i < op.operands.size(); ++i)
    if (llvm::Error error =
            addMaps(output, graph->op(op.operands[i]),
                    op.shape.isTuple ? operandToOutput(*graph, id, i, context)
                                     : operandToOutput(*graph, id, i, context, *indexing)))
      return fail(std::move(error));
  output.finish();
  return Fine;
}

} // namespace

void addIndex(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<IndexArguments>();
  CLI::App *command = app.add_subcommand("index", "Index maps of an op, in both directions");
  command->footer(
      "Examples:\n"
      "  tilewright index model.hlo.txt --op dot.3\n"
      "  tilewright index model.hlo.txt --op out --to x       composed along all paths");
  command->add_option("MODEL", options->model, modelHelp)->required();
  addModuleChoice(*command, options->choice);
  command->add_option("--op", options->op, "Name of the op (default: the entry's root)");
  auto *to = command->add_option("--to", options->to, "Compose down to this op");
  command->add_flag("--parameters", options->parameters, "Compose down to every parameter")
      ->excludes(to);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runIndex(*options); }; });
}

} // namespace tilewright::cli
