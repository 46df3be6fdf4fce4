#include "analysis/import/proto/proto_attributes.h"

#include "analysis/import/hlo_lexer.h"
#include "analysis/import/proto/proto_shape.h"
#include "analysis/ir/quotes.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <fmt/format.h>

namespace tilewright {

namespace {

using Ints = std::vector<int64_t>;

bool isUtf8(std::string_view text) {
  for (size_t at = 0, bytes; at < text.size(); at += bytes)
    if ((bytes = characterBytes(text, at)) == 0)
      return false;
  return true;
}

/// A word as it stands; other bytes in quotes, which the reader refuses where it expects a word.
std::string wordOrQuoted(std::string_view text) {
  const bool isWord = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_';
  });
  return isWord ? std::string(text) : inQuotes(text);
}

/// Writes the attributes of one instruction.
class AttributeWriter {
public:
  AttributeWriter(const ProtoInstruction &op, std::string &out, WireError &error)
      : op(op), in(op.message), out(out), error(error) {}
  void run();

private:
  bool is(std::string_view opcode) const { return op.opcode == opcode; }
  template <typename... Names> bool isAnyOf(Names... names) const { return (is(names) || ...); }

  void put(std::string_view name, std::string_view value) {
    out += ", ";
    out += name;
    out += '=';
    out += value;
  }
  void putList(std::string_view name, const Ints &values) { put(name, bracedList(values)); }
  void putListUnlessEmpty(std::string_view name, const Ints &values) {
    if (!values.empty())
      putList(name, values);
  }
  void putNumber(std::string_view name, int64_t value) { put(name, std::to_string(value)); }
  void putFlag(std::string_view name, uint32_t field) {
    if (in.flag(field))
      put(name, "true");
  }
  /// One of the names; an error for other numbers.
  void putEnum(std::string_view name, int64_t value, std::initializer_list<std::string_view> names);

  void dims();
  void window();
  void convolution();
  void dot();
  void precision();
  void gather();
  void scatter();
  void slices();
  void numbers();
  void library();
  void customCall();
  void aliasing(std::string_view name);
  void calls();
  void collectives();
  void frontendAttributes();
  void metadata();
  void backendConfig();
  std::string computations(const Ints &ids);
  std::string windowParts(std::string_view name, const std::vector<WireMessage> &dims,
                          uint32_t field, int64_t otherwise);

  const ProtoInstruction &op;
  const WireMessage &in;
  std::string &out;
  WireError &error;
};

void AttributeWriter::putEnum(std::string_view name, int64_t value,
                              std::initializer_list<std::string_view> names) {
  if (value < 0 || static_cast<size_t>(value) >= names.size())
    error.fail(in.offset(), fmt::format("{} has no value {}", name, value));
  else
    put(name, names.begin()[value]);
}

void AttributeWriter::dims() {
  const Ints dims = in.integers(instruction_field::Dimensions);
  if (is("iota"))
    putNumber("iota_dimension", dims.empty() ? 0 : dims.front());
  else if (isAnyOf("broadcast", "concatenate", "reduce", "transpose", "reverse", "sort", "scan"))
    putList("dimensions", dims);
  else if (isAnyOf("all-gather", "all-gather-start", "all-to-all", "reduce-scatter", "map",
                   "get-dimension-size", "set-dimension-size"))
    putListUnlessEmpty("dimensions", dims);
}

/// ` name=1x2`, unless all are what is taken otherwise.
std::string AttributeWriter::windowParts(std::string_view name,
                                         const std::vector<WireMessage> &dims, uint32_t field,
                                         int64_t otherwise) {
  std::string text;
  bool isNeeded = false;
  for (const WireMessage &dim : dims) {
    const int64_t value = dim.integer(field);
    isNeeded |= value != otherwise;
    text += (text.empty() ? "" : "x") + std::to_string(value);
  }
  return isNeeded ? fmt::format(" {}={}", name, text) : "";
}

void AttributeWriter::window() {
  const std::vector<WireMessage> dims = in.message(15).messages(1);
  if (dims.empty())
    return;
  std::string size, pads;
  bool isPadded = false;
  for (const WireMessage &dim : dims) {
    size += fmt::format("{}{}", size.empty() ? "" : "x", dim.integer(1));
    pads += fmt::format("{}{}_{}", pads.empty() ? "" : "x", dim.integer(3), dim.integer(4));
    isPadded |= dim.integer(3) != 0 || dim.integer(4) != 0;
  }
  put("window",
      fmt::format("{{size={}{}{}{}{}{}}}", size, windowParts("stride", dims, 2, 1),
                  isPadded ? " pad=" + pads : "", windowParts("lhs_dilate", dims, 6, 1),
                  windowParts("rhs_dilate", dims, 5, 1), windowParts("rhs_reversal", dims, 7, 0)));
}

void AttributeWriter::convolution() {
  const WireMessage labels = in.message(16);
  struct Part {
    int64_t first, second;
    char firstLetter, secondLetter;
    Ints spatial;
  };
  const std::array<Part, 3> parts = {
      Part{labels.integer(7), labels.integer(8), 'b', 'f', labels.integers(11)},
      Part{labels.integer(3), labels.integer(4), 'i', 'o', labels.integers(6)},
      Part{labels.integer(9), labels.integer(10), 'b', 'f', labels.integers(12)}};
  std::string text;
  for (size_t p = 0; p < parts.size(); ++p) {
    const Part &part = parts[p];
    std::string letters(part.spatial.size() + 2, '?');
    auto place = [&](int64_t dim, char letter) {
      if (dim < 0 || static_cast<size_t>(dim) >= letters.size() ||
          letters[static_cast<size_t>(dim)] != '?')
        error.fail(labels.offset(), "the dims of the convolution are not each there once");
      else
        letters[static_cast<size_t>(dim)] = letter;
    };
    place(part.first, part.firstLetter);
    place(part.second, part.secondLetter);
    for (size_t i = 0; i < part.spatial.size() && i < 10; ++i)
      place(part.spatial[i], static_cast<char>('0' + i));
    text += (p == 0 ? "" : p == 1 ? "_" : "->") + letters;
  }
  put("dim_labels", text);
}

void AttributeWriter::dot() {
  const WireMessage ragged = in.message(90);
  const WireMessage dims = in.has(90) ? ragged.message(1) : in.message(30);
  putListUnlessEmpty("lhs_batch_dims", dims.integers(3));
  putList("lhs_contracting_dims", dims.integers(1));
  putListUnlessEmpty("rhs_batch_dims", dims.integers(4));
  putList("rhs_contracting_dims", dims.integers(2));
  if (in.has(90)) {
    putList("lhs_ragged_dims", ragged.integers(2));
    putListUnlessEmpty("rhs_group_dims", ragged.integers(3));
  }
}

void AttributeWriter::precision() {
  const WireMessage config = in.message(51);
  constexpr std::array<std::string_view, 3> names = {"default", "high", "highest"};
  const Ints values = config.integers(1);
  std::string text;
  bool isNeeded = false;
  for (int64_t value : values) {
    if (value < 0 || value >= static_cast<int64_t>(names.size())) {
      error.fail(config.offset(), fmt::format("operand_precision has no value {}", value));
      return;
    }
    isNeeded |= value != 0;
    text += (text.empty() ? "" : ",") + std::string(names[static_cast<size_t>(value)]);
  }
  if (isNeeded)
    put("operand_precision", "{" + text + "}");
  if (int64_t algorithm = config.integer(2))
    putEnum("algorithm", algorithm,
            {"unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum",
             "dot_f16_f16_f16", "dot_f16_f16_f32", "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32",
             "dot_bf16_bf16_f32_x3", "dot_bf16_bf16_f32_x6", "dot_tf32_tf32_f32",
             "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32", "dot_f64_f64_f64", "dot_bf16_bf16_f32_x9"});
}

void AttributeWriter::gather() {
  const WireMessage dims = in.message(33);
  putList("offset_dims", dims.integers(1));
  putList("collapsed_slice_dims", dims.integers(2));
  putList("start_index_map", dims.integers(3));
  putListUnlessEmpty("operand_batching_dims", dims.integers(5));
  putListUnlessEmpty("start_indices_batching_dims", dims.integers(6));
  putNumber("index_vector_dim", dims.integer(4));
  putList("slice_sizes", in.integers(34));
}

void AttributeWriter::scatter() {
  const WireMessage dims = in.message(48);
  putList("update_window_dims", dims.integers(1));
  putList("inserted_window_dims", dims.integers(2));
  putList("scatter_dims_to_operand_dims", dims.integers(3));
  putListUnlessEmpty("input_batching_dims", dims.integers(5));
  putListUnlessEmpty("scatter_indices_batching_dims", dims.integers(6));
  putNumber("index_vector_dim", dims.integer(4));
}

void AttributeWriter::slices() {
  std::string text;
  bool hasThird = false; // a stride or an interior padding
  if (is("slice")) {
    const std::vector<WireMessage> dims = in.messages(17);
    for (const WireMessage &dim : dims)
      hasThird |= dim.integer(3) != 1;
    for (const WireMessage &dim : dims)
      text += fmt::format("{}[{}:{}{}]", text.empty() ? "" : ", ", dim.integer(1), dim.integer(2),
                          hasThird ? fmt::format(":{}", dim.integer(3)) : "");
    put("slice", "{" + text + "}");
  } else if (is("dynamic-slice")) {
    putList("dynamic_slice_sizes", in.integers(20));
  } else if (is("pad")) {
    const std::vector<WireMessage> dims = in.message(21).messages(1);
    for (const WireMessage &dim : dims)
      hasThird |= dim.integer(3) != 0;
    for (const WireMessage &dim : dims)
      text += fmt::format("{}{}_{}{}", text.empty() ? "" : "x", dim.integer(1), dim.integer(2),
                          hasThird ? fmt::format("_{}", dim.integer(3)) : "");
    if (!text.empty())
      put("padding", text);
  }
}

void AttributeWriter::numbers() {
  if (is("get-tuple-element"))
    putNumber("index", in.integer(13));
  if (is("reduce-precision")) {
    putNumber("exponent_bits", in.integer(18));
    putNumber("mantissa_bits", in.integer(19));
  }
  if (is("compare")) {
    put("direction", wordOrQuoted(in.text(63)));
    if (in.text(72) == "TOTALORDER") // the others follow from the operands' type
      put("type", in.text(72));
  }
  if (op.opcode.starts_with("batch-norm")) {
    const auto bits = static_cast<uint32_t>(in.integer(24));
    put("epsilon", fmt::format("{}", std::bit_cast<float>(bits)));
    putNumber("feature_index", in.integer(25));
  }
  if (is("topk")) {
    putNumber("k", in.integer(81));
    put("largest", in.flag(85) ? "true" : "false");
  }
  if (is("rng-get-and-update-state"))
    putNumber("delta", in.integer(66));
  if (is("copy-start") && in.has(80))
    putNumber("cross_program_prefetch_index", in.integer(80));
  if (is("scan")) {
    putFlag("is_reverse", 94);
    putNumber("num_carries", in.integer(95));
  }
}

void AttributeWriter::library() {
  if (is("rng"))
    putEnum("distribution", in.integer(23), {"rng_invalid", "rng_uniform", "rng_normal"});
  if (is("rng-bit-generator"))
    putEnum("algorithm", in.integer(70), {"rng_default", "rng_three_fry", "rng_philox"});
  if (is("fft")) {
    putEnum("fft_type", in.integer(31), {"FFT", "IFFT", "RFFT", "IRFFT"});
    putList("fft_length", in.integers(32));
  }
  if (is("cholesky") && in.message(62).flag(1))
    put("lower", "true");
  if (is("triangular-solve")) {
    const WireMessage options = in.message(59);
    constexpr std::array<std::string_view, 3> flags = {"left_side", "lower", "unit_diagonal"};
    for (uint32_t i = 0; i < flags.size(); ++i)
      if (options.flag(i + 1))
        put(flags[i], "true");
    if (options.integer(4))
      putEnum("transpose_a", options.integer(4),
              {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"});
  }
  if (is("infeed") && in.has(27))
    put("infeed_config", inQuotes(in.text(27)));
  if (is("outfeed")) {
    std::string shape;
    if (in.has(29) && appendShape(in.message(29), shape, error))
      put("outfeed_shape", shape);
    if (in.has(22))
      put("outfeed_config", inQuotes(in.text(22)));
  }
}

/// `{{0}: (1, {0}, must-alias)}` without the kind.
void AttributeWriter::aliasing(std::string_view name) {
  std::string text;
  for (const WireMessage &entry : in.messages(74))
    text += fmt::format("{}{}: ({}, {})", text.empty() ? "" : ", ", bracedList(entry.integers(1)),
                        entry.integer(2), bracedList(entry.integers(3)));
  if (!text.empty())
    put(name, "{" + text + "}");
}

void AttributeWriter::customCall() {
  put("custom_call_target", inQuotes(in.text(28)));
  if (in.flag(56)) {
    std::string shapes;
    for (const WireMessage &shape : in.messages(57)) {
      shapes += shapes.empty() ? "" : ", ";
      appendShape(shape, shapes, error);
    }
    put("operand_layout_constraints", "{" + shapes + "}");
  }
  putFlag("custom_call_has_side_effect", 65);
  if (in.integer(76))
    putEnum("schedule", in.integer(76), {"SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"});
  if (in.integer(77) > 1)
    putEnum("api_version", in.integer(77),
            {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
             "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"});
}

std::string AttributeWriter::computations(const Ints &ids) {
  std::string text;
  for (int64_t id : ids)
    text += (text.empty() ? "" : ", ") + op.computation(id);
  return "{" + text + "}";
}

void AttributeWriter::calls() {
  const Ints ids = in.integers(instruction_field::CalledIds);
  if (ids.empty() || isAnyOf("async-update", "async-done"))
    return;
  auto name = [&](size_t i) { return op.computation(ids[i]); };
  if (is("while") && ids.size() == 2) {
    put("condition", name(1));
    put("body", name(0));
  } else if (is("conditional") && op.isOfTruthValue && ids.size() == 2) {
    put("true_computation", name(0));
    put("false_computation", name(1));
  } else if (is("conditional")) {
    put("branch_computations", computations(ids));
  } else if (is("select-and-scatter") && ids.size() == 2) {
    put("select", name(0));
    put("scatter", name(1));
  } else if (is("custom-call") || (ids.size() > 1 && !is("fusion"))) {
    put("called_computations", computations(ids));
  } else {
    put(isAnyOf("fusion", "async-start") ? "calls" : "to_apply", name(0));
  }
}

void AttributeWriter::collectives() {
  if (const int64_t channel = in.integer(26))
    putNumber("channel_id", channel);
  const WireMessage iota = in.message(92);
  if (in.has(92)) {
    auto inBrackets = [](const Ints &values, char open, char close) {
      std::string list = bracedList(values);
      list.front() = open;
      list.back() = close;
      return list;
    };
    const Ints axes = iota.integers(3), order = iota.integers(4);
    put("replica_groups", inBrackets({iota.integer(1), iota.integer(2)}, '[', ']') +
                              "<=" + inBrackets(axes, '[', ']') +
                              (axes.size() < 2 ? "" : "T" + inBrackets(order, '(', ')')));
  } else if (op.opcode.starts_with("all-") || op.opcode.starts_with("reduce-scatter") ||
             op.opcode.starts_with("collective-broadcast")) {
    std::vector<WireMessage> groups = in.messages(49);
    if (groups.empty())
      groups = in.message(87).messages(1);
    std::string text;
    for (const WireMessage &group : groups)
      text += (text.empty() ? "" : ",") + bracedList(group.integers(1));
    put("replica_groups", "{" + text + "}");
  }
  if (is("collective-permute") || is("collective-permute-start")) {
    std::string text;
    for (const WireMessage &pair : in.messages(52))
      text += fmt::format("{}{{{},{}}}", text.empty() ? "" : ",", pair.integer(1), pair.integer(2));
    put("source_target_pairs", "{" + text + "}");
  }
  putFlag("use_global_device_ids", 71);
  putFlag("is_host_transfer", 47);
}

void AttributeWriter::frontendAttributes() {
  std::string text;
  for (const WireMessage &entry : in.message(68).messages(1))
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", wordOrQuoted(entry.text(1)),
                        inQuotes(entry.text(2)));
  if (!text.empty())
    put("frontend_attributes", "{" + text + "}");
}

void AttributeWriter::metadata() {
  const WireMessage from = in.message(7);
  std::string text;
  auto add = [&](std::string_view name, std::string value) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  };
  constexpr std::pair<std::string_view, uint32_t> texts[] = {
      {"op_type", 1}, {"op_name", 2}, {"source_file", 3}};
  for (auto [name, field] : texts)
    if (!from.text(field).empty())
      add(name, inQuotes(from.text(field)));
  constexpr std::pair<std::string_view, uint32_t> lines[] = {{"source_line", 4},
                                                             {"source_end_line", 17},
                                                             {"source_column", 18},
                                                             {"source_end_column", 19}};
  for (auto [name, field] : lines)
    if (from.integer(field))
      add(name, std::to_string(from.integer(field)));
  constexpr std::pair<std::string_view, uint32_t> names[] = {{"deduplicated_name", 12},
                                                             {"scheduling_name", 16}};
  for (auto [name, field] : names)
    if (!from.text(field).empty())
      add(name, inQuotes(from.text(field)));
  if (from.integer(15))
    add("stack_frame_id", std::to_string(from.integer(15)));
  if (!text.empty())
    put("metadata", "{" + text + "}");
}

/// JSON as it stands, other bytes in quotes.
void AttributeWriter::backendConfig() {
  const std::string_view config = in.text(43);
  if (config.empty())
    return;
  HloParseError problem;
  HloLexer lexer(config, 0, static_cast<uint32_t>(config.size()), problem);
  // As it is where a text can have it: JSON has no control characters in its strings.
  const bool isText = isUtf8(config) && std::none_of(config.begin(), config.end(), [](char c) {
                        return static_cast<unsigned char>(c) < 0x20 && !(c >= '\t' && c <= '\r');
                      });
  const bool isJson = config.front() == '{' && isText && lexer.skipBalanced() &&
                      lexer.offset() == config.size() && !problem.isSet;
  put("backend_config", isJson ? std::string(config) : inQuotes(config));
}

void AttributeWriter::run() {
  dims();
  window();
  if (in.has(16))
    convolution();
  if (int64_t groups = in.integer(50); groups > 1)
    putNumber("feature_group_count", groups);
  if (int64_t groups = in.integer(58); groups > 1)
    putNumber("batch_group_count", groups);
  if (isAnyOf("dot", "ragged-dot"))
    dot();
  precision();
  if (is("gather"))
    gather();
  if (is("scatter"))
    scatter();
  putFlag("indices_are_sorted", 67);
  putFlag("unique_indices", 69);
  putFlag("is_stable", 60);
  slices();
  numbers();
  library();
  if (is("custom-call"))
    customCall();
  if (is("fusion"))
    put("kind", wordOrQuoted(in.text(11)));
  collectives();
  calls();
  if (is("custom-call") || is("fusion"))
    aliasing("output_to_operand_aliasing");
  if (!in.text(79).empty() && in.text(79) != "main")
    put("async_execution_thread", inQuotes(in.text(79)));
  frontendAttributes();
  std::string predecessors;
  for (int64_t id : in.integers(instruction_field::Predecessors))
    predecessors += (predecessors.empty() ? "" : ", ") + op.instruction(id);
  if (!predecessors.empty())
    put("control-predecessors", "{" + predecessors + "}");
  metadata();
  backendConfig();
}

} // namespace

void appendAttributes(const ProtoInstruction &op, std::string &out, WireError &error) {
  AttributeWriter(op, out, error).run();
}

} // namespace tilewright
