#include "analysis/instructions/ptx_instruction.h"

#include "analysis/support/printable.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace tilewright {

namespace {

constexpr size_t longestName = 400;
constexpr int64_t largestNumber = 1 << 24;

struct NamedUnit {
  InstructionUnit unit;
  std::string_view name;   ///< to people
  std::string_view prefix; ///< in PTX; the first that fits is taken
  std::string_view implied = {};
};
constexpr NamedUnit unitNames[] = {
    {InstructionUnit::MmaSync, "mma.sync", "mma"},
    {InstructionUnit::Wgmma, "wgmma", "wgmma"},
    {InstructionUnit::Tcgen05Mma, "tcgen05.mma", "tcgen05.mma"},
    {InstructionUnit::Tcgen05Load, "tcgen05.ld", "tcgen05.ld"},
    {InstructionUnit::Tcgen05Store, "tcgen05.st", "tcgen05.st"},
    {InstructionUnit::Tcgen05Copy, "tcgen05.cp", "tcgen05.cp"},
    {InstructionUnit::Tcgen05Alloc, "tcgen05.alloc", "tcgen05.alloc"},
    {InstructionUnit::Tcgen05Commit, "tcgen05.commit", "tcgen05.commit"},
    {InstructionUnit::Tcgen05Shift, "tcgen05.shift", "tcgen05.shift"},
    {InstructionUnit::Ldmatrix, "ldmatrix", "ldmatrix"},
    {InstructionUnit::Stmatrix, "stmatrix", "stmatrix"},
    {InstructionUnit::Movmatrix, "movmatrix", "movmatrix"},
    {InstructionUnit::Tma, "cp.async.bulk.tensor", "cp.async.bulk.tensor"},
    {InstructionUnit::Tma, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "reduce"},
    {InstructionUnit::Tma, "cp.async.bulk.tensor", "tma"},
    {InstructionUnit::Bulk, "cp.async.bulk", "cp.async.bulk"},
    {InstructionUnit::Bulk, "cp.async.bulk", "cp.reduce.async.bulk", "reduce"},
    {InstructionUnit::CpAsync, "cp.async", "cp.async"},
    {InstructionUnit::SetMaxNReg, "setmaxnreg", "setmaxnreg"},
};

struct NamedType {
  std::string_view name;
  unsigned bits;
};
constexpr NamedType elementTypes[] = {
    {"f64", 64}, {"f32", 32}, {"s32", 32}, {"u32", 32}, {"tf32", 32}, {"f16", 16}, {"bf16", 16},
    {"s8", 8},   {"u8", 8},   {"s4", 4},   {"u4", 4},   {"b1", 1},    {"e4m3", 8}, {"e5m2", 8},
    {"e3m2", 6}, {"e2m3", 6}, {"e2m1", 4}, {"b16", 16}, {"b32", 32},  {"b8", 8},   {"u16", 16},
};

/// What every form of the units has, or what follows from the rest of the name.
constexpr std::string_view impliedWords[] = {
    "sync",     "aligned",    "row",  "col", "mma_async",          "global", "shared",
    "mbarrier", "bulk_group", "tile", "b32", "complete_tx::bytes", "b64",    "u32",
};

bool isMatrixUnit(InstructionUnit unit) {
  return unit == InstructionUnit::MmaSync || unit == InstructionUnit::Wgmma ||
         unit == InstructionUnit::Tcgen05Mma;
}

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t value = 0;
  auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || status != std::errc() || rest != text.data() + text.size() || value < 0 ||
      value > largestNumber)
    return std::nullopt;
  return value;
}

/// "m16n8k16".
std::optional<std::array<std::optional<int64_t>, 3>> shapeWord(std::string_view word) {
  const size_t n = word.find('n'), k = word.find('k');
  if (!word.starts_with("m") || n == std::string_view::npos || k == std::string_view::npos || k < n)
    return std::nullopt;
  const std::array found{wholeNumber(word.substr(1, n - 1)),
                         wholeNumber(word.substr(n + 1, k - n - 1)),
                         wholeNumber(word.substr(k + 1))};
  if (!found[0] || !found[1] || !found[2])
    return std::nullopt;
  return found;
}

std::vector<std::string> wordsOf(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0)
      words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// "(A in registers)" as one word.
std::string withPlaceOfA(std::string_view text) {
  std::string result(text);
  for (auto [said, word] : {std::pair{"(A in registers)", "a::registers"},
                            std::pair{"(A in tensor memory)", "a::tensor_memory"}})
    if (size_t at = result.find(said); at != std::string::npos)
      result.replace(at, std::string_view(said).size(), word);
  return result;
}

/// D, A, B and C of mma.sync; D, A and B of wgmma.
llvm::Error takeTypes(PtxInstruction &of, const std::vector<std::string> &types) {
  const size_t all = of.unit == InstructionUnit::MmaSync ? 4 : 3;
  if (types.empty())
    return llvm::Error::success();
  if (types.size() != all)
    return makeError(DiagClass::BadInput, "{} names {} types in '{}', expected {}",
                     toString(of.unit), types.size(), excerpt(of.text, 80),
                     all == 4 ? "those of D, A, B and C" : "those of D, A and B");
  of.sums = types[0];
  of.a = types[1];
  of.b = types[2];
  if (all == 4 && types[3] != types[0])
    of.sums = fmt::format("{} from {}", types[0], types[3]);
  return llvm::Error::success();
}

} // namespace

std::string_view toString(InstructionUnit unit) {
  for (const NamedUnit &each : unitNames)
    if (each.unit == unit)
      return each.name;
  return "other";
}

std::vector<std::string> instructionUnits() {
  std::vector<std::string> names;
  for (const NamedUnit &each : unitNames)
    if (names.empty() || std::find(names.begin(), names.end(), each.name) == names.end())
      names.emplace_back(each.name);
  return names;
}

unsigned instructionTypeBits(std::string_view type) {
  for (const NamedType &each : elementTypes)
    if (each.name == type)
      return each.bits;
  return 0;
}

bool PtxInstruction::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string PtxInstruction::shapeText() const {
  std::string result;
  for (size_t i = 0; i < 3; ++i)
    if (shape[i])
      result += isMatrixUnit(unit) ? fmt::format("{}{}", "mnk"[i], *shape[i])
                                   : fmt::format("{}", *shape[i]);
  return result;
}

llvm::Expected<PtxInstruction> parseInstruction(std::string_view text) {
  PtxInstruction made;
  made.text = std::string(text);
  if (text.empty() || text.size() > longestName)
    return makeError(DiagClass::BadInput,
                     "an instruction's name has {} characters, expected 1 to {}", text.size(),
                     longestName);
  const std::string whole = withPlaceOfA(text);
  std::string_view rest = whole;
  for (const NamedUnit &each : unitNames) {
    if (!rest.starts_with(each.prefix))
      continue;
    const std::string_view after = rest.substr(each.prefix.size());
    if (!after.empty() && after.front() != '.' && after.front() != ' ')
      continue;
    made.unit = each.unit;
    if (!each.implied.empty())
      made.modifiers.emplace_back(each.implied);
    rest = after;
    break;
  }
  if (made.unit == InstructionUnit::Other)
    return made;
  std::vector<std::string> types;
  for (std::string &word : wordsOf(rest, ". ")) {
    if (word == "aligned")
      made.isWhole = true;
    if (word.starts_with("kind::") && made.unit == InstructionUnit::Tcgen05Mma)
      made.isWhole = true;
    // From shared memory to global memory, as the order says.
    if (word == "global" && made.unit == InstructionUnit::Tma && !made.has("reduce") &&
        !made.has("shared::cta") && !made.has("shared::cluster"))
      made.modifiers.emplace_back("store");
    const bool isImplied =
        std::find(std::begin(impliedWords), std::end(impliedWords), word) != std::end(impliedWords);
    if (auto shape = shapeWord(word); shape && isMatrixUnit(made.unit)) {
      made.shape = *shape;
    } else if (isMatrixUnit(made.unit) && instructionTypeBits(word) > 0) {
      types.push_back(std::move(word));
    } else if (word.find_first_not_of("0123456789") == std::string::npos) {
      made.shape[2] = wholeNumber(word);
      if (!made.shape[2])
        return makeError(DiagClass::BadInput, "{} is too large for a number of an instruction",
                         excerpt(word));
    } else if (!isImplied && !made.has(word)) {
      made.modifiers.push_back(std::move(word));
    }
  }
  if (llvm::Error error = takeTypes(made, types))
    return error;
  return made;
}

llvm::Expected<std::array<std::optional<int64_t>, 3>> parseMatrixShape(std::string_view text) {
  std::array<std::optional<int64_t>, 3> shape;
  const std::vector<std::string> parts = wordsOf(text, ",");
  if (parts.empty() || parts.size() > 3)
    return makeError(DiagClass::BadInput, "'{}' has {} sizes, expected M,N,K", excerpt(text),
                     parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "-")
      continue;
    shape[i] = wholeNumber(parts[i]);
    if (!shape[i] || *shape[i] == 0)
      return makeError(DiagClass::BadInput,
                       "'{}' is no size in '{}', expected a number from 1 to {}", excerpt(parts[i]),
                       excerpt(text), largestNumber);
  }
  return shape;
}

llvm::Error setTypes(PtxInstruction &instruction, std::string_view text) {
  const std::vector<std::string> parts = wordsOf(text, ",");
  if (parts.empty() || parts.size() > 3)
    return makeError(DiagClass::BadInput, "'{}' has {} types, expected A,B,SUMS", excerpt(text),
                     parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (instructionTypeBits(parts[i]) == 0) {
      std::string known;
      for (const NamedType &each : elementTypes)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
      return makeError(DiagClass::BadInput, "'{}' is no type, expected one of {}",
                       excerpt(parts[i]), known);
    }
    (i == 0 ? instruction.a : i == 1 ? instruction.b : instruction.sums) = parts[i];
  }
  if (parts.size() == 1)
    instruction.b = instruction.a;
  return llvm::Error::success();
}

} // namespace tilewright
