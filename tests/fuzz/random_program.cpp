#include "tests/fuzz/random_generator.h"

namespace tilewright {

namespace fuzz {

namespace {
const std::vector<std::string> narrowFloats{"f4e2m1fn",      "f8e3m4",     "f8e4m3", "f8e4m3fn",
                                            "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"};
}

Dims Generator::randomDims(size_t rank, int64_t most) {
  static const Dims choices{1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 24, 32, 33, 48, 64, 96, 100, 130};
  Dims dims(rank, 1);
  for (int64_t &dim : dims) {
    int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
    int64_t choice = dice.of(choices);
    if (count * choice <= most)
      dim = choice;
  }
  return dims;
}

Value Generator::reduce(const Value &a, const Dims &over, const std::string &opcode) {
  std::string name = fmt::format("reducer{}", reducers++);
  subcomputations +=
      fmt::format("{} {{\n  x = {}[] parameter(0)\n  y = {}[] parameter(1)\n  ROOT r = {}[] {}(x, "
                  "y)\n}}\n",
                  name, a.type, a.type, a.type, opcode);
  std::string start = "0";
  if (opcode == "maximum")
    start = a.isFloat() ? "-inf" : a.type == "u8" ? "0" : "-100";
  else if (opcode == "minimum")
    start = a.isFloat() ? "inf" : "100";
  else if (a.type == "pred")
    start = opcode == "and" ? "true" : "false";
  Value initial = constant(a.type, start);
  Value result = a;
  result.dims.clear();
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (std::find(over.begin(), over.end(), static_cast<int64_t>(i)) == over.end())
      result.dims.push_back(a.dims[i]);
  result.isExact = a.isExact && (opcode != "add" || !a.isFloat());
  return emit(result, fmt::format("reduce({}, {}), dimensions={{{}}}, to_apply={}", a.name,
                                  initial.name, fmt::join(over, ","), name));
}

/// Another value of a's type and dims.
Value Generator::like(const Value &a) {
  switch (dice.below(5)) {
  case 0:
    return parameter(a.type, a.dims);
  case 4: // a narrow type, widened
    return a.isFloat() ? convert(parameter(dice.of(narrowFloats), a.dims), a.type)
                       : parameter(a.type, a.dims);
  case 1:
    if (a.type != "pred" && !a.dims.empty())
      return emit({"", a.type, a.dims},
                  fmt::format("iota(), iota_dimension={}", dice.below(a.dims.size())));
    return parameter(a.type, a.dims);
  case 2:
    return broadcast(constant(a.type, a.type == "pred" ? "true"
                                      : a.isFloat()    ? "0.75"
                                                       : "3"),
                     a.dims, {});
  default: {
    Dims dims, places;
    for (size_t i = 0; i < a.dims.size(); ++i)
      if (dice.oneIn(2)) {
        dims.push_back(a.dims[i]);
        places.push_back(static_cast<int64_t>(i));
      }
    return broadcast(parameter(a.type, dims), a.dims, places);
  }
  }
}

Value Generator::floatPointwise(const Value &a) {
  switch (dice.below(10)) {
  case 0:
    return unary(a, dice.of<std::string>({"negate", "abs"}), true);
  case 1:
    return unary(a, dice.of<std::string>({"tanh", "logistic", "sine", "cosine", "erf", "asinh"}),
                 false);
  case 2:
    return unary(
        unary(a, "tanh", false),
        dice.of<std::string>({"exponential", "exponential-minus-one", "sinh", "cosh", "tan"}),
        false);
  case 3:
    return unary(unary(a, "abs", true), "sqrt", false);
  case 4:
    return binary(a, like(a), dice.of<std::string>({"maximum", "minimum"}), true);
  case 5:
    return binary(unary(a, "tanh", false), like(a), "multiply", false);
  case 6: { // well within the domain
    Value most = broadcast(constant(a.type, "0.75"), a.dims, {});
    return unary(binary(unary(a, "tanh", false), most, "multiply", false),
                 dice.of<std::string>({"asin", "acos", "atanh", "log-plus-one"}), false);
  }
  case 7: { // far from zero, where these jump or have a pole
    Value above = unary(unary(a, "sine", false), "exponential", false);
    switch (dice.below(4)) {
    case 0:
      return unary(above, dice.of<std::string>({"log", "cbrt", "rsqrt"}), false);
    case 1:
      return unary(binary(above, broadcast(constant(a.type, "1"), a.dims, {}), "add", false),
                   "acosh", false);
    case 2:
      return binary(above, unary(like(a), "tanh", false), "power", false);
    default:
      return binary(like(a), above, "atan2", false);
    }
  }
  case 8: // jump with the last bit
    if (!a.isExact)
      return a;
    if (dice.oneIn(2)) {
      Value other = like(a);
      return other.isExact ? binary(a, other, "remainder", true) : a;
    }
    return emit(a, fmt::format("reduce-precision({}), exponent_bits={}, mantissa_bits={}", a.name,
                               3 + dice.below(6), dice.below(11)));
  default:
    return binary(a, like(a), dice.of<std::string>({"add", "subtract"}), false);
  }
}

Value Generator::pointwise(const Value &a) {
  if (dice.oneIn(5)) {
    if (a.isFloat()) // to integers only where the value is exact
      return convert(a, dice.of<std::string>(
                            a.isExact ? std::vector<std::string>{"f32", "bf16", "f16", "f64", "s32"}
                                      : std::vector<std::string>{"f32", "bf16", "f16", "f64"}));
    return convert(a, dice.of<std::string>({"f32", "f64", "s32", "bf16", "s16"}));
  }
  if (dice.oneIn(6) && a.isExact) {
    Value condition = a;
    Value other = like(a);
    condition.type = "pred";
    std::vector<std::string> directions{"LT", "LE", "GT", "GE", "EQ", "NE"};
    condition = emit(condition, fmt::format("compare({}, {}), direction={}", a.name, other.name,
                                            dice.of(directions)));
    if (dice.oneIn(4))
      return condition;
    return emit(a, fmt::format("select({}, {}, {})", condition.name, a.name, other.name));
  }
  if (a.isFloat())
    return floatPointwise(a);
  if (a.type == "pred")
    return dice.oneIn(3) ? unary(a, "not", true)
                         : binary(a, like(a), dice.of<std::string>({"and", "or", "xor"}), true);
  return binary(a, like(a),
                dice.of<std::string>(
                    {"add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor"}),
                true);
}

Value Generator::reshaped(const Value &a) {
  Value result = a;
  if (dice.oneIn(2) && a.dims.size() >= 2) { // two neighbours become one
    size_t i = dice.below(a.dims.size() - 1);
    result.dims[i] *= result.dims[i + 1];
    result.dims.erase(result.dims.begin() + static_cast<ptrdiff_t>(i) + 1);
  } else if (!a.dims.empty()) { // one becomes two
    size_t i = dice.below(a.dims.size());
    Dims factors;
    for (int64_t f = 1; f <= a.dims[i]; ++f)
      if (a.dims[i] % f == 0)
        factors.push_back(f);
    int64_t factor = dice.of(factors);
    result.dims[i] /= factor;
    result.dims.insert(result.dims.begin() + static_cast<ptrdiff_t>(i) + 1, factor);
  }
  return emit(result, fmt::format("reshape({})", a.name));
}

Value Generator::moved(const Value &a) {
  Value result = a;
  size_t rank = a.dims.size();
  if (rank == 0)
    return a;
  size_t at = dice.below(rank);
  switch (dice.below(7)) {
  case 0: {
    Dims order(rank);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = rank; i-- > 1;)
      std::swap(order[i], order[dice.below(i + 1)]);
    for (size_t i = 0; i < rank; ++i)
      result.dims[i] = a.dims[static_cast<size_t>(order[i])];
    return emit(result,
                fmt::format("transpose({}), dimensions={{{}}}", a.name, fmt::join(order, ",")));
  }
  case 1:
    return reshaped(a);
  case 2: { // low_high_interior; an edge may crop
    std::vector<std::string> parts(rank, "0_0_0");
    int64_t low = static_cast<int64_t>(dice.below(4)) - 1,
            high = static_cast<int64_t>(dice.below(4));
    int64_t interior = dice.oneIn(3) ? 1 : 0;
    result.dims[at] = low + high + a.dims[at] + interior * (a.dims[at] - 1);
    if (result.dims[at] < 1 || result.count() > maxElements)
      return a;
    parts[at] = fmt::format("{}_{}_{}", low, high, interior);
    Value fill = constant(a.type, a.type == "pred" ? "true" : "2");
    return emit(result,
                fmt::format("pad({}, {}), padding={}", a.name, fill.name, fmt::join(parts, "x")));
  }
  case 3: {
    std::vector<std::string> parts;
    for (size_t i = 0; i < rank; ++i) {
      int64_t start =
          dice.oneIn(2) ? static_cast<int64_t>(dice.below(static_cast<uint64_t>(a.dims[i]))) : 0;
      int64_t stride = 1 + static_cast<int64_t>(dice.below(2));
      result.dims[i] = (a.dims[i] - start + stride - 1) / stride;
      parts.push_back(fmt::format("[{}:{}:{}]", start, a.dims[i], stride));
    }
    return emit(result, fmt::format("slice({}), slice={{{}}}", a.name, fmt::join(parts, ", ")));
  }
  case 4: {
    Value other{"", a.type, a.dims};
    other.dims[at] = 1 + static_cast<int64_t>(dice.below(9));
    result.dims[at] += other.dims[at];
    if (result.count() > maxElements)
      return a;
    other = parameter(a.type, other.dims);
    bool isFirst = dice.oneIn(2);
    return emit(result,
                fmt::format("concatenate({}, {}), dimensions={{{}}}", isFirst ? other.name : a.name,
                            isFirst ? a.name : other.name, at));
  }
  case 5:
    return emit(result, fmt::format("reverse({}), dimensions={{{}}}", a.name, at));
  default: {
    int64_t extent = 1 + static_cast<int64_t>(dice.below(5));
    Dims places(rank);
    std::iota(places.begin(), places.end(), 0);
    for (size_t i = at; i < rank; ++i)
      ++places[i];
    result.dims.insert(result.dims.begin() + static_cast<ptrdiff_t>(at), extent);
    if (result.count() > maxElements)
      return a;
    return broadcast(a, result.dims, places);
  }
  }
}

Value Generator::some(Value a, size_t most) {
  for (size_t i = dice.below(most + 1); i > 0; --i)
    a = dice.oneIn(3) ? moved(a) : pointwise(a);
  return a;
}

Value Generator::reduction() {
  Value a = some(parameter(randomType(), randomDims(1 + dice.below(3), 3000)), 3);
  if (a.type == "bf16" || a.type == "f16" || a.type == "s8" || a.type == "u8" || a.type == "s16")
    a = convert(a, a.isFloat() ? "f32" : "s32");
  Dims over;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (dice.oneIn(2))
      over.push_back(static_cast<int64_t>(i));
  if (over.empty() && !a.dims.empty())
    over.push_back(static_cast<int64_t>(a.dims.size()) - 1);
  std::vector<std::string> opcodes{"add", "maximum", "minimum"};
  Value sum =
      reduce(a, over, a.type == "pred" ? dice.of<std::string>({"and", "or"}) : dice.of(opcodes));
  if (dice.oneIn(2))
    return some(sum, 3);
  Dims kept;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (std::find(over.begin(), over.end(), static_cast<int64_t>(i)) == over.end())
      kept.push_back(static_cast<int64_t>(i));
  Value spread = broadcast(sum, a.dims, kept);
  return a.type == "pred" ? binary(a, spread, "xor", true)
                          : binary(a, spread, dice.of<std::string>({"maximum", "subtract"}), false);
}

/// Softmax or a normalisation along the last dims or along any dim.
Value Generator::softmax() {
  Value in =
      parameter(dice.of<std::string>({"f32", "bf16", "f16"}), randomDims(1 + dice.below(3), 3000));
  Value a = convert(in, "f32");
  auto axis = static_cast<int64_t>(dice.oneIn(3) ? dice.below(a.dims.size()) : a.dims.size() - 1);
  Dims kept;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (static_cast<int64_t>(i) != axis)
      kept.push_back(static_cast<int64_t>(i));
  if (dice.oneIn(2))
    a = binary(a, like(a), "add", false);
  bool isNorm = dice.oneIn(2);
  Value first = reduce(a, {axis}, isNorm ? "add" : "maximum");
  if (isNorm) {
    std::string share =
        fmt::format("{:.9g}", 1.0 / static_cast<double>(a.dims[static_cast<size_t>(axis)]));
    first = binary(first, broadcast(constant("f32", share), first.dims, {}), "multiply", false);
    Value centred = binary(a, broadcast(first, a.dims, kept), "subtract", false);
    Value squares = reduce(binary(centred, centred, "multiply", false), {axis}, "add");
    squares =
        binary(squares, broadcast(constant("f32", share), squares.dims, {}), "multiply", false);
    squares = binary(squares, broadcast(constant("f32", "0.01"), squares.dims, {}), "add", false);
    Value scale = unary(squares, "rsqrt", false);
    a = binary(centred, broadcast(scale, a.dims, kept), "multiply", false);
  } else {
    Value raised =
        unary(binary(a, broadcast(first, a.dims, kept), "subtract", false), "exponential", false);
    Value total = reduce(raised, {axis}, "add");
    a = binary(raised, broadcast(total, a.dims, kept), "divide", false);
  }
  return convert(a, dice.oneIn(2) ? in.type : "f32");
}

/// Any order of batch, free and contracted dims on both sides.
Value Generator::dot() {
  std::string type =
      dice.of<std::string>({"bf16", "bf16", "f16", "f32", "f64", "s32", "s8", "u8", "f8e4m3fn",
                            "f8e5m2", "f8e3m4", "f8e5m2fnuz", "f4e2m1fn"});
  struct Dim {
    int64_t size;
    unsigned role; ///< 0 batch, 1 left only, 2 right only, 3 contracted
  };
  std::vector<Dim> dims;
  for (unsigned role = 0; role < 4; ++role) {
    uint64_t count = role == 0   ? (dice.oneIn(3) ? 1 : 0)
                     : role == 3 ? 1 + dice.oneIn(4)
                                 : dice.below(3);
    for (uint64_t i = 0; i < count; ++i)
      dims.push_back({role == 0   ? 1 + static_cast<int64_t>(dice.below(3))
                      : count > 1 ? dice.of<int64_t>({1, 2, 3, 8, 16})
                                  : dice.of<int64_t>({1, 3, 8, 16, 24, 33, 40, 64}),
                      role});
  }
  struct Operand {
    Value value;
    std::string attributes;
    std::vector<size_t> order; ///< of its dims in `dims`
  };
  auto side = [&](unsigned own, std::string contracting, std::string batch) {
    std::vector<size_t> order;
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i].role == 0 || dims[i].role == 3 || dims[i].role == own)
        order.push_back(i);
    for (size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[dice.below(i + 1)]);
    Dims sizes, contracted, batched;
    for (size_t i = 0; i < dims.size(); ++i) // in the order of `dims`, as the other side's
      for (size_t p = 0; p < order.size(); ++p)
        if (order[p] == i && (dims[i].role == 0 || dims[i].role == 3))
          (dims[i].role == 0 ? batched : contracted).push_back(static_cast<int64_t>(p));
    for (size_t i : order)
      sizes.push_back(dims[i].size);
    std::string attributes = fmt::format(", {}={{{}}}", contracting, fmt::join(contracted, ","));
    if (!batched.empty())
      attributes += fmt::format(", {}={{{}}}", batch, fmt::join(batched, ","));
    Value value;
    if (dice.oneIn(4) && sizes.size() >= 2) { // a view of what lies in memory
      Dims turned(sizes.rbegin(), sizes.rend()), back(sizes.size());
      std::iota(back.rbegin(), back.rend(), 0);
      value =
          emit({"", type, sizes}, fmt::format("transpose({}), dimensions={{{}}}",
                                              parameter(type, turned).name, fmt::join(back, ",")));
    } else if (dice.oneIn(4)) {
      Value flat = parameter(type, {Value{"", type, sizes}.count()});
      value = emit({"", type, sizes}, fmt::format("reshape({})", flat.name));
    } else {
      value = parameter(type, sizes);
    }
    return Operand{value, attributes, order};
  };
  Operand left = side(1, "lhs_contracting_dims", "lhs_batch_dims");
  Operand right = side(2, "rhs_contracting_dims", "rhs_batch_dims");
  bool isSmall = type == "bf16" || type == "f16";
  bool isByte = type == "s8" || type == "u8",
       isEight = type.starts_with("f8") || type.starts_with("f4");
  Value result{"",
               isByte                                  ? "s32"
               : isEight || (isSmall && dice.oneIn(2)) ? "f32"
                                                       : type,
               {},
               false};
  for (const Dim &dim : dims)
    if (dim.role == 0)
      result.dims.push_back(dim.size);
  for (const Operand *operand : {&left, &right})
    for (size_t i : operand->order)
      if (dims[i].role == 1 || dims[i].role == 2)
        result.dims.push_back(dims[i].size);
  result = emit(result, fmt::format("dot({}, {}){}{}", left.value.name, right.value.name,
                                    left.attributes, right.attributes));
  return some(result, 3);
}

/// Two dots and what comes between them: scaled, masked, a softmax or an activation.
Value Generator::attention() {
  const bool isWide = kind == ProgramKind::WideAttention; // for wgmma
  std::string type = isWide ? dice.of<std::string>({"bf16", "f16"})
                            : dice.of<std::string>({"bf16", "bf16", "f16", "f32"});
  auto size = [&] {
    return isWide ? dice.of<int64_t>({16, 24, 40, 48, 64, 104})
                  : dice.of<int64_t>({3, 8, 16, 24, 33, 48});
  };
  int64_t heads = dice.oneIn(2) ? 1 + static_cast<int64_t>(dice.below(3)) : 0;
  int64_t rows = isWide ? dice.of<int64_t>({64, 100, 128, 136}) : size();
  int64_t keys = size(), depth = size(), columns = size();
  auto shaped = [&](int64_t x, int64_t y) { return heads ? Dims{heads, x, y} : Dims{x, y}; };
  int64_t at = heads ? 1 : 0;
  std::string batch = heads ? ", lhs_batch_dims={0}, rhs_batch_dims={0}" : "";
  auto product = [&](const Value &left, const Value &right, int64_t rightAt, Dims dims,
                     const std::string &result) {
    return emit(
        {"", result, std::move(dims), false},
        fmt::format("dot({}, {}){}, lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}",
                    left.name, right.name, batch, at + 1, at + rightAt));
  };
  bool isTransposed = dice.oneIn(2);
  Value query = parameter(type, shaped(rows, depth));
  Value key = parameter(type, isTransposed ? shaped(depth, keys) : shaped(keys, depth));
  Value scores = product(query, key, isTransposed ? 0 : 1, shaped(rows, keys), "f32");
  Dims whole = scores.dims;
  if (dice.oneIn(2))
    scores = binary(scores, broadcast(constant("f32", "0.125"), whole, {}), "multiply", false);
  if (dice.oneIn(3))
    scores = binary(scores, broadcast(parameter("f32", {keys}), whole, {at + 1}), "add", false);
  if (dice.oneIn(2)) {
    Dims kept(static_cast<size_t>(at + 1));
    std::iota(kept.begin(), kept.end(), 0);
    Value most = reduce(scores, {at + 1}, "maximum");
    Value raised = unary(binary(scores, broadcast(most, whole, kept), "subtract", false),
                         "exponential", false);
    Value total = reduce(raised, {at + 1}, "add");
    scores = binary(raised, broadcast(total, whole, kept), "divide", false);
  } else {
    scores = unary(scores, dice.of<std::string>({"tanh", "negate"}), false);
  }
  Value value = parameter(type, shaped(keys, columns));
  return product(convert(scores, type), value, 0, shaped(rows, columns),
                 dice.oneIn(2) ? "f32" : type);
}

std::string Generator::text() {
  Value result;
  switch (kind) {
  case ProgramKind::Elementwise:
    result = elementwise();
    break;
  case ProgramKind::Reduction:
    result = reduction();
    break;
  case ProgramKind::Softmax:
    result = softmax();
    break;
  case ProgramKind::Dot:
    result = dot();
    break;
  case ProgramKind::Attention:
  case ProgramKind::WideAttention:
    result = attention();
    break;
  case ProgramKind::Window:
    result = dice.oneIn(2) ? window() : convolution();
    break;
  case ProgramKind::Indexed:
    result = indexed();
    break;
  }
  std::string definition = fmt::format("  {} = ", result.name);
  size_t at = body.find(definition);
  if (body.substr(at, body.find('\n', at) - at).find(" parameter(") == std::string::npos)
    body.insert(at + 2, "ROOT ");
  else
    body += fmt::format("  ROOT out = {} copy({})\n", result.shape(), result.name);
  return fmt::format("HloModule random\n{}ENTRY main {{\n{}}}\n", subcomputations, body);
}

} // namespace fuzz

std::string randomProgram(ProgramKind kind, uint64_t seed) {
  return fuzz::Generator(kind, seed).text();
}

} // namespace tilewright
