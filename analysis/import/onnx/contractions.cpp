// Products of matrices.
#include "analysis/import/onnx/node.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <numeric>

namespace tilewright::onnx_format {

/// NumPy's matmul: the last two dims, those before spread over each other; a vector is a row on the
/// left and a column on the right.
OpId matMul(Node &n, OpId a, OpId b, DType type) {
  Dims left = n.shapeOf(a).dims, right = n.shapeOf(b).dims;
  auto misfit = [&] {
    n.fail(fmt::format("{} and {} can't be multiplied", n.shapeOf(a).str(false),
                       n.shapeOf(b).str(false)));
    return OpId{};
  };
  if (left.empty() || right.empty())
    return misfit();
  const bool isRow = left.size() == 1, isColumn = right.size() == 1;
  const int64_t lhsInner = static_cast<int64_t>(left.size()) - 1;
  const int64_t rhsInner = isColumn ? 0 : static_cast<int64_t>(right.size()) - 2;
  if (left[static_cast<size_t>(lhsInner)] != right[static_cast<size_t>(rhsInner)])
    return misfit();
  if (left.size() <= 2 || right.size() <= 2) { // no dims to spread
    if (right.size() <= 2)
      return n.dot(a, b, {{}, {}, {lhsInner}, {rhsInner}}, type);
    // [k] or [m, k] times […, k, n] is […, n] or […, n, m] before its last dims change places.
    const OpId product = n.dot(b, a, {{}, {}, {rhsInner}, {lhsInner}}, type);
    if (isRow)
      return product;
    Dims order(right.size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return n.transpose(product, order);
  }
  Dims batch;
  if (!n.commonDims({Dims(left.begin(), left.end() - 2), Dims(right.begin(), right.end() - 2)},
                    batch))
    return {};
  auto spread = [&](OpId x, const Dims &dims) {
    Dims wide = batch;
    wide.insert(wide.end(), dims.end() - 2, dims.end());
    return n.spread(x, wide);
  };
  DotDims dims;
  dims.lhsBatch.resize(batch.size());
  std::iota(dims.lhsBatch.begin(), dims.lhsBatch.end(), 0);
  dims.rhsBatch = dims.lhsBatch;
  const auto at = static_cast<int64_t>(batch.size());
  dims.lhsContracting = {at + 1};
  dims.rhsContracting = {at};
  const OpId lhs = spread(a, left), rhs = spread(b, right);
  return n.dot(lhs, rhs, dims, type);
}

bool lowerMatMul(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1))
    return false;
  if (n.dtype(0) != n.dtype(1))
    return n.fail("the inputs are of different types");
  const OpId product = matMul(n, n.input(0), n.input(1), n.dtype(0));
  return product.isValid() && n.finish(product);
}

/// alpha · A · B + beta · C
bool lowerGemm(Node &n) {
  if (!n.isTensor(0) || !n.isTensor(1) || (n.hasInput(2) && !n.isTensor(2)))
    return false;
  const DType type = n.dtype(0);
  if (n.rank(0) != 2 || n.rank(1) != 2 || n.dtype(1) != type ||
      (n.hasInput(2) && n.dtype(2) != type))
    return n.fail("two matrices of one type are needed");
  const int64_t lhs = n.integer("transA", 0) ? 0 : 1, rhs = n.integer("transB", 0) ? 1 : 0;
  if (n.dims(0)[static_cast<size_t>(lhs)] != n.dims(1)[static_cast<size_t>(rhs)])
    return n.fail(
        fmt::format("{} and {} can't be multiplied", n.shape(0).str(false), n.shape(1).str(false)));
  OpId y = n.dot(n.input(0), n.input(1), {{}, {}, {lhs}, {rhs}}, type);
  const double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  if (alpha != 1)
    y = n.binary(Opcode::Multiply, y, alpha);
  if (n.hasInput(2) && beta != 0) {
    if (!n.spreads(n.dims(2), n.shapeOf(y).dims))
      return false;
    OpId c = n.input(2);
    if (beta != 1)
      c = n.binary(Opcode::Multiply, c, beta);
    y = n.plus(y, n.spread(c, n.shapeOf(y).dims));
  }
  return n.finish(y);
}

namespace {

/// A tensor whose dims are called by letters.
struct Labelled {
  OpId op;
  std::string labels;
};

Dims placesOf(const std::string &labels, const std::string &which) {
  Dims places;
  for (char label : which)
    places.push_back(static_cast<int64_t>(labels.find(label)));
  return places;
}

/// The terms of an equation, those of the output last; "..." are letters of their own, the last one
/// for the last dim. False where it is no equation for these ranks.
bool termsOf(Node &n, std::vector<std::string> &terms) {
  std::string text = n.text("equation", "");
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  const size_t arrow = text.find("->");
  std::string output = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  std::string inputs = text.substr(0, arrow);
  std::string spreadLabels;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    const size_t comma = std::min(inputs.find(','), inputs.size());
    std::string term = inputs.substr(0, comma);
    inputs = comma < inputs.size() ? inputs.substr(comma + 1) : "";
    if (const size_t dots = term.find("..."); dots != std::string::npos) {
      if (!n.isTensor(i) || term.size() - 3 > n.rank(i))
        return false;
      std::string wide;
      for (size_t d = n.rank(i) - (term.size() - 3); d-- > 0;)
        wide += static_cast<char>(1 + d);
      term.replace(dots, 3, wide);
      if (wide.size() > spreadLabels.size())
        spreadLabels = wide;
    }
    if (!n.isTensor(i) || term.size() != n.rank(i))
      return false;
    terms.push_back(term);
  }
  if (arrow == std::string::npos) { // letters that occur once, sorted
    output = "...";
    std::string all;
    for (const std::string &term : terms)
      all += term;
    std::sort(all.begin(), all.end());
    for (char c : all)
      if (std::isalpha(static_cast<unsigned char>(c)) && std::count(all.begin(), all.end(), c) == 1)
        output += c;
  }
  if (const size_t dots = output.find("..."); dots != std::string::npos)
    output.replace(dots, 3, spreadLabels);
  terms.push_back(output);
  return inputs.empty();
}

/// Repeated letters are diagonals.
Labelled diagonal(Node &n, Labelled x) {
  for (size_t i = 0; i < x.labels.size(); ++i)
    while (x.labels.find(x.labels[i], i + 1) != std::string::npos) {
      const size_t j = x.labels.find(x.labels[i], i + 1);
      const Dims dims = n.shapeOf(x.op).dims;
      const OpId isOn =
          n.compare(n.iota(DType::S64, dims, i), Comparison::Eq, n.iota(DType::S64, dims, j));
      x.op = n.reduce(n.select(isOn, x.op, n.numberLike(x.op, 0)), Opcode::Add,
                      {static_cast<int64_t>(j)});
      x.labels.erase(j, 1);
    }
  return x;
}

/// Letters that nothing needs are summed.
Labelled summed(Node &n, Labelled x, const std::string &needed) {
  std::string gone;
  for (char label : x.labels)
    if (needed.find(label) == std::string::npos)
      gone += label;
  x.op = n.reduce(x.op, Opcode::Add, placesOf(x.labels, gone));
  std::erase_if(x.labels, [&](char c) { return gone.find(c) != std::string::npos; });
  return x;
}

Labelled product(Node &n, const Labelled &a, const Labelled &b, const std::string &needed) {
  std::string batch, contracted, freeOfA, freeOfB;
  for (char label : a.labels)
    (b.labels.find(label) == std::string::npos ? freeOfA
     : needed.find(label) == std::string::npos ? contracted
                                               : batch) += label;
  for (char label : b.labels)
    if (a.labels.find(label) == std::string::npos)
      freeOfB += label;
  const DotDims dims = {placesOf(a.labels, batch), placesOf(b.labels, batch),
                        placesOf(a.labels, contracted), placesOf(b.labels, contracted)};
  return {n.dot(a.op, b.op, dims, n.shapeOf(a.op).dtype), batch + freeOfA + freeOfB};
}

} // namespace

bool lowerEinsum(Node &n) {
  std::vector<std::string> terms;
  if (!termsOf(n, terms))
    return n.fail(fmt::format("the equation '{}' doesn't fit its inputs", n.text("equation", "")));
  const std::string output = terms.back();
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < n.inputCount(); ++i)
    for (size_t d = 0; d < terms[i].size(); ++d)
      if (auto [it, isNew] = extents.emplace(terms[i][d], n.dims(i)[d]);
          it->second != n.dims(i)[d] || n.dtype(i) != n.dtype(0))
        return n.refuse(fmt::format("dims of one letter have {} and {} elements, or the inputs are "
                                    "of different types",
                                    it->second, n.dims(i)[d]));
  for (size_t i = 0; i < output.size(); ++i)
    if (!extents.contains(output[i]) || output.find(output[i], i + 1) != std::string::npos)
      return n.fail("the equation's output has a letter that no input has, or one twice");
  Labelled all;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    std::string later = output;
    for (size_t j = i + 1; j < n.inputCount(); ++j)
      later += terms[j];
    Labelled one = diagonal(n, {n.input(i), terms[i]});
    one = summed(n, one, later + all.labels);
    all = i == 0 ? one : product(n, all, one, later);
    all = summed(n, all, later);
  }
  return n.finish(n.transpose(all.op, placesOf(all.labels, output)));
}

} // namespace tilewright::onnx_format
