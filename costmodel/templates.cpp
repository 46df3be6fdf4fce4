#include "costmodel/templates.h"

#include "analysis/import/import_file.h"
#include "analysis/support/printable.h"
#include "costmodel/features.h"
#include "costmodel/json_reader.h"
#include "costmodel/named_files.h"
#include "costmodel/template_parts.h"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <set>

using nlohmann::json;

namespace tilewright {

using namespace template_parts;

namespace {

/// Bound on the number of cached shapes.
constexpr size_t maxKeptShapes = 4096;
constexpr int64_t maxParameter = int64_t(1) << 30;

llvm::Expected<Source> parseSource(const JsonFile &file, const std::string &name,
                                   const json &entry) {
  if (!entry.is_object())
    return file.errorAt(name, fmt::format("'{}' must be an object with a column or a value", name));
  Source source;
  const char *constantKey = entry.contains("column") ? "default" : "value";
  if (entry.contains("column")) {
    auto column = file.string(entry, "column");
    if (!column)
      return column.takeError();
    source.column = *column;
  }
  if (auto it = entry.find(constantKey); it != entry.end()) {
    if (!it->is_string() && !it->is_number_integer())
      return file.errorAt(
          name, fmt::format("'{}': '{}' must be a string or a whole number", name, constantKey));
    source.constant = it->is_string() ? it->get<std::string>() : it->dump();
    source.hasConstant = true;
  } else if (source.column.empty()) {
    return file.errorAt(name, fmt::format("'{}' needs a 'column' or a 'value'", name));
  }
  if (auto it = entry.find("map"); it != entry.end()) {
    if (!it->is_object())
      return file.errorAt(name, fmt::format("'{}': 'map' must be an object", name));
    for (auto &[from, to] : it->items()) {
      if (!to.is_string())
        return file.errorAt(name, fmt::format("'{}': 'map' must hold strings", name));
      source.map.emplace_back(from, to.get<std::string>());
    }
  }
  return source;
}

llvm::Error parseSources(const JsonFile &file, const char *key,
                         std::vector<std::pair<std::string, Source>> &out) {
  auto object = file.object(file.root(), key);
  if (!object)
    return object.takeError();
  for (auto &[name, entry] : object->items()) {
    auto source = parseSource(file, name, entry);
    if (!source)
      return source.takeError();
    out.emplace_back(name, std::move(*source));
  }
  return llvm::Error::success();
}

llvm::Expected<Template> readTemplate(const std::filesystem::path &path) {
  auto file = JsonFile::read(path.string());
  if (!file)
    return file.takeError();
  if (auto error = file->expectSchema("tilewright.template", 1))
    return error;
  Template t;
  t.fileName = path.filename().string();
  const json &root = file->root();
  auto family = file->string(root, "family");
  if (!family)
    return family.takeError();
  t.familyText = *family;
  auto hlo = file->string(root, "hlo");
  if (!hlo)
    return hlo.takeError();
  t.hloName = (path.parent_path() / *hlo).string();
  auto text = readFile(t.hloName, 16ull << 20);
  if (!text)
    return text.takeError();
  t.hloText = std::move(*text);
  if (root.contains("about")) {
    auto about = file->string(root, "about");
    if (!about)
      return about.takeError();
    t.about = *about;
  }
  if (root.contains("unpriced")) {
    auto reason = file->string(root, "unpriced");
    if (!reason)
      return reason.takeError();
    t.unpriced = *reason;
  }

  auto rows = file->object(root, "rows");
  if (!rows)
    return rows.takeError();
  for (auto &[column, values] : rows->items()) {
    auto list = file->strings(*rows, column);
    if (!list)
      return list.takeError();
    t.filters.emplace_back(column, std::move(*list));
  }
  if (t.filters.empty())
    return file->errorAt("rows", "'rows' names no column, so every row would belong here");
  if (auto error = parseSources(*file, "variables", t.variables))
    return error;
  if (auto error = parseSources(*file, "parameters", t.parameters))
    return error;

  auto group = file->strings(root, "group");
  if (!group)
    return group.takeError();
  t.groupColumns = std::move(*group);
  auto shape = file->object(root, "shape");
  if (!shape)
    return shape.takeError();
  auto shapeName = file->string(*shape, "name");
  auto shapeColumns = file->strings(*shape, "columns");
  if (!shapeName) {
    llvm::consumeError(shapeColumns.takeError());
    return shapeName.takeError();
  }
  if (!shapeColumns)
    return shapeColumns.takeError();
  t.shapeName = *shapeName;
  t.shapeColumns = std::move(*shapeColumns);
  return t;
}

llvm::Expected<std::string> valueFor(const std::string &name, const Source &source,
                                     const TableRow &row) {
  std::string_view cell = source.column.empty() ? std::string_view() : row.text(source.column);
  if (cell.empty()) {
    if (source.hasConstant)
      return source.constant;
    return row.error(
        row.table().column(source.column)
            ? fmt::format("column '{}' is empty, but the family's '{}' is taken of it",
                          source.column, name)
            : fmt::format("there is no column '{}', of which the family's '{}' is taken",
                          source.column, name));
  }
  if (source.map.empty()) {
    // "64.0" and "64" are the same size; a word, such as a type, stays as it is.
    if (auto whole = row.integer(source.column); whole && *whole)
      return fmt::format("{}", **whole);
    else if (!whole)
      llvm::consumeError(whole.takeError());
    if (!isPlainName(cell))
      return row.error(fmt::format("column '{}' is '{}', expected a whole number, or a word of "
                                   "letters, digits, '.', '_' and '-'",
                                   source.column, excerpt(cell)));
    return std::string(cell);
  }
  for (auto &[from, to] : source.map)
    if (from == cell)
      return to;
  return row.error(
      fmt::format("column '{}' is '{}', which the template does not map", source.column, cell),
      DiagClass::Unsupported);
}

/// Key of a row: its cells in these columns.
std::string keyOf(const TableRow &row, const std::vector<std::string> &columns) {
  std::string key;
  for (const std::string &column : columns)
    key += fmt::format("{}{}", key.empty() ? "" : "|", row.text(column));
  return key;
}

} // namespace

llvm::Expected<std::string>
template_parts::expand(std::string_view text,
                       llvm::function_ref<llvm::Expected<std::string>(std::string_view)> valueOf) {
  std::string out;
  size_t pos = 0;
  while (true) {
    size_t start = text.find("${", pos);
    out += text.substr(pos, start - pos);
    if (start == std::string_view::npos)
      return out;
    size_t end = text.find('}', start);
    if (end == std::string_view::npos)
      return makeError(DiagClass::BadInput, "'${{' without '}}' in a template");
    auto value = valueOf(text.substr(start + 2, end - start - 2));
    if (!value)
      return value.takeError();
    out += *value;
    pos = end + 1;
  }
}

llvm::Expected<TiledShape> TemplateLibrary::Impl::shapeOf(const Template &t, const TableRow &row) {
  auto text = expand(t.hloText, [&](std::string_view name) -> llvm::Expected<std::string> {
    for (auto &[variable, source] : t.variables)
      if (variable == name)
        return valueFor(variable, source, row);
    return makeError(DiagClass::BadInput, "{}: no variable '{}' in {}", t.hloName, name,
                     t.fileName);
  });
  if (!text)
    return text.takeError();
  if (auto it = shapes.find(*text); it != shapes.end())
    return it->second;
  auto shape = tile(t, row, *text);
  if (!shape)
    return shape.takeError();
  if (shapes.size() >= maxKeptShapes)
    shapes.clear();
  shapes.emplace(std::move(*text), *shape);
  return shape;
}

llvm::Expected<TiledShape> TemplateLibrary::Impl::tile(const Template &t, const TableRow &row,
                                                       const std::string &text) {
  auto module = importBuffer(std::make_shared<SourceBuffer>(t.hloName, text));
  if (!module) {
    Diag diag = takeDiag(module.takeError());
    return row.error(
        fmt::format("with this row's sizes, {}:{}: {}", diag.file, diag.line, diag.message),
        diag.cls);
  }
  TiledShape shape;
  shape.module = std::make_shared<const Module>(std::move(*module));
  shape.context = std::make_shared<ExprContext>();
  const Graph &graph = shape.module->entry();
  std::vector<OpId> ops;
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (graph[OpId{i}].opcode != Opcode::Parameter)
      ops.push_back(OpId{i});
  auto group = makeGroup(graph, ops);
  if (!group)
    return group.takeError();
  auto tiled = tileGroup(graph, *group, *shape.context);
  if (!tiled)
    return tiled.takeError();
  shape.tiled = std::make_shared<const TiledGroup>(std::move(*tiled));
  return shape;
}
TemplateLibrary::TemplateLibrary() : impl(std::make_unique<Impl>()) {}
TemplateLibrary::~TemplateLibrary() = default;
TemplateLibrary::TemplateLibrary(TemplateLibrary &&) noexcept = default;
TemplateLibrary &TemplateLibrary::operator=(TemplateLibrary &&) noexcept = default;

llvm::Error TemplateLibrary::addFolder(const std::string &folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".json")
      paths.push_back(it->path());
  if (error)
    return makeError(DiagClass::BadInput, "templates: can't read folder '{}': {}", folder,
                     error.message());
  std::sort(paths.begin(), paths.end());
  for (const auto &path : paths) {
    auto t = readTemplate(path);
    if (!t)
      return t.takeError();
    auto old = std::find_if(impl->templates.begin(), impl->templates.end(),
                            [&](const Template &other) { return other.fileName == t->fileName; });
    if (old != impl->templates.end())
      *old = std::move(*t);
    else
      impl->templates.push_back(std::move(*t));
  }
  return llvm::Error::success();
}

llvm::Expected<TemplateLibrary> TemplateLibrary::load(const std::string &folder) {
  TemplateLibrary library;
  if (auto error = library.addFolder(folder))
    return error;
  return library;
}

size_t TemplateLibrary::size() const { return impl->templates.size(); }

llvm::Error TemplateLibrary::expectColumns(const Table &table) const {
  std::set<std::string> missing;
  for (const Template &t : impl->templates) {
    bool hasAll = true;
    for (const auto &[column, values] : t.filters)
      if (!table.column(column)) {
        hasAll = false;
        missing.insert(column);
      }
    if (hasAll)
      return llvm::Error::success();
  }
  return makeError(DiagClass::BadInput,
                   "{}: no column '{}', by which families tell their rows, nor 'problem', 'plan' "
                   "and 'regime', as tilewright-profile writes them",
                   table.name(), fmt::join(missing, "', '"));
}

std::optional<size_t> TemplateLibrary::match(const TableRow &row) const {
  for (size_t i = 0; i < impl->templates.size(); ++i) {
    const Template &t = impl->templates[i];
    bool takes = std::all_of(t.filters.begin(), t.filters.end(), [&](const auto &filter) {
      auto &[column, values] = filter;
      return std::find(values.begin(), values.end(), row.text(column)) != values.end();
    });
    if (takes)
      return i;
  }
  return std::nullopt;
}

llvm::Expected<RowIdentity> TemplateLibrary::identify(size_t number, const TableRow &row) const {
  const Template &t = impl->templates[number];
  auto family = expand(t.familyText, [&](std::string_view column) -> llvm::Expected<std::string> {
    return std::string(row.text(column));
  });
  if (!family)
    return family.takeError();
  RowIdentity identity;
  identity.group = fmt::format("{}|{}", *family, keyOf(row, t.groupColumns));
  identity.shape = fmt::format("{}|{}", t.shapeName, keyOf(row, t.shapeColumns));
  identity.family = std::move(*family);
  return identity;
}

llvm::Expected<KernelPlan> TemplateLibrary::planOf(size_t number, const TableRow &row,
                                                   const Device &device) {
  const Template &t = impl->templates[number];
  if (!t.unpriced.empty())
    return makeError(DiagClass::Unsupported, "{}", t.unpriced);
  auto shape = impl->shapeOf(t, row);
  if (!shape)
    return shape.takeError();
  KernelPlan plan;
  plan.style = tritonStyle;
  plan.name = t.name();
  plan.module = shape->module;
  plan.graph = shape->module->entryId;
  plan.context = shape->context;
  plan.tiled = shape->tiled;
  for (const TileParameter &parameter : shape->tiled->space.parameters) {
    auto source = std::find_if(t.parameters.begin(), t.parameters.end(),
                               [&](const auto &entry) { return entry.first == parameter.name; });
    if (source == t.parameters.end()) {
      if (parameter.role != TileParameter::Role::Schedule)
        return makeError(DiagClass::Unsupported, "{}: no column for tile parameter '{}'",
                         t.fileName, parameter.name);
      plan.values.push_back(parameter.name == "warps" ? 4 : 1);
      continue;
    }
    auto text = valueFor(parameter.name, source->second, row);
    if (!text)
      return text.takeError();
    int64_t value = 0;
    if (llvm::StringRef(*text).getAsInteger(10, value) || value < 1 || value > maxParameter)
      return row.error(fmt::format("parameter '{}' is '{}', allowed are whole numbers from 1 to {}",
                                   parameter.name, *text, maxParameter));
    plan.values.push_back(value);
  }
  auto instruction = preferredInstruction(plan, device);
  if (!instruction)
    return instruction.takeError();
  plan.instruction = *instruction;
  return plan;
}

} // namespace tilewright
