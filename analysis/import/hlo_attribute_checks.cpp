#include "analysis/import/hlo_attribute_checks.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace tilewright {

namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view boolWords[] = {"true", "false"};
constexpr std::string_view fftWords[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::string_view distributionWords[] = {"rng_uniform", "rng_normal"};
constexpr std::string_view transposeWords[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr std::string_view compareWords[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};

constexpr std::string_view algorithmWords[] = {"rng_default", "rng_three_fry", "rng_philox"};

const std::unordered_map<std::string_view, Words> &wordsTable() {
  static const std::unordered_map<std::string_view, Words> table = {
      {"fft_type", fftWords},
      {"distribution", distributionWords},
      {"transpose_a", transposeWords},
      {"type", compareWords},
      {"lower", boolWords},
      {"left_side", boolWords},
      {"unit_diagonal", boolWords},
      {"largest", boolWords},
      {"is_stable", boolWords},
      {"indices_are_sorted", boolWords},
      {"unique_indices", boolWords},
      {"use_global_device_ids", boolWords},
      {"constrain_layout", boolWords},
      {"is_host_transfer", boolWords},
  };
  return table;
}

Words wordsOf(std::string_view attribute, Opcode opcode) {
  if (attribute == "algorithm" && opcode == Opcode::RngBitGenerator)
    return algorithmWords; // a dot's algorithm is checked elsewhere
  auto it = wordsTable().find(attribute);
  return it == wordsTable().end() ? Words() : it->second;
}

constexpr std::string_view numbers[] = {"k", "feature_index", "channel_id", "delta"};

bool isNumber(std::string_view attribute) {
  return std::find(std::begin(numbers), std::end(numbers), attribute) != std::end(numbers);
}

bool readOneOf(HloLexer &in, Words words) {
  uint32_t begin = in.place();
  std::string_view word = in.word();
  if (std::find(words.begin(), words.end(), word) != words.end())
    return true;
  in.rewind(begin);
  std::string all(words.front());
  for (std::string_view next : words.subspan(1))
    all += (next == words.back() ? " or " : ", ") + std::string(next);
  return in.failExpected(all);
}

/// `{high,highest}`: a word for each operand, in upper or lower case.
bool readPrecisions(HloLexer &in) {
  if (!in.expect('{'))
    return false;
  for (bool isFirst = true; in.peek() != '}'; isFirst = false) {
    if (!isFirst && !in.expect(','))
      return false;
    uint32_t begin = in.place();
    std::string word = llvm::StringRef(in.word()).lower();
    if (word != "default" && word != "high" && word != "highest" && word != "packed_nibble") {
      in.rewind(begin);
      return in.failExpected("default, high, highest or packed_nibble");
    }
  }
  return in.expect('}');
}

/// `{{0,1},{1,0}}`: no replica sends twice or receives twice.
bool readPermutation(HloLexer &in) {
  if (!in.expect('{'))
    return false;
  std::unordered_set<int64_t> sources, targets;
  for (bool isFirst = true; in.peek() != '}'; isFirst = false) {
    if (!isFirst && !in.expect(','))
      return false;
    uint32_t begin = in.place();
    int64_t source, target;
    if (!in.expect('{') || !in.integer(source, "a replica") || !in.expect(',') ||
        !in.integer(target, "a replica"))
      return false;
    if (in.peek() != '}')
      return in.fail(begin, "a pair holds a source and a target, nothing more");
    in.advance();
    if (source < 0 || target < 0)
      return in.fail(begin, fmt::format("replica {} is negative", std::min(source, target)));
    if (!sources.insert(source).second)
      return in.fail(begin, fmt::format("replica {} is the source of two pairs", source));
    if (!targets.insert(target).second)
      return in.fail(begin, fmt::format("replica {} is the target of two pairs", target));
  }
  return in.expect('}');
}

/// Several permutations where an op moves several operands: `{{{0,1}},{{1,0}}}`.
bool readPermutations(HloLexer &in) {
  uint32_t begin = in.place();
  bool isNested = in.consume('{') && in.consume('{') && in.peek() == '{';
  in.rewind(begin);
  if (!isNested)
    return readPermutation(in);
  in.advance();
  for (bool isFirst = true; in.peek() != '}'; isFirst = false)
    if ((!isFirst && !in.expect(',')) || !readPermutation(in))
      return false;
  return in.expect('}');
}

/// Attributes whose absence nothing else would report clearly.
std::span<const std::string_view> neededBy(const Op &op) {
  static constexpr std::string_view dimensions[] = {"dimensions"}, direction[] = {"direction"},
                                    index[] = {"index"}, labels[] = {"dim_labels"},
                                    bits[] = {"exponent_bits", "mantissa_bits"},
                                    target[] = {"custom_call_target"},
                                    pairs[] = {"source_target_pairs"},
                                    fft[] = {"fft_type", "fft_length"},
                                    distribution[] = {"distribution"}, algorithm[] = {"algorithm"},
                                    top[] = {"k", "largest"}, norm[] = {"epsilon", "feature_index"},
                                    gather[] = {"offset_dims", "collapsed_slice_dims",
                                                "start_index_map", "index_vector_dim",
                                                "slice_sizes"},
                                    scatter[] = {"update_window_dims", "inserted_window_dims",
                                                 "scatter_dims_to_operand_dims",
                                                 "index_vector_dim"};
  switch (op.opcode) {
  case Opcode::Reverse:
  case Opcode::Reduce:
    return dimensions;
  case Opcode::Compare:
    return direction;
  case Opcode::GetTupleElement:
    return index;
  case Opcode::Convolution:
    return labels;
  case Opcode::ReducePrecision:
    return bits;
  case Opcode::CustomCall:
    return target;
  case Opcode::CollectivePermute:
  case Opcode::CollectivePermuteStart:
    return pairs;
  case Opcode::Fft:
    return fft;
  case Opcode::Rng:
    return distribution;
  case Opcode::RngBitGenerator:
    return algorithm;
  case Opcode::TopK:
    return top;
  case Opcode::BatchNormGrad:
  case Opcode::BatchNormInference:
  case Opcode::BatchNormTraining:
    return norm;
  case Opcode::Gather:
    return gather;
  case Opcode::Scatter:
    return scatter;
  default:
    return {};
  }
}

} // namespace

bool checkAttributeValue(std::string_view name, HloLexer value, const Op &op) {
  int64_t number;
  bool isRead = true;
  if (Words words = wordsOf(name, op.opcode); !words.empty())
    isRead = readOneOf(value, words);
  else if (isNumber(name))
    isRead = value.integer(number, "an integer");
  else if (name == "source_target_pairs")
    isRead = readPermutations(value);
  else if (name == "operand_precision")
    isRead = readPrecisions(value);
  else
    return true;
  return isRead && (value.atEnd() || value.failExpected("the attribute's end"));
}

std::vector<std::string_view> checkedAttributeNames() {
  std::vector<std::string_view> names(std::begin(numbers), std::end(numbers));
  for (const auto &[name, words] : wordsTable())
    names.push_back(name);
  names.insert(names.end(), {"source_target_pairs", "operand_precision"});
  std::sort(names.begin(), names.end());
  return names;
}

bool hasNeededAttributes(HloLexer &lexer, const Op &op) {
  for (std::string_view name : neededBy(op))
    if (std::none_of(op.rawAttrs.begin(), op.rawAttrs.end(),
                     [&](const RawAttribute &given) { return given.name == name; }))
      return lexer.fail(op.loc.offset, fmt::format("{} needs {}", toString(op.opcode), name));
  return true;
}

bool needsEqualGroups(Opcode opcode) {
  return opcode == Opcode::AllGather || opcode == Opcode::AllGatherStart ||
         opcode == Opcode::ReduceScatter || opcode == Opcode::AllToAll;
}

std::string unequalGroups(size_t replicas, size_t before) {
  return fmt::format("a group of {} replicas beside one of {}, they must be of one size", replicas,
                     before);
}

} // namespace tilewright
