// Recurrent layers, as loops over time.
//
// The inputs' part of every gate is one product in front of the loop; a step adds the state's part.
#include "analysis/import/onnx/node.h"

#include <fmt/format.h>
#include <functional>

namespace tilewright::onnx_format {

namespace {

/// A layer in one direction. Tensors without the dims of directions; those left out are invalid.
struct Direction {
  bool isReverse = false;
  OpId x;            ///< [time, batch, input]
  OpId w, r;         ///< [gates · hidden, input], [gates · hidden, hidden]
  OpId wBias, rBias; ///< [gates · hidden]
  OpId peepholes;    ///< [3 · hidden]
  OpId hidden, cell; ///< [batch, hidden]
  OpId lengths;      ///< [batch]
  std::vector<std::string> functions;
  double clip = 0;
};

struct Layer {
  int64_t gates = 1, hidden = 0, batch = 0, time = 0, directions = 1;
  size_t functionsEach = 1;
  bool hasCell = false, isBatchFirst = false;
  DType type = DType::F32;
};

struct Outputs {
  OpId all, hidden, cell; ///< [time, batch, hidden], [batch, hidden] twice
};

bool isFunction(const std::string &name) {
  for (const char *known : {"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"})
    if (name == known)
      return true;
  return false;
}

OpId apply(Builder &b, const std::string &name, OpId x) {
  if (name == "Sigmoid")
    return b.unary(Opcode::Logistic, x);
  if (name == "Tanh")
    return b.unary(Opcode::Tanh, x);
  if (name == "Relu")
    return b.binary(Opcode::Maximum, x, 0.0);
  if (name == "Softsign")
    return b.over(x, b.binary(Opcode::Add, b.unary(Opcode::Abs, x), 1.0));
  return b.unary(Opcode::Log1p, b.unary(Opcode::Exp, x));
}

/// Values of a step, seen from inside of the loop.
struct Step {
  Builder &b;
  const Layer &layer;
  const Direction &direction;
  OpId input; ///< [batch, gates · hidden], biases of it added
  OpId hidden, cell;
  std::function<OpId(OpId)> outer; ///< a value of the surroundings

  OpId gate(OpId of, int64_t i) const {
    return b.slice(of, 1, i * layer.hidden, (i + 1) * layer.hidden);
  }
  OpId product(OpId state, OpId weights) const {
    return b.dot(state, weights, {{}, {}, {1}, {1}}, layer.type);
  }
  OpId clipped(OpId x) const {
    if (direction.clip <= 0)
      return x;
    return b.clamp(b.numberLike(x, -direction.clip), x, b.numberLike(x, direction.clip));
  }
  OpId along(OpId vector) const { return b.along(vector, {layer.batch, layer.hidden}, 1); }
  OpId act(size_t i, OpId x) const { return apply(b, direction.functions[i], clipped(x)); }
};

/// The state after a step.
struct State {
  OpId hidden, cell;
};

using StepFunction = std::function<State(Node &, const Step &)>;

State rnnStep(Node &, const Step &s) {
  const OpId sum = s.b.plus(s.input, s.product(s.hidden, s.outer(s.direction.r)));
  return {s.act(0, sum), {}};
}

/// z (update), r (reset), h.
State gruStep(Node &n, const Step &s) {
  Builder &b = s.b;
  const OpId weights = s.outer(s.direction.r);
  const int64_t h = s.layer.hidden;
  const OpId both = s.product(s.hidden, b.slice(weights, 0, 0, 2 * h));
  const OpId z = s.act(0, b.plus(s.gate(s.input, 0), s.gate(both, 0)));
  const OpId r = s.act(0, b.plus(s.gate(s.input, 1), s.gate(both, 1)));
  const OpId last = b.slice(weights, 0, 2 * h, 3 * h);
  OpId part;
  if (n.integer("linear_before_reset", 0) != 0) {
    part = s.product(s.hidden, last);
    if (s.direction.rBias.isValid())
      part = b.plus(part, s.along(b.slice(s.outer(s.direction.rBias), 0, 2 * h, 3 * h)));
    part = b.times(r, part);
  } else {
    part = s.product(b.times(r, s.hidden), last);
    if (s.direction.rBias.isValid())
      part = b.plus(part, s.along(b.slice(s.outer(s.direction.rBias), 0, 2 * h, 3 * h)));
  }
  const OpId candidate = s.act(1, b.plus(s.gate(s.input, 2), part));
  const OpId kept = b.times(z, s.hidden);
  return {b.plus(b.times(b.minus(b.numberLike(z, 1), z), candidate), kept), {}};
}

/// i (input), o (output), f (forget), c (cell); peepholes in the order i, o, f.
State lstmStep(Node &n, const Step &s) {
  Builder &b = s.b;
  const int64_t h = s.layer.hidden;
  const OpId sum = b.plus(s.input, s.product(s.hidden, s.outer(s.direction.r)));
  auto peeped = [&](OpId x, int64_t i, OpId cell) {
    if (!s.direction.peepholes.isValid())
      return x;
    const OpId p = b.slice(s.outer(s.direction.peepholes), 0, i * h, (i + 1) * h);
    return b.plus(x, b.times(s.along(p), cell));
  };
  const OpId i = s.act(0, peeped(s.gate(sum, 0), 0, s.cell));
  const OpId f = n.integer("input_forget", 0) != 0 ? b.minus(b.numberLike(i, 1), i)
                                                   : s.act(0, peeped(s.gate(sum, 2), 2, s.cell));
  const OpId candidate = s.act(1, s.gate(sum, 3));
  const OpId cell = b.plus(b.times(f, s.cell), b.times(i, candidate));
  const OpId o = s.act(0, peeped(s.gate(sum, 1), 1, cell));
  return {b.times(o, apply(b, s.direction.functions[2], cell)), cell};
}

/// The loop over time.
bool run(Node &n, const Layer &layer, const Direction &d, const StepFunction &step, Outputs &out) {
  const Dims state = {layer.batch, layer.hidden};
  OpId inputs = n.dot(d.x, d.w, {{}, {}, {2}, {1}}, layer.type); // [time, batch, gates · hidden]
  const Dims wide = n.shapeOf(inputs).dims;
  auto addBias = [&](OpId bias) { inputs = n.plus(inputs, n.along(bias, wide, 2)); };
  if (d.wBias.isValid())
    addBias(d.wBias);
  if (d.rBias.isValid()) { // a GRU's last part belongs behind its reset
    OpId bias = d.rBias;
    if (layer.gates == 3)
      bias = n.concatenate({n.slice(bias, 0, 0, 2 * layer.hidden),
                            n.number(Shape::tensor(layer.type, {layer.hidden}), 0)},
                           0);
    addBias(bias);
  }
  const OpId zeros = n.number(Shape::tensor(layer.type, state), 0);
  std::vector<OpId> values = {d.hidden.isValid() ? d.hidden : zeros};
  if (layer.hasCell)
    values.push_back(d.cell.isValid() ? d.cell : zeros);
  if (n.wants(0))
    values.push_back(
        n.number(Shape::tensor(layer.type, {layer.time, layer.batch, layer.hidden}), 0));
  auto body = [&](Builder &b, OpId count, std::vector<OpId> &now) {
    auto outer = [&](OpId op) { return b.scope.capture(op, SourceLoc{}).op; };
    const OpId t = d.isReverse
                       ? b.minus(b.constant(DType::S64, std::to_string(layer.time - 1)), count)
                       : count;
    const OpId zero = b.constant(DType::S64, "0");
    const OpId input = b.reshape(
        b.dynamicSlice(outer(inputs), {t, zero, zero}, {1, wide[1], wide[2]}), {wide[1], wide[2]});
    const Step s = {b, layer, d, input, now[0], layer.hasCell ? now[1] : OpId{}, outer};
    State next = step(n, s);
    OpId shown = next.hidden;
    if (d.lengths.isValid()) { // behind a sequence's end its state stays
      const OpId isIn =
          b.compare(b.broadcast(t, Shape::tensor(DType::S64, state)), Comparison::Lt,
                    b.broadcast(outer(d.lengths), Shape::tensor(DType::S64, state), {0}));
      shown = b.select(isIn, next.hidden, b.numberLike(next.hidden, 0));
      next.hidden = b.select(isIn, next.hidden, now[0]);
      if (layer.hasCell)
        next.cell = b.select(isIn, next.cell, now[1]);
    }
    if (n.wants(0)) {
      const OpId row = b.reshape(shown, {1, layer.batch, layer.hidden});
      now.back() = b.dynamicUpdate(now.back(), row, {t, zero, zero});
    }
    now[0] = next.hidden;
    if (layer.hasCell)
      now[1] = next.cell;
    return true;
  };
  if (!n.loop(n.constant(DType::S64, std::to_string(layer.time)), values, body))
    return false;
  out.hidden = values[0];
  if (layer.hasCell)
    out.cell = values[1];
  if (n.wants(0))
    out.all = values.back();
  return true;
}

/// The tensors of direction `i` of an input, without that dim; invalid where it is left out.
bool directionOf(Node &n, size_t input, int64_t i, const Dims &expected, OpId &out,
                 bool isBatchFirst = false) {
  if (!n.hasInput(input))
    return true;
  if (!n.isTensor(input))
    return false;
  if (n.dims(input) != expected || n.dtype(input) != n.dtype(0))
    return n.fail(fmt::format("input {} is {}, {} is needed", input, n.shape(input).str(false),
                              Shape::tensor(n.dtype(0), expected).str(false)));
  const size_t dim = isBatchFirst ? 1 : 0;
  const OpId part = n.slice(n.input(input), dim, i, i + 1);
  out = n.reshape(part, without(expected, {static_cast<int64_t>(dim)}));
  return true;
}

bool readLayer(Node &n, Layer &layer) {
  for (size_t i : {0, 1, 2})
    if (!n.isTensor(i) || n.rank(i) != 3)
      return n.fail(fmt::format("input {} has not three dims", i));
  layer.type = n.dtype(0);
  layer.isBatchFirst = n.integer("layout", 0) != 0;
  layer.time = n.dims(0)[layer.isBatchFirst ? 1 : 0];
  layer.batch = n.dims(0)[layer.isBatchFirst ? 0 : 1];
  layer.directions = n.text("direction", "forward") == "bidirectional" ? 2 : 1;
  layer.hidden = n.dims(2)[2];
  if (!isFloat(layer.type) || layer.hidden < 1 ||
      n.integer("hidden_size", layer.hidden) != layer.hidden)
    return n.fail("the hidden size doesn't fit, or the input holds no real numbers");
  if (n.opset < 7 && n.integer("output_sequence", 1) == 0 && n.wants(0))
    return n.refuse("output_sequence = 0 is not lowered");
  for (double number : n.reals("activation_alpha"))
    return n.refuse(fmt::format("activation_alpha {} is not lowered", number));
  for (double number : n.reals("activation_beta"))
    return n.refuse(fmt::format("activation_beta {} is not lowered", number));
  return true;
}

bool readDirection(Node &n, const Layer &layer, int64_t i, std::vector<std::string> functions,
                   Direction &d) {
  const std::string way = n.text("direction", "forward");
  if (way != "forward" && way != "reverse" && way != "bidirectional")
    return n.fail(fmt::format("the direction is '{}'", way));
  d.isReverse = i == 1 || way == "reverse";
  d.clip = n.real("clip", 0);
  const std::vector<std::string> named = n.texts("activations");
  if (!named.empty()) {
    const size_t first = static_cast<size_t>(i) * layer.functionsEach;
    if (named.size() < first + layer.functionsEach)
      return n.fail(fmt::format("{} activations are named", named.size()));
    functions.assign(named.begin() + static_cast<std::ptrdiff_t>(first),
                     named.begin() + static_cast<std::ptrdiff_t>(first + layer.functionsEach));
  }
  for (const std::string &name : functions)
    if (!isFunction(name))
      return n.refuse(fmt::format("the activation '{}' is not lowered", name));
  d.functions = std::move(functions);
  const int64_t all = layer.gates * layer.hidden, ways = layer.directions;
  d.x = n.input(0);
  if (layer.isBatchFirst)
    d.x = n.transpose(d.x, {1, 0, 2});
  OpId biases;
  const Dims state = layer.isBatchFirst ? Dims{layer.batch, ways, layer.hidden}
                                        : Dims{ways, layer.batch, layer.hidden};
  if (!directionOf(n, 1, i, {ways, all, n.dims(0)[2]}, d.w) ||
      !directionOf(n, 2, i, {ways, all, layer.hidden}, d.r) ||
      !directionOf(n, 3, i, {ways, 2 * all}, biases) ||
      !directionOf(n, 5, i, state, d.hidden, layer.isBatchFirst))
    return false;
  if (layer.hasCell && (!directionOf(n, 6, i, state, d.cell, layer.isBatchFirst) ||
                        !directionOf(n, 7, i, {ways, 3 * layer.hidden}, d.peepholes)))
    return false;
  if (biases.isValid()) {
    d.wBias = n.slice(biases, 0, 0, all);
    d.rBias = n.slice(biases, 0, all, 2 * all);
  }
  if (n.hasInput(4)) {
    if (!n.isTensor(4) || n.dims(4) != Dims{layer.batch} || !isInteger(n.dtype(4)))
      return n.fail("there is not one length for each sequence");
    d.lengths = n.convert(n.input(4), DType::S64);
  }
  return true;
}

/// Directions side by side, where the layout has them.
OpId joined(Node &n, const std::vector<OpId> &parts, const Dims &each, size_t dim,
            const Dims &order) {
  std::vector<OpId> wide;
  Dims dims = each;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(dim), 1);
  for (OpId part : parts)
    wide.push_back(n.reshape(part, dims));
  return n.transpose(n.concatenate(wide, dim), order);
}

bool lowerRecurrent(Node &n, Layer layer, const std::vector<std::string> &functions,
                    const StepFunction &step) {
  layer.functionsEach = functions.size();
  if (!readLayer(n, layer))
    return false;
  std::vector<OpId> all, hidden, cell;
  for (int64_t i = 0; i < layer.directions; ++i) {
    Direction direction;
    Outputs outputs;
    if (!readDirection(n, layer, i, functions, direction) ||
        !run(n, layer, direction, step, outputs))
      return false;
    all.push_back(outputs.all);
    hidden.push_back(outputs.hidden);
    cell.push_back(outputs.cell);
  }
  const Dims state = {layer.batch, layer.hidden};
  const Dims whole = layer.isBatchFirst ? Dims{2, 0, 1, 3} : Dims{0, 1, 2, 3};
  const Dims order = layer.isBatchFirst ? Dims{1, 0, 2} : Dims{0, 1, 2};
  const OpId lastHidden = joined(n, hidden, state, 0, order);
  std::vector<OpId> results = {lastHidden, lastHidden};
  if (n.wants(0)) {
    const Dims each = {layer.time, layer.batch, layer.hidden};
    // [time, directions, batch, hidden], or [batch, time, directions, hidden]
    results[0] = joined(n, all, each, 1, whole);
  }
  if (layer.hasCell)
    results.push_back(joined(n, cell, state, 0, order));
  return n.finish(std::move(results));
}

} // namespace

bool lowerRnn(Node &n) { return lowerRecurrent(n, {}, {"Tanh"}, rnnStep); }

bool lowerGru(Node &n) {
  Layer layer;
  layer.gates = 3;
  return lowerRecurrent(n, layer, {"Sigmoid", "Tanh"}, gruStep);
}

bool lowerLstm(Node &n) {
  Layer layer;
  layer.gates = 4;
  layer.hasCell = true;
  return lowerRecurrent(n, layer, {"Sigmoid", "Tanh", "Tanh"}, lstmStep);
}

} // namespace tilewright::onnx_format
