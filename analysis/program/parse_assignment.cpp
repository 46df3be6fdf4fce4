#include "analysis/program/parser.h"

namespace tilewright::program {

bool Parser::assignment(Region &into) {
  std::vector<Token> targets;
  SourceLoc where{token().offset};
  do {
    if (token().kind != TokenKind::Name || token().text.find('.') != std::string_view::npos)
      return failExpected("a statement");
    targets.push_back(token());
    ++at;
  } while (isWithin(targets.size(), limits::rank, "values of one op") && consume(","));
  bool isAdded = consume("+=");
  if (!isAdded && !expect("="))
    return false;
  Op op;
  op.where = where;
  if (!rightSide(op, targets, isAdded))
    return false;
  // Now: the right side speaks of what the names meant before.
  for (const Token &target : targets)
    op.results.push_back(assign(target));
  into.push_back(std::move(op));
  return !hasFailed();
}

bool Parser::rightSide(Op &op, const std::vector<Token> &targets, bool isAdded) {
  size_t results = 1;
  if (isAdded && !isAt("dot"))
    return failExpected("dot, the op that adds to a value");
  if (consume("load")) {
    LoadOp o;
    load(o);
    op.what = std::move(o);
  } else if (consume("read")) {
    ReadOp o;
    o.buffer = buffer();
    o.step = stepOfSlot();
    if (consume("[")) {
      do {
        o.axes.push_back(axis());
      } while (isWithin(o.axes.size(), limits::rank, "axes") && consume(","));
      expect("]");
    }
    o.layout = layout();
    op.what = std::move(o);
  } else if (consume("map")) {
    MapOp o;
    o.value = scalar();
    o.layout = layout();
    op.what = std::move(o);
  } else if (consume("full")) {
    FullOp o;
    o.number = constant();
    o.type = type();
    expect("[");
    if (!consume("]")) {
      o.axes = axisList();
      expect("]");
    }
    o.layout = layout();
    op.what = std::move(o);
  } else if (consume("relayout")) {
    RelayoutOp o;
    o.value = value();
    std::optional<LayoutSpec> to = layout();
    if (!to)
      return failExpected("'@' and a layout");
    o.layout = *to;
    op.what = std::move(o);
  } else if (consume("reduce")) {
    Monoid by = monoid().value_or(Monoid::Add);
    results = resultCount(by);
    reduction(op, by);
  } else if (consume("scan")) {
    ScanOp o;
    o.monoid = monoid().value_or(Monoid::Add);
    o.value = scalar();
    expect("over");
    o.over = axis();
    op.what = std::move(o);
  } else if (consume("dot")) {
    if (isAdded && !findValue(targets[0].text).isValid())
      return fail(targets[0], fmt::format("{} has no value to be added to", targets[0].text));
    DotOp o;
    o.isAdded = isAdded;
    dot(o);
    op.what = std::move(o);
  } else if (consume("sum.splits")) {
    SumSplitsOp o;
    if (parseMonoid(token().text) && !findValue(token().text).isValid())
      o.monoid = monoid().value_or(Monoid::Add);
    do {
      o.values.push_back(value());
    } while (!hasFailed() && consume(","));
    results = o.values.size();
    expect("over");
    o.splitVar = gridVariable();
    op.what = std::move(o);
  } else if (consume("select.axis")) {
    SelectAxisOp o;
    o.value = value();
    expect(",");
    o.axis = axis();
    expect("=");
    o.at = index();
    op.what = std::move(o);
  } else if (consume("join")) {
    JoinOp o;
    do {
      o.parts.push_back(value());
    } while (isWithin(o.parts.size(), limits::rank, "parts") && consume(","));
    expect("over");
    o.axis = axis();
    op.what = std::move(o);
  } else {
    return failExpected("an op: load, read, map, full, reduce, scan, dot, relayout, select.axis, "
                        "join or sum.splits");
  }
  if (!hasFailed() && targets.size() != results)
    return fail(targets[0], fmt::format("{} names for an op with {} result{}", targets.size(),
                                        results, results == 1 ? "" : "s"));
  return !hasFailed();
}

bool Parser::load(LoadOp &op) {
  if (!access(op.from))
    return false;
  while (!hasFailed() && token().kind == TokenKind::Name) {
    if (consume("if"))
      conditions(op.conditions);
    else if (consume("else"))
      op.otherwise = constant();
    else
      return failExpected("if, else or '@'");
  }
  op.layout = layout();
  return !hasFailed();
}

bool Parser::reduction(Op &op, Monoid by) {
  ReduceOp o;
  o.monoid = by;
  o.value = scalar();
  expect("over");
  o.over = axisList();
  op.what = std::move(o);
  return !hasFailed();
}

bool Parser::dot(DotOp &op) {
  expect("(");
  op.left = scalar();
  expect(",");
  op.right = scalar();
  expect(")");
  expect("over");
  op.over = axisList();
  bool isKnown = false;
  for (DotWay way : {DotWay::Fma, DotWay::MmaSync, DotWay::Wgmma})
    if (!isKnown && consume(toString(way))) {
      op.way = way;
      isKnown = true;
    }
  if (!isKnown)
    return failExpected("fma, mma.sync or wgmma");
  if (consume("wait"))
    op.wait = static_cast<uint32_t>(std::min<int64_t>(integer("groups in flight"), 7));
  if (consume("products"))
    op.products = static_cast<uint32_t>(std::min<int64_t>(integer("products"), 7));
  op.layout = layout();
  return !hasFailed();
}

std::optional<Monoid> Parser::monoid() {
  std::optional<Monoid> known = parseMonoid(token().text);
  if (hasFailed() || !known) {
    failExpected("add, mul, max, min, and, or, argmax or argmin");
    return std::nullopt;
  }
  ++at;
  return known;
}

/// "4:1@j 8:8@i 2:0": extents, strides and axes, of copies the stride 0 alone; may be empty.
std::vector<Digit> Parser::digits() {
  constexpr size_t most = 64;
  std::vector<Digit> result;
  while (!hasFailed() && token().text != "," && token().text != ")") {
    Token where = token();
    Digit digit;
    digit.extent = size();
    expect(":");
    digit.stride = size();
    if (hasFailed())
      break;
    if (!digit.isCopy()) {
      expect("@");
      digit.axis = axis();
    }
    result.push_back(digit);
    if (result.size() > most)
      fail(where, fmt::format("more than {} digits", most));
  }
  return result;
}

std::optional<LayoutSpec> Parser::layout() {
  if (!consume("@"))
    return std::nullopt;
  Token where = token();
  std::optional<LayoutFamily> family = parseLayoutFamily(token().text);
  if (hasFailed() || !family) {
    failExpected("a layout: flat, across, rows, columns, mma, mma.a, mma.b, wgmma, wgmma.a, "
                 "like or digits");
    return std::nullopt;
  }
  ++at;
  LayoutSpec spec{*family, {}, {}};
  if (*family == LayoutFamily::Like) {
    spec.value = value();
    return spec;
  }
  expect("(");
  if (*family == LayoutFamily::Digits) {
    spec.digits.registers = digits();
    expect(",");
    spec.digits.lanes = digits();
    expect(",");
    spec.digits.warps = digits();
    expect(")");
    return hasFailed() ? std::nullopt : std::optional(spec);
  }
  do {
    spec.arguments.push_back(size());
  } while (!hasFailed() && spec.arguments.size() < argumentCount(*family) && consume(","));
  expect(")");
  if (!hasFailed() && spec.arguments.size() != argumentCount(*family))
    fail(where, fmt::format("{} takes {} numbers, not {}", where.text, argumentCount(*family),
                            spec.arguments.size()));
  if (consume("of")) {
    do {
      spec.of.push_back(axis());
    } while (!hasFailed() && consume(","));
    AxisSet once(spec.of.begin(), spec.of.end());
    std::sort(once.begin(), once.end());
    if (!hasFailed() && std::adjacent_find(once.begin(), once.end()) != once.end())
      fail(where, "a layout names an axis twice");
  }
  if (hasFailed())
    return std::nullopt;
  return spec;
}

} // namespace tilewright::program
