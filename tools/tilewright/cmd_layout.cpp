// tilewright layout: which thread holds what, and what accesses cost by it: of a layout by itself,
// or of all values of a tile program.
#include "analysis/program/layout/catalogue.h"
#include "analysis/program/layout_text.h"
#include "tools/tilewright/command_line.h"
#include "tools/tilewright/layout_inference.h"
#include "tools/tilewright/layout_model.h"
#include "tools/tilewright/layout_output.h"
#include "tools/tilewright/layout_plans.h"
#include "tools/tilewright/program_input.h"

#include <charconv>
#include <filesystem>

namespace tilewright::cli {

namespace {

struct LayoutArguments {
  std::string what, type = "f32", value, owner;
  std::vector<std::string> lets, axes;
  ModelTile model;
  int64_t swizzle = 0, pad = 0;
  bool json = false, svg = false, rows = false, tiles = false, transposed = false;
  bool noPicture = false, parts = false;
  InferenceArguments inference;
  LayoutPlansArguments plans;

  LayoutView view() const { return {!noPicture, json, svg}; }
  bool asksForShared() const { return rows || tiles || swizzle != 0 || pad != 0; }
};

/// The axes of --axes, in their order, with a program that has them.
struct AskedTile {
  program::Program program;
  program::AxisSet axes;
  layout::TileDims dims;
};

llvm::Expected<AskedTile> askedTile(const LayoutArguments &options) {
  AskedTile tile;
  if (options.axes.empty())
    return makeError(DiagClass::BadInput,
                     "--axes: a layout by itself needs a tile, as --axes i=64,j=16");
  llvm::Expected<std::map<std::string, int64_t>> numbers = namedNumbers("--axes", options.axes);
  if (!numbers)
    return numbers.takeError();
  ExprContext &context = *tile.program.context;
  for (const std::string &pair : options.axes) {
    std::string name = pair.substr(0, pair.find('='));
    const int64_t extent = numbers->at(name);
    if (extent < 1 || extent > layout::TileLayout::maxPoints)
      return makeError(DiagClass::BadInput, "--axes: {} has {} elements, not 1 to {}", name, extent,
                       layout::TileLayout::maxPoints);
    program::Axis axis;
    axis.name = name;
    axis.var = context.variable(VarKind::Dim, name);
    axis.extent = context.constant(extent);
    axis.origin = context.constant(0);
    tile.axes.push_back({static_cast<uint32_t>(tile.program.axes.size())});
    tile.program.axes.push_back(std::move(axis));
    tile.dims.emplace_back(name, extent);
  }
  tile.program.warps = context.constant(options.model.warps);
  return tile;
}

llvm::Expected<layout::TileLayout> layoutByText(const AskedTile &tile,
                                                const LayoutArguments &options, DType type) {
  llvm::Expected<program::LayoutSpec> spec = program::parseLayoutSpec(
      tile.program, std::make_shared<SourceBuffer>("layout", options.what));
  if (!spec)
    return spec.takeError();
  return layout::tileLayoutOf(tile.program, tile.program.layoutFor(*spec, tile.axes, type),
                              tile.axes);
}

llvm::Expected<std::optional<layout::SharedLayout>>
askedShared(const AskedTile &tile, const LayoutArguments &options, DType type) {
  if (!options.asksForShared())
    return std::nullopt;
  const unsigned bits = bitWidth(type);
  llvm::Expected<layout::SharedLayout> made =
      options.tiles
          ? layout::SharedLayout::tiled(tile.dims, bits, options.swizzle, options.transposed)
      : options.swizzle != 0 ? layout::SharedLayout::panels(tile.dims, bits, options.swizzle)
                             : layout::SharedLayout::rows(tile.dims, bits, options.pad);
  if (!made)
    return made.takeError();
  return std::optional(std::move(*made));
}

/// "37,13", as many as there are axes, within the tile.
llvm::Expected<std::vector<int64_t>> askedOwner(const AskedTile &tile, const std::string &text) {
  std::vector<int64_t> element;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    int64_t value = 0;
    auto [next, status] = std::from_chars(at, end, value);
    const size_t dim = element.size();
    if (status != std::errc() || dim >= tile.dims.size() || value < 0 ||
        value >= tile.dims[dim].extent || (next != end && *next != ','))
      return makeError(DiagClass::BadInput, "--owner: '{}' is no element of the tile", text);
    element.push_back(value);
    at = next == end ? end : next + 1;
  }
  if (!text.empty() && element.size() != tile.dims.size())
    return makeError(DiagClass::BadInput, "--owner: '{}' has {} numbers, the tile {} axes", text,
                     element.size(), tile.dims.size());
  return element;
}

llvm::Expected<AskedLayout> askedLayout(const LayoutArguments &options) {
  std::optional<DType> type = parseDType(options.type);
  if (!type)
    return makeError(DiagClass::BadInput, "--type: '{}' is no element type", options.type);
  llvm::Expected<AskedTile> tile = askedTile(options);
  if (!tile)
    return tile.takeError();
  llvm::Expected<layout::TileLayout> held = options.what.front() == '@'
                                                ? layoutByText(*tile, options, *type)
                                                : layout::instantiate(options.what, tile->dims);
  if (!held)
    return held.takeError();
  auto shared = askedShared(*tile, options, *type);
  if (!shared)
    return shared.takeError();
  llvm::Expected<std::vector<int64_t>> owner = askedOwner(*tile, options.owner);
  if (!owner)
    return owner.takeError();
  return AskedLayout{options.what, *type, std::move(*held), std::move(*shared), std::move(*owner)};
}

bool isFolder(const std::string &path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

llvm::Expected<program::Program> readProgram(LayoutArguments &options) {
  llvm::Expected<std::string> text = isFolder(options.what) ? "" : readFile(options.what);
  if (!text)
    return text.takeError();
  if (!isTileProgram(*text)) {
    options.model.isUsed = true;
    if (!options.lets.empty())
      return makeError(DiagClass::BadInput, "--let {}: sizes of a model's tile are given by --tile",
                       options.lets.front());
    llvm::Expected<ModelPrograms> made = programsOfModel(options.what, options.model);
    if (!made)
      return made.takeError();
    return std::move(options.parts ? made->parts : made->whole);
  }
  if (options.parts || !options.model.root.empty() || !options.model.tile.empty())
    return makeError(DiagClass::BadInput,
                     "--root, --tile, --parts: {} is a tile program or a plan, "
                     "they are of models",
                     options.what);
  llvm::Expected<program::PlanProgram> made =
      programOfText(options.what, std::move(*text), options.lets);
  if (!made)
    return made.takeError();
  return program::concreteProgram(*made);
}

int runOfProgram(LayoutArguments &options) {
  llvm::Expected<program::Program> program = readProgram(options);
  if (!program)
    return failInput(program.takeError());
  if (options.inference.isAsked()) {
    const int answer = runInference(*program, options.inference, options.value, options.view());
    if (answer == AnswerIsNo && options.model.isUsed && !options.parts && !options.json &&
        !options.inference.check)
      say("note: --parts asks for the program as it runs, in loops over parts of the tile\n");
    return answer;
  }
  llvm::Expected<layout::ProgramLayouts> layouts = layout::layoutsOf(*program);
  if (!layouts)
    return failInput(layouts.takeError());
  if (!options.value.empty()) {
    for (layout::ValueLayout &value : layouts->values)
      if (value.name == options.value)
        return showLayout({value.name, value.type, std::move(value.layout), std::nullopt, {}},
                          options.view());
    std::vector<std::string> names;
    for (const layout::ValueLayout &value : layouts->values)
      names.push_back(value.name);
    std::string nearest = nearestName(options.value, names);
    return failInput(makeError(DiagClass::BadInput, "--value: no value of registers is named {}{}",
                               options.value,
                               nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest)));
  }
  if (options.svg)
    return failInput(
        makeError(DiagClass::BadInput, "--svg: which value's picture? name it with --value"));
  if (options.json)
    print(layoutsJson(program->name, *layouts));
  else
    printLayouts(program->name, *layouts);
  return Fine;
}

int runOfPlans(const LayoutArguments &options, bool isByItself) {
  llvm::Expected<std::string> text =
      isByItself || isFolder(options.what) ? "" : readFile(options.what);
  if (!text)
    return failInput(text.takeError());
  if (isByItself || isTileProgram(*text))
    return failInput(makeError(DiagClass::BadInput,
                               "--plans: {} is no model, whose plans there are", options.what));
  return runLayoutPlans(options.what, options.model, options.plans, options.json);
}

int runLayout(LayoutArguments &options) {
  const bool isByItself = options.what.front() == '@' || layout::findInCatalogue(options.what);
  if (options.plans.plans > 0)
    return runOfPlans(options, isByItself);
  if (!isByItself)
    return runOfProgram(options);
  if (options.inference.isAsked())
    return failInput(makeError(DiagClass::BadInput,
                               "--infer: {} is a layout, inference takes a program", options.what));
  llvm::Expected<AskedLayout> asked = askedLayout(options);
  if (!asked)
    return failInput(asked.takeError());
  return showLayout(*asked, options.view());
}

} // namespace

void addLayout(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<LayoutArguments>();
  CLI::App *command = app.add_subcommand(
      "layout", "Which thread holds which element, and what accesses cost by it");
  command->footer(
      "Examples:\n"
      "  tilewright layout '@ wgmma(1, 1)' --axes i=64,j=16 --type bf16 --swizzle 32\n"
      "  tilewright layout upcast_4x --axes i=64,j=64 --owner 37,13\n"
      "  tilewright layout tests/programs/transposed_add.tile --let M=256 --let N=256 --let BM=64 "
      "--let BN=64 --let W=4\n"
      "  tilewright layout tests/programs/transposed_add.tile --let M=256 --let N=256 --let BM=64 "
      "--let BN=64 --let W=4 --check\n"
      "Exit code 1: the layout covers no tile; no layouts satisfy what is asked; or, with --check, "
      "the program's own cost more.");
  takesStandardInput(
      command->add_option("LAYOUT", options->what,
                          "A layout as it stands in a tile program, behind @; a name of the "
                          "catalogue; or a file: a tile program, a plan, or a model; - is standard "
                          "input"))
      ->required()
      ->check([](const std::string &text) { return text.empty() ? "it is empty" : ""; });
  command->add_option("--axes", options->axes, "NAME=NUMBER,…: the tile of a layout by itself")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--type", options->type, "Its element type")->capture_default_str();
  command->add_option("--warps", options->model.warps, "Warps that hold it, or of a model's kernel")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(1), int64_t(32)));
  command->add_flag("--rows", options->rows, "It meets shared memory in plain rows");
  command->add_option("--pad", options->pad, "In rows with so many elements behind each")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 16));
  command->add_option("--swizzle", options->swizzle, "In panels of 32, 64 or 128 bytes, swizzled");
  command->add_flag("--tiles", options->tiles, "In tiles of 8 rows as wide as the swizzle");
  command->add_flag("--transposed", options->transposed, "Of tiles: those of the transpose");
  command->add_option("--owner", options->owner, "I,J: say who holds this element");
  command->add_option("--let", options->lets, "NAME=NUMBER: a size of a program; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--value", options->value, "Of a program: the picture of this value");
  addModuleChoice(*command, options->model.choice);
  command->add_option("--root", options->model.root,
                      "Of a model: op whose kernel it is (default: the last)");
  command->add_option(
      "--tile", options->model.tile,
      "Of a model: sizes by position (64,32) or by name (t0=64,k0=32); the rest is whole");
  command->add_flag(
      "--parts", options->parts,
      "Of a model: the program as it runs, in loops over parts of the tile, in place of all "
      "values at once");
  addInferenceOptions(*command, options->inference);
  addLayoutPlans(*command, options->plans);
  command->add_flag("--no-picture", options->noPicture, "Leave out the picture");
  auto *json = command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--svg", options->svg, "Print the picture as SVG")->excludes(json);
  command->callback(
      [options, &selection] { selection.run = [options] { return runLayout(*options); }; });
}

} // namespace tilewright::cli
