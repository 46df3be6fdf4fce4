#include "analysis/program/parser.h"

namespace tilewright::program {

bool Parser::kernel() {
  Token where = token();
  if (!p.name.empty())
    return fail(where, "a text holds one kernel");
  p.name = name("the kernel's name");
  if (!expect("("))
    return false;
  if (!consume(")"))
    if (!tensors(false) || !expect(")"))
      return false;
  return expect("->") && tensors(true) && expectLineEnd();
}

bool Parser::tensors(bool isResult) {
  do {
    Token where = token();
    TensorInfo tensor;
    tensor.isResult = isResult;
    tensor.name = name("a tensor's name");
    expect(":");
    tensor.type = type();
    expect("[");
    if (!consume("]")) {
      do {
        tensor.dims.push_back(size());
      } while (isWithin(tensor.dims.size(), limits::rank, "dims") && consume(","));
      expect("]");
    }
    if (hasFailed() || !isWithin(p.tensors.size(), limits::items, "tensors"))
      return false;
    TensorId id{static_cast<uint32_t>(p.tensors.size())};
    if (!tensorNames.emplace(tensor.name, id).second)
      return fail(where, fmt::format("{} is a tensor already", tensor.name));
    p.tensors.push_back(std::move(tensor));
  } while (consume(","));
  return !hasFailed();
}

bool Parser::let() {
  do {
    Token where = token();
    std::string wanted = name("a name");
    expect("=");
    Expr value = size();
    if (hasFailed() || !isWithin(p.lets.size(), limits::items, "lets"))
      return false;
    Expr var = p.context->variable(VarKind::TileParam, wanted);
    if (!declare(where, wanted, {Symbol::Kind::Let, var}))
      return false;
    p.lets.push_back({wanted, var, value});
  } while (consume(","));
  return expectLineEnd();
}

bool Parser::warps() {
  p.warps = size();
  if (consume("producer"))
    p.producerWarps = size();
  return expectLineEnd();
}

bool Parser::roles() {
  do {
    Role role;
    role.name = name("a role's name");
    expect("<");
    role.warps = size();
    if (consume("registers"))
      role.registers = size();
    if (!isWithin(p.roles.size(), limits::items, "roles"))
      return false;
    p.roles.push_back(std::move(role));
  } while (consume(","));
  return expectLineEnd();
}

bool Parser::grid() {
  do {
    Token where = token();
    std::string wanted = name("a CTA variable");
    expect("<");
    Expr count = size();
    if (hasFailed() || !isWithin(p.grid.variables.size(), limits::rank, "CTA variables"))
      return false;
    Expr var = p.context->variable(VarKind::ProgramId, wanted);
    if (!declare(where, wanted, {Symbol::Kind::Grid, var}))
      return false;
    p.grid.variables.push_back({wanted, var, count});
  } while (consume(","));
  while (!hasFailed() && token().kind == TokenKind::Name) {
    if (consume("group")) {
      p.grid.group = size();
    } else if (consume("persistent")) {
      p.grid.persistent = size();
    } else if (consume("cluster")) {
      p.grid.clusterX = size();
      expect(",");
      p.grid.clusterY = size();
    } else {
      return failExpected("group, persistent or cluster");
    }
  }
  return expectLineEnd();
}

bool Parser::axesLine() {
  do {
    Token where = token();
    Axis axis;
    axis.name = name("an axis");
    expect("<");
    axis.extent = size();
    axis.origin = p.number(0);
    while (!hasFailed() && token().kind == TokenKind::Name) {
      if (consume("at"))
        axis.origin = size();
      else if (consume("from"))
        axis.lower = size();
      else if (consume("of"))
        axis.bound = size();
      else
        return failExpected("at, from or of");
    }
    if (hasFailed() || !isWithin(p.axes.size(), limits::rank, "axes"))
      return false;
    axis.var = p.context->variable(VarKind::Dim, axis.name);
    if (!declare(where, axis.name,
                 {Symbol::Kind::Axis, axis.var, static_cast<uint32_t>(p.axes.size())}))
      return false;
    p.axes.push_back(std::move(axis));
  } while (consume(","));
  return expectLineEnd();
}

/// The memory that a buffer lies in: that of buffers one behind the other.
void Parser::hosts(Buffer &of) {
  of.alias = buffer();
  while (!hasFailed() && consume(",")) {
    Token where = token();
    if (buffer().index != of.alias.index + of.hosts++)
      fail(where, "memory of several buffers is that of buffers declared one behind the other");
  }
}

bool Parser::buffers(bool isRing) {
  size_t first = p.buffers.size();
  do {
    Token where = token();
    Buffer buffer;
    buffer.isRing = isRing;
    buffer.stages = p.number(1);
    buffer.name = name("a buffer's name");
    expect(":");
    buffer.type = type();
    expect("[");
    do {
      buffer.order.push_back(axis());
    } while (isWithin(buffer.order.size(), limits::rank, "axes") && consume(","));
    expect("]");
    if (hasFailed() || !isWithin(p.buffers.size(), limits::items, "buffers"))
      return false;
    if (!declare(where, buffer.name,
                 {Symbol::Kind::Buffer, Expr(), static_cast<uint32_t>(p.buffers.size())}))
      return false;
    p.buffers.push_back(std::move(buffer));
  } while (consume(","));
  // Attributes are those of all buffers of the line.
  Buffer common;
  common.stages = p.number(1);
  while (!hasFailed() && token().kind == TokenKind::Name) {
    if (consume("x"))
      common.stages = size();
    else if (consume("swizzle"))
      common.swizzle = integer("bytes");
    else if (consume("pad"))
      common.padElements = integer("elements");
    else if (consume("permute"))
      common.permute = size();
    else if (consume("in"))
      hosts(common);
    else
      return failExpected("x, swizzle, permute, pad or in");
  }
  for (size_t i = first; i < p.buffers.size(); ++i) {
    p.buffers[i].stages = common.stages;
    p.buffers[i].swizzle = common.swizzle;
    p.buffers[i].padElements = common.padElements;
    p.buffers[i].permute = common.permute;
    p.buffers[i].alias = common.alias;
    p.buffers[i].hosts = common.hosts;
  }
  return expectLineEnd();
}

} // namespace tilewright::program
