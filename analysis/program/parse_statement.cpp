#include "analysis/program/parser.h"

namespace tilewright::program {

bool Parser::block(Region &into) {
  if (!expectLineEnd())
    return false;
  if (token().kind != TokenKind::Indent)
    return fail(token(), "expected a block: lines that stand further in");
  ++at;
  scopes.emplace_back();
  while (!hasFailed() && token().kind != TokenKind::Dedent && !isEnd())
    statement(into);
  scopes.pop_back();
  if (token().kind == TokenKind::Dedent)
    ++at;
  return !hasFailed();
}

bool Parser::statement(Region &into) {
  if (hasFailed())
    return false;
  if (token().kind == TokenKind::Indent || token().kind == TokenKind::Dedent)
    return fail(token(), "another indentation than that of the lines around it");
  if (isAt("for"))
    return forLoop(into);
  if (isAt("if"))
    return ifStatement(into);
  if (isAt("role"))
    return role(into);
  bool isGood = isAt("store")    ? store(into)
                : isAt("atomic") ? atomic(into)
                : isAt("copy")   ? copy(into)
                : isAt("write")  ? write(into)
                                 : false;
  if (!isGood && !hasFailed()) {
    if (isAt("barrier") || isAt("cluster.barrier")) {
      into.push_back({BarrierOp{isAt("cluster.barrier")}, {}, {token().offset}});
      ++at;
    } else {
      assignment(into);
    }
  }
  return expectLineEnd();
}

bool Parser::forLoop(Region &into) {
  Op op;
  op.where = {token().offset};
  ++at;
  ForOp loop;
  loop.name = name("a loop's variable");
  if (hasFailed())
    return false;
  const Symbol *symbol = find(loop.name);
  if (!symbol || symbol->kind != Symbol::Kind::Step)
    return fail(token(), fmt::format("{} is {} already", loop.name,
                                     symbol ? kindOf(symbol->kind) : "something else"));
  loop.var = symbol->var;
  expect("<");
  loop.trips = size();
  while (!hasFailed() && token().kind == TokenKind::Name) {
    if (consume("ahead")) {
      loop.ahead = size();
    } else if (consume("split")) {
      loop.splitVar = gridVariable();
      expect("/");
      mayDeclare = true;
      loop.splits = factor();
    } else if (consume("unroll")) {
      loop.unroll = size();
    } else {
      return failExpected("ahead, split or unroll");
    }
  }
  if (!loopBody(loop))
    return false;
  op.what = std::move(loop);
  into.push_back(std::move(op));
  return true;
}

bool Parser::loopBody(ForOp &loop) {
  if (!expectLineEnd())
    return false;
  if (token().kind != TokenKind::Indent)
    return fail(token(), "expected a block: lines that stand further in");
  ++at;
  scopes.emplace_back();
  bool hasIssue = false;
  while (!hasFailed() && token().kind != TokenKind::Dedent && !isEnd()) {
    if (!isAt("issue")) {
      statement(loop.body);
      continue;
    }
    if (hasIssue)
      return fail(token(), "a loop has one issue block");
    hasIssue = true;
    loop.issueAt = static_cast<uint32_t>(loop.body.size());
    ++at;
    if (token().kind == TokenKind::Newline && token().text.empty()) {
      block(loop.issue);
      continue;
    }
    scopes.emplace_back();
    do { // to the end of the line
      statement(loop.issue);
    } while (!hasFailed() && tokens[at - 1].text == ";");
    scopes.pop_back();
  }
  scopes.pop_back();
  if (token().kind == TokenKind::Dedent)
    ++at;
  return !hasFailed();
}

bool Parser::ifStatement(Region &into) {
  Op op;
  op.where = {token().offset};
  ++at;
  IfOp branch;
  branch.condition = index();
  // As block(), keeping the names of both branches.
  auto branchBlock = [&](Region &region) {
    std::map<std::string, ValueId, std::less<>> names;
    if (!expectLineEnd())
      return names;
    if (token().kind != TokenKind::Indent) {
      fail(token(), "expected a block: lines that stand further in");
      return names;
    }
    ++at;
    scopes.emplace_back();
    while (!hasFailed() && token().kind != TokenKind::Dedent && !isEnd())
      statement(region);
    names = std::move(scopes.back());
    scopes.pop_back();
    if (token().kind == TokenKind::Dedent)
      ++at;
    return names;
  };
  auto first = branchBlock(branch.then);
  if (consume("else")) {
    auto outer = std::exchange(thenNames, &first);
    auto second = branchBlock(branch.otherwise);
    thenNames = outer;
    for (const auto &[wanted, id] : second)
      if (first.count(wanted))
        scopes.back().emplace(wanted, id);
  }
  op.what = std::move(branch);
  into.push_back(std::move(op));
  return !hasFailed();
}

bool Parser::role(Region &into) {
  Op op;
  op.where = {token().offset};
  ++at;
  RoleOp region;
  Token where = token();
  std::string wanted = name("a role");
  for (uint32_t i = 0; i < p.roles.size(); ++i)
    if (p.roles[i].name == wanted)
      region.role = RoleId{i};
  if (!hasFailed() && !region.role.isValid())
    return fail(where, fmt::format("no role is named {}: list it under roles", wanted));
  if (!block(region.body))
    return false;
  op.what = std::move(region);
  into.push_back(std::move(op));
  return true;
}

bool Parser::access(Access &into) {
  into.tensor = tensor(into.tensor.isValid());
  expect("[");
  if (!consume("]")) {
    do {
      into.index.push_back(index());
    } while (isWithin(into.index.size(), limits::rank, "coordinates") && consume(","));
    expect("]");
  }
  return !hasFailed();
}

bool Parser::conditions(std::vector<Condition> &list) {
  do {
    Condition condition;
    condition.value = index();
    expect("in");
    expect("[");
    condition.low = index();
    expect(",");
    condition.high = index();
    expect(")");
    list.push_back(condition);
  } while (isWithin(list.size(), limits::rank, "conditions") && consume("&"));
  return !hasFailed();
}

bool Parser::store(Region &into) {
  StoreOp op;
  SourceLoc where{token().offset};
  ++at;
  op.to.tensor = TensorId{0}; // a result
  if (!access(op.to) || !expect("="))
    return false;
  op.value = scalar();
  op.layout = layout();
  into.push_back({std::move(op), {}, where});
  return !hasFailed();
}

bool Parser::atomic(Region &into) {
  AtomicOp op;
  SourceLoc where{token().offset};
  ++at;
  op.monoid = monoid().value_or(Monoid::Add);
  op.to.tensor = TensorId{0};
  if (!access(op.to) || !expect("="))
    return false;
  op.value = scalar();
  into.push_back({std::move(op), {}, where});
  return !hasFailed();
}

bool Parser::copy(Region &into) {
  CopyOp op;
  SourceLoc where{token().offset};
  ++at;
  op.buffer = buffer();
  if (!expect("<-") || !access(op.from))
    return false;
  while (!hasFailed() && token().kind == TokenKind::Name) {
    if (consume("if")) {
      conditions(op.conditions);
    } else if (consume("via")) {
      bool isKnown = false;
      for (CopyWay way : {CopyWay::CpAsync, CopyWay::Tma, CopyWay::Registers})
        if (!isKnown && consume(toString(way))) {
          op.way = way;
          isKnown = true;
        }
      if (!isKnown)
        return failExpected("cp.async, tma or regs");
    } else {
      return failExpected("if or via");
    }
  }
  into.push_back({std::move(op), {}, where});
  return !hasFailed();
}

bool Parser::write(Region &into) {
  WriteOp op;
  SourceLoc where{token().offset};
  ++at;
  op.buffer = buffer();
  expect("<-");
  op.value = scalar();
  into.push_back({std::move(op), {}, where});
  return !hasFailed();
}

} // namespace tilewright::program
