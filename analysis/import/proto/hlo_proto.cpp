#include "analysis/import/proto/hlo_proto.h"

#include "analysis/import/hlo_lexer.h"
#include "analysis/import/proto/proto_attributes.h"
#include "analysis/import/proto/proto_shape.h"
#include "analysis/ir/quotes.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

namespace tilewright {

namespace {

// Field numbers of HloModuleProto.
namespace module_field {
enum : uint32_t { Name = 1, EntryName = 2, Computations = 3, EntryId = 6, Schedule = 7 };
enum : uint32_t { ProgramShape = 4, Aliases = 8, StackFrames = 17, Donors = 18 };
} // namespace module_field
// Of HloComputationProto.
namespace computation_field {
enum : uint32_t { Name = 1, Instructions = 2, Id = 5, RootId = 6 };
}

using Ids = std::unordered_map<int64_t, std::string_view>;

constexpr int64_t predType = 1; ///< PrimitiveType

/// Letters, digits and `_ . -`: what can stand in HLO text.
bool isWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '-';
  });
}

class ModuleWriter {
public:
  ModuleWriter(const WireMessage &module, WireError &error) : module(module), error(error) {}
  /// False after an error.
  bool run();
  std::string out;
  std::string instruction; ///< that is being written, for errors

private:
  bool word(const WireMessage &from, uint32_t field, std::string_view what,
            std::string_view &value);
  void header();
  void aliases();
  void entryLayout();
  void frames();
  bool nameComputations();
  void order(int64_t computation, std::vector<WireMessage> &ops);
  bool computation(const WireMessage &computation);
  bool op(const WireMessage &message, const Ids &instructions, bool isRoot);
  std::string find(const Ids &names, int64_t id, std::string_view what, size_t at);

  const WireMessage &module;
  WireError &error;
  LiteralBudget literals;
  Ids computations;
  std::unordered_set<int64_t> truthValues; ///< instructions of the computation that are preds
  std::unordered_map<int64_t, std::vector<int64_t>> schedule; ///< instructions by computation
  bool hasEntry = false;
};

bool ModuleWriter::word(const WireMessage &from, uint32_t field, std::string_view what,
                        std::string_view &value) {
  value = from.text(field);
  return !error.isSet &&
         (isWord(value) ||
          error.fail(from.offset(), value.empty() ? fmt::format("{} has no name", what)
                                                  : fmt::format("'{}' is not the name of {}",
                                                                printable(excerpt(value)), what)));
}

/// The name behind an id, with '%'.
std::string ModuleWriter::find(const Ids &names, int64_t id, std::string_view what, size_t at) {
  if (auto it = names.find(id); it != names.end())
    return "%" + std::string(it->second);
  error.fail(at, fmt::format("there is no {} {}", what, id));
  return {};
}

void ModuleWriter::aliases() {
  std::string text;
  for (const WireMessage &entry : module.message(module_field::Aliases).messages(1))
    text += fmt::format("{}{}: ({}, {}, {}-alias)", text.empty() ? " " : ", ",
                        bracedList(entry.integers(1)), entry.integer(2),
                        bracedList(entry.integers(3)), entry.integer(4) == 2 ? "must" : "may");
  if (!text.empty())
    out += fmt::format(", input_output_alias={{{} }}", text);
  text.clear();
  for (const WireMessage &entry : module.message(module_field::Donors).messages(1))
    text += fmt::format("{}({}, {})", text.empty() ? " " : ", ", entry.integer(1),
                        bracedList(entry.integers(2)));
  if (!text.empty())
    out += fmt::format(", buffer_donor={{{} }}", text);
}

/// `entry_computation_layout={(a, b)->c}`
void ModuleWriter::entryLayout() {
  const WireMessage shape = module.message(module_field::ProgramShape);
  out += ", entry_computation_layout={(";
  bool isFirst = true;
  for (const WireMessage &parameter : shape.messages(1)) {
    out += isFirst ? "" : ", ";
    isFirst = false;
    if (!appendShape(parameter, out, error))
      return;
  }
  out += ")->";
  appendShape(shape.message(2), out, error);
  out += '}';
}

void ModuleWriter::header() {
  const std::string_view name = module.text(module_field::Name);
  out += "HloModule " + std::string(isWord(name) ? name : "module");
  if (module.has(module_field::Schedule))
    out += ", is_scheduled=true";
  aliases();
  if (module.has(module_field::ProgramShape))
    entryLayout();
  out += "\n\n";
}

/// The tables of source positions, as XLA writes them.
void ModuleWriter::frames() {
  const WireMessage index = module.message(module_field::StackFrames);
  auto texts = [&](std::string_view title, uint32_t field) {
    out += title;
    const std::vector<std::string_view> rows = index.texts(field);
    for (size_t i = 0; i < rows.size(); ++i)
      out += fmt::format("{} {}\n", i + 1, inQuotes(rows[i]));
  };
  if (index.messages(3).empty())
    return;
  texts("FileNames\n", 1);
  texts("\nFunctionNames\n", 2);
  out += "\nFileLocations\n";
  size_t number = 0;
  for (const WireMessage &row : index.messages(3))
    out += fmt::format("{} {{file_name_id={} function_name_id={} line={} end_line={} column={} "
                       "end_column={}}}\n",
                       ++number, row.integer(1), row.integer(2), row.integer(3), row.integer(5),
                       row.integer(4), row.integer(6));
  out += "\nStackFrames\n";
  number = 0;
  for (const WireMessage &row : index.messages(4))
    out += fmt::format("{} {{file_location_id={} parent_frame_id={}}}\n", ++number, row.integer(1),
                       row.integer(2));
  out += "\n";
}

bool ModuleWriter::nameComputations() {
  for (const WireMessage &each : module.messages(module_field::Computations)) {
    std::string_view name;
    if (!word(each, computation_field::Name, "a computation", name))
      return false;
    if (!computations.emplace(each.integer(computation_field::Id), name).second)
      return error.fail(each.offset(), fmt::format("a second computation has id {}",
                                                   each.integer(computation_field::Id)));
  }
  return !error.isSet &&
         (!computations.empty() || error.fail(module.offset(), "there is no computation"));
}

bool ModuleWriter::op(const WireMessage &message, const Ids &instructions, bool isRoot) {
  namespace field = instruction_field;
  std::string_view name, opcode;
  if (!word(message, field::Name, "an instruction", name))
    return false;
  instruction = name;
  if (!word(message, field::Opcode, "an opcode", opcode))
    return false;
  out += fmt::format("  {}%{} = ", isRoot ? "ROOT " : "", name);
  if (!appendShape(message.message(field::Shape), out, error))
    return false;
  out += fmt::format(" {}(", opcode);
  if (opcode == "parameter")
    out += std::to_string(message.integer(field::ParameterNumber));
  else if (opcode == "constant" &&
           !appendLiteral(message.message(field::Literal), literals, out, error))
    return false;
  const std::vector<int64_t> operands = message.integers(field::OperandIds);
  bool isFirst = true;
  for (int64_t id : operands) {
    out += (isFirst ? "" : ", ") + find(instructions, id, "instruction", message.offset());
    isFirst = false;
  }
  out += ')';
  auto lookUp = [&](const Ids &ids, std::string_view what) {
    return [&, what](int64_t id) { return find(ids, id, what, message.offset()); };
  };
  const bool isOfTruthValue = !operands.empty() && truthValues.contains(operands[0]);
  appendAttributes({message, opcode, isOfTruthValue, lookUp(computations, "computation"),
                    lookUp(instructions, "instruction")},
                   out, error);
  out += '\n';
  if (out.size() > hlo_limits::bytes)
    return error.fail(message.offset(),
                      fmt::format("as text the module has over {} bytes", hlo_limits::bytes));
  return !error.isSet;
}

/// Puts a computation's instructions in the order in which they are to run, where there is one.
void ModuleWriter::order(int64_t computation, std::vector<WireMessage> &ops) {
  std::unordered_map<int64_t, size_t> places;
  for (int64_t id : schedule[computation])
    places.emplace(id, places.size());
  auto placeOf = [&](const WireMessage &op) {
    auto it = places.find(op.integer(instruction_field::Id));
    return it == places.end() ? places.size() : it->second;
  };
  std::stable_sort(ops.begin(), ops.end(), [&](const WireMessage &a, const WireMessage &b) {
    return placeOf(a) < placeOf(b);
  });
}

bool ModuleWriter::computation(const WireMessage &computation) {
  namespace field = instruction_field;
  const int64_t entry = module.integer(module_field::EntryId);
  const std::string_view name = computation.text(computation_field::Name);
  const bool isEntry = module.has(module_field::EntryId)
                           ? computation.integer(computation_field::Id) == entry
                           : name == module.text(module_field::EntryName);
  hasEntry |= isEntry;
  out += fmt::format("{}%{} {{\n", isEntry ? "ENTRY " : "", name);
  std::vector<WireMessage> ops = computation.messages(computation_field::Instructions);
  order(computation.integer(computation_field::Id), ops);
  Ids names;
  truthValues.clear();
  for (const WireMessage &each : ops) {
    const int64_t id = each.integer(field::Id);
    if (!names.emplace(id, each.text(field::Name)).second)
      return error.fail(each.offset(), fmt::format("a second instruction has id {}", id));
    if (each.message(field::Shape).integer(2) == predType)
      truthValues.insert(id);
  }
  const int64_t root = computation.integer(computation_field::RootId);
  if (!names.contains(root))
    return error.fail(computation.offset(),
                      fmt::format("the root {} of %{} is not there", root, name));
  for (const WireMessage &each : ops)
    if (!op(each, names, each.integer(field::Id) == root))
      return false;
  instruction.clear();
  out += "}\n\n";
  return true;
}

bool ModuleWriter::run() {
  if (error.isSet || !nameComputations())
    return false;
  header();
  frames();
  for (const WireMessage &entry : module.message(module_field::Schedule).messages(1))
    schedule[entry.integer(1)] = entry.message(2).integers(1);
  for (const WireMessage &each : module.messages(module_field::Computations))
    if (!computation(each))
      return false;
  return !error.isSet &&
         (hasEntry || error.fail(module.offset(), "the entry computation is not there"));
}

/// The module in what may be an HloProto or an HloSnapshot around it: the first field of both.
WireMessage moduleIn(const WireMessage &file) {
  WireMessage at = file;
  for (unsigned depth = 0; depth < 2 && !at.has(module_field::EntryName) &&
                           !at.has(module_field::EntryId) && at.has(module_field::Name);
       ++depth)
    at = at.message(1);
  return at;
}

} // namespace

llvm::Expected<std::string> hloTextOfProto(const SourceBuffer &source) {
  constexpr size_t mostBytes = 1 << 28;
  if (source.text().size() > mostBytes)
    return makeError(DiagClass::BadInput, "{}: {} bytes, of a protocol buffer at most {} are read",
                     source.name(), source.text().size(), mostBytes);
  WireError error;
  const WireMessage module = moduleIn(WireMessage(source.text(), error));
  ModuleWriter writer(module, error);
  if (writer.run())
    return std::move(writer.out);
  return makeError(
      DiagClass::BadInput, "{}: byte {}{}: {} (read as a protocol buffer of XLA's HLO)",
      source.name(), error.offset,
      writer.instruction.empty() ? "" : ", in %" + printable(writer.instruction), error.message);
}

} // namespace tilewright
