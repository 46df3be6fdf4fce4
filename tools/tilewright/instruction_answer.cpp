#include "tools/tilewright/instruction_answer.h"

#include "analysis/instructions/operand_limits.h"
#include "tools/tilewright/command_line.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <fmt/ranges.h>

namespace tilewright::cli {

namespace {

constexpr std::string_view assembledBy = "ptxas 13.0, PTX 9.0", documentedBy = "PTX ISA 9.0";

/// One that only the tables have, by its name or the only one that it begins.
llvm::Expected<const InstructionRow *> rowNamed(const InstructionTable &table,
                                                const std::string &name) {
  if (const InstructionRow *row = table.find(name))
    return row;
  const std::vector<std::string> names = table.namesWith(name);
  if (names.size() == 1)
    return table.find(names.front());
  constexpr size_t most = 12;
  if (!names.empty())
    return makeError(DiagClass::BadInput, "'{}' is {} instructions: {}{}", excerpt(name),
                     names.size(),
                     fmt::join(names.begin(), names.begin() + std::min(most, names.size()), ", "),
                     names.size() > most ? ", …" : "");
  std::vector<std::string> known = instructionUnits();
  for (const InstructionRow &row : table.rows())
    if (llvm::Expected<PtxInstruction> parsed = parseInstruction(row.name); !parsed)
      llvm::consumeError(parsed.takeError());
    else if (parsed->unit == InstructionUnit::Other)
      known.push_back(row.name);
  const std::string nearest = nearestName(name, known);
  return makeError(DiagClass::BadInput, "no instruction '{}' is known{}", excerpt(name),
                   nearest.empty() ? fmt::format(", but {}", fmt::join(known, ", "))
                                   : fmt::format("; did you mean {}?", nearest));
}

/// By the answers of an assembler alone.
llvm::Expected<InstructionAnswer> answerByRow(const InstructionTable &table,
                                              InstructionAnswer answer) {
  const InstructionQuestion &question = answer.question;
  llvm::Expected<const InstructionRow *> row = rowNamed(table, question.instruction);
  if (!row)
    return row.takeError();
  for (const auto &[option, text] :
       {std::pair{"--shape", &question.shape}, std::pair{"--types", &question.types},
        std::pair{"--swizzle", &question.swizzle}})
    if (!text->empty())
      return makeError(DiagClass::BadInput, "{} {}: {} has none", option, *text, (*row)->name);
  answer.forms = {(*row)->name};
  answer.targets = table.takenBy(**row);
  answer.source = assembledBy;
  answer.isTaken = !answer.targets.empty();
  if (question.target) {
    const std::string name = question.target->str();
    const std::optional<bool> said = table.answer(**row, name);
    if (!said)
      return makeError(DiagClass::BadInput, "the tables have no target {}, but {}", name,
                       fmt::join(table.targets(), ", "));
    answer.isTaken = *said;
    if (!*said)
      answer.reasons.push_back(
          fmt::format("{}: it needs {}", name, fmt::join(answer.targets, " or ")));
  }
  if (!answer.isTaken)
    answer.assembler = (*row)->refusal;
  return answer;
}

/// "64,128": what has no m, n and k.
llvm::Expected<std::vector<int64_t>> numbersOf(std::string_view text) {
  std::vector<int64_t> numbers;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',');
  for (llvm::StringRef part : parts) {
    int64_t number = 0;
    if (part.getAsInteger(10, number) || number < 0 || number > int64_t(1) << 32)
      return makeError(DiagClass::BadInput, "--shape: '{}' is no number of '{}'",
                       excerpt(part.str()), excerpt(text));
    numbers.push_back(number);
  }
  return numbers;
}

llvm::Expected<std::optional<int64_t>> swizzleOf(const std::string &text) {
  if (text.empty())
    return std::nullopt;
  for (int64_t bytes : {0, 16, 32, 64, 128})
    if (text == fmt::format("{}", bytes))
      return bytes;
  return makeError(DiagClass::BadInput, "--swizzle {}: expected 0, 16, 32, 64 or 128 bytes",
                   excerpt(text));
}

/// "matrix-descriptor": of no name in PTX.
llvm::Expected<InstructionAnswer> answerDescriptor(InstructionAnswer answer) {
  const InstructionQuestion &question = answer.question;
  const auto usage = [&] {
    return makeError(DiagClass::BadInput, "matrix-descriptor needs --shape ADDRESS,LEADING,STRIDE "
                                          "in bytes and takes --swizzle and nothing else");
  };
  if (question.shape.empty() || !question.types.empty() || question.target)
    return usage();
  llvm::Expected<std::optional<int64_t>> swizzle = swizzleOf(question.swizzle);
  if (!swizzle)
    return swizzle.takeError();
  llvm::Expected<std::vector<int64_t>> fields = numbersOf(question.shape);
  if (!fields)
    return fields.takeError();
  if (fields->size() != 3)
    return usage();
  answer.reasons =
      descriptorRefusals({(*fields)[0], (*fields)[1], (*fields)[2], swizzle->value_or(0)});
  answer.isTaken = answer.reasons.empty();
  answer.source = fmt::format("documented, {}", documentedBy);
  return answer;
}

/// The dims of a box as the copy's modifier.
void addRank(size_t rank, PtxInstruction &copy, std::vector<std::string> &refusals) {
  constexpr size_t most = 5;
  for (size_t each = 1; each <= most; ++each)
    if (each != rank && copy.has(fmt::format("{}d", each)))
      refusals.push_back(fmt::format("a box of {} dims, which .{}d does not copy", rank, each));
  const std::string word = fmt::format("{}d", rank);
  if (rank <= most && refusals.empty() && !copy.has(word))
    copy.modifiers.push_back(word);
}

/// Reads shape, types and swizzle into the instruction; adds what only documents say of them.
llvm::Error takeOptions(const InstructionQuestion &question, PtxInstruction &instruction,
                        std::vector<std::string> &documented) {
  llvm::Expected<std::optional<int64_t>> swizzle = swizzleOf(question.swizzle);
  if (!swizzle)
    return swizzle.takeError();
  if (!question.types.empty())
    if (llvm::Error error = setTypes(instruction, question.types))
      return error;
  if (instruction.unit == InstructionUnit::Tma) {
    if (question.shape.empty())
      return llvm::Error::success();
    llvm::Expected<std::vector<int64_t>> box = numbersOf(question.shape);
    if (!box)
      return box.takeError();
    if (instruction.a.empty())
      return makeError(DiagClass::BadInput, "--shape {}: the bytes of a box need --types",
                       question.shape);
    documented = tmaBoxRefusals(*box, instructionTypeBits(instruction.a), swizzle->value_or(0));
    addRank(box->size(), instruction, documented);
    instruction.a.clear(); // a copy has none
    instruction.b.clear();
    return llvm::Error::success();
  }
  if (!question.shape.empty()) {
    auto shape = parseMatrixShape(question.shape);
    if (!shape)
      return shape.takeError();
    instruction.shape = *shape;
  }
  if (*swizzle)
    return makeError(DiagClass::BadInput,
                     "--swizzle {}: {} has none in its name; ask about tma or matrix-descriptor",
                     question.swizzle, toString(instruction.unit));
  return llvm::Error::success();
}

void add(std::vector<std::string> &list, const std::vector<std::string> &more) {
  list.insert(list.end(), more.begin(), more.end());
}

} // namespace

llvm::Expected<InstructionAnswer> answerInstruction(const InstructionTable &table,
                                                    const InstructionQuestion &question) {
  InstructionAnswer answer;
  answer.question = question;
  if (question.instruction == "matrix-descriptor")
    return answerDescriptor(std::move(answer));
  llvm::Expected<PtxInstruction> instruction = parseInstruction(question.instruction);
  if (!instruction)
    return instruction.takeError();
  if (instruction->unit == InstructionUnit::Other)
    return answerByRow(table, std::move(answer));
  if (llvm::Error error = checkModifiers(*instruction))
    return error;
  std::vector<std::string> documented;
  if (llvm::Error error = takeOptions(question, *instruction, documented))
    return error;
  const InstructionRuling ruling = ruleOn(*instruction, question.target);
  answer.isTaken = ruling.isTaken && documented.empty();
  answer.reasons = ruling.reasons;
  add(answer.reasons, documented);
  answer.nearest = ruling.nearest;
  for (const InstructionForm *form : ruling.forms)
    if (!question.target || !ruling.isTaken || form->where.has(*question.target))
      answer.forms.push_back(describe(*form));
  for (const std::string &name : table.targets())
    if (llvm::Expected<IsaTarget> target = IsaTarget::parse(name); !target)
      llvm::consumeError(target.takeError());
    else if (documented.empty() && ruleOn(*instruction, *target).isTaken)
      answer.targets.push_back(name);
  const bool isDocumented = ruling.source == FormSource::Documented || !documented.empty();
  answer.source = isDocumented
                      ? fmt::format("name and target: {}; shapes and types: documented, {}",
                                    assembledBy, documentedBy)
                      : std::string(assembledBy);
  if (const InstructionRow *row = table.find(question.instruction); row && !answer.isTaken)
    answer.assembler = row->refusal;
  return answer;
}

std::string textOf(const InstructionAnswer &answer) {
  const InstructionQuestion &question = answer.question;
  std::string text = question.instruction;
  if (!question.shape.empty())
    text += fmt::format(" {}", question.shape);
  if (!question.types.empty())
    text += fmt::format(" of {}", question.types);
  text += fmt::format(" on {}: {}\n", question.target ? question.target->str() : "any target",
                      answer.isTaken ? "taken" : "not taken");
  for (const std::string &reason : answer.reasons)
    text += fmt::format("  because {}\n", reason);
  constexpr size_t most = 6;
  for (size_t i = 0; i < std::min(most, answer.forms.size()); ++i)
    text += fmt::format("{}{}\n", i == 0 ? "form      " : "          ", answer.forms[i]);
  if (answer.forms.size() > most)
    text += fmt::format("          and {} more\n", answer.forms.size() - most);
  if (!answer.nearest.empty())
    text += fmt::format("nearest   {}\n", fmt::join(answer.nearest, ", "));
  text += fmt::format("targets   {}\n", answer.targets.empty()
                                            ? std::string("none of the tables'")
                                            : fmt::format("{}", fmt::join(answer.targets, " ")));
  text += fmt::format("source    {}\n", answer.source);
  if (!answer.assembler.empty())
    text += fmt::format("assembler {}\n", answer.assembler);
  return text;
}

Json toJson(const InstructionAnswer &answer) {
  const InstructionQuestion &question = answer.question;
  Json document = newDocument("why-not");
  document["instruction"] = question.instruction;
  document["target"] = question.target ? Json(question.target->str()) : Json();
  document["shape"] = question.shape.empty() ? Json() : Json(question.shape);
  document["types"] = question.types.empty() ? Json() : Json(question.types);
  document["taken"] = answer.isTaken;
  document["reasons"] = answer.reasons;
  document["forms"] = answer.forms;
  document["nearest"] = answer.nearest;
  document["targets"] = answer.targets;
  document["source"] = answer.source;
  document["assembler"] = answer.assembler.empty() ? Json() : Json(answer.assembler);
  return document;
}

} // namespace tilewright::cli
