// Ops that move values between devices, or to and from the host.
#include "analysis/import/hlo_attribute_checks.h"
#include "analysis/import/stablehlo/lowering.h"
#include "analysis/ir/quotes.h"
#include "analysis/support/printable.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <set>

namespace tilewright::stablehlo {

namespace {

/// `dense<[[0, 1], [2, 3]]>`, where shorter groups end in -1.
bool setGroups(Lowering &l, Op &op) {
  Integers groups;
  if (!l.nested("replica_groups", groups))
    return false;
  std::vector<std::string> rows;
  std::set<int64_t> seen;
  int64_t largest = 0;
  const size_t columns = groups.columns;
  for (size_t r = 0; r < groups.rows && columns > 0; ++r) {
    std::vector<int64_t> row(groups.values.begin() + static_cast<ptrdiff_t>(r * columns),
                             groups.values.begin() + static_cast<ptrdiff_t>((r + 1) * columns));
    while (!row.empty() && row.back() == -1)
      row.pop_back();
    for (int64_t replica : row)
      if (replica < 0 || !seen.insert(replica).second)
        return l.fail(
            fmt::format("replica {} is {}", replica, replica < 0 ? "negative" : "in two groups"));
    if (row.empty())
      return l.fail("a group without replicas");
    if (largest > 0 && needsEqualGroups(op.opcode) && static_cast<int64_t>(row.size()) != largest)
      return l.fail(unequalGroups(row.size(), static_cast<size_t>(largest)));
    largest = std::max(largest, static_cast<int64_t>(row.size()));
    rows.push_back(fmt::format("{{{}}}", fmt::join(row, ",")));
  }
  if (columns == 0 && !groups.values.empty())
    return l.fail("replica_groups must be a list of groups");
  if (!rows.empty()) {
    op.attrs.replicaGroups = {static_cast<int64_t>(rows.size()), largest};
    addRaw(op, "replica_groups", fmt::format("{{{}}}", fmt::join(rows, ",")));
  }
  return true;
}

/// The channel, and whether groups list devices.
bool setChannel(Lowering &l, Op &op) {
  Attributes channel;
  int64_t handle = 0;
  bool isGlobal = false;
  if (!l.structure("channel_handle", channel) || !l.integerIn(channel, "handle", handle) ||
      !l.integer("channel_id", handle) || !l.flag("use_global_device_ids", isGlobal))
    return false;
  if (handle > 0)
    addRaw(op, "channel_id", std::to_string(handle));
  if (isGlobal)
    addRaw(op, "use_global_device_ids", "true");
  return true;
}

} // namespace

bool lowerReplicaId(Lowering &l) { return l.hasOperands(0) && lowerDirect(l); }

bool lowerAllReduce(Lowering &l) {
  Op op = l.make(Opcode::AllReduce);
  GraphId reducer;
  if (!l.hasRegions(1) || !setGroups(l, op) || !setChannel(l, op) || !l.reducer(0, reducer))
    return false;
  op.called.push_back({CallRole::ToApply, reducer});
  return l.finish(std::move(op));
}

bool lowerAllGather(Lowering &l) {
  Op op = l.make(Opcode::AllGather);
  int64_t dim = 0;
  if (!l.need("all_gather_dim") || !l.integer("all_gather_dim", dim) || !setGroups(l, op) ||
      !setChannel(l, op))
    return false;
  op.attrs.dimensions = {dim};
  return l.finish(std::move(op));
}

bool lowerReduceScatter(Lowering &l) {
  Op op = l.make(Opcode::ReduceScatter);
  int64_t dim = 0;
  GraphId reducer;
  if (!l.hasRegions(1) || !l.need("scatter_dimension") || !l.integer("scatter_dimension", dim) ||
      !setGroups(l, op) || !setChannel(l, op) || !l.reducer(0, reducer))
    return false;
  op.attrs.dimensions = {dim};
  op.called.push_back({CallRole::ToApply, reducer});
  return l.finish(std::move(op));
}

/// HLO splits and joins along one dim. Where they differ, the parts that came along the dim of the
/// split are moved to that of the join.
bool lowerAllToAll(Lowering &l) {
  int64_t split = 0, join = 0, count = 0;
  Op op = l.make(Opcode::AllToAll);
  if (!l.need("split_dimension") || !l.integer("split_dimension", split) ||
      !l.need("concat_dimension") || !l.integer("concat_dimension", join) ||
      !l.need("split_count") || !l.integer("split_count", count) || !setGroups(l, op) ||
      !setChannel(l, op))
    return false;
  op.attrs.dimensions = {split};
  if (split == join)
    return l.finish(std::move(op));
  if (!l.hasOperands(1) || !l.hasResults(1))
    return false;
  const Shape in = l.operand(0);
  const auto rank = static_cast<int64_t>(in.rank());
  if (split < 0 || split >= rank || join < 0 || join >= rank || count < 1 || in.isDynamic() ||
      in.dims[static_cast<size_t>(split)] % count != 0)
    return l.fail(fmt::format("{} can't be split in {} along dim {} and joined along dim {}",
                              briefText(in), count, split, join));
  op.shape = in;
  const OpId exchanged = l.scope.add(std::move(op), l.text.base + ".exchanged");
  Shape parts = in;
  parts.dims[static_cast<size_t>(split)] /= count;
  parts.dims.insert(parts.dims.begin() + split, count);
  const OpId apart = l.add(Opcode::Reshape, parts, {exchanged});
  std::vector<int64_t> order;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim == join)
      order.push_back(split);
    order.push_back(dim < split ? dim : dim + 1);
  }
  Shape moved = parts;
  for (size_t i = 0; i < order.size(); ++i)
    moved.dims[i] = parts.dims[static_cast<size_t>(order[i])];
  OpAttributes attrs;
  attrs.dimensions = order;
  const OpId transposed = l.add(Opcode::Transpose, moved, {apart}, std::move(attrs));
  Op joined = l.make(Opcode::Reshape);
  joined.operands = {transposed};
  return l.finish(std::move(joined));
}

bool lowerPermute(Lowering &l) {
  Op op = l.make(Opcode::CollectivePermute);
  Integers pairs;
  if (!l.need("source_target_pairs") || !l.nested("source_target_pairs", pairs) ||
      !setChannel(l, op))
    return false;
  if (!pairs.values.empty() && pairs.columns != 2)
    return l.fail("source_target_pairs must be a list of pairs");
  std::vector<std::string> texts;
  std::set<int64_t> sources, targets;
  for (size_t i = 0; i + 1 < pairs.values.size(); i += 2) {
    if (pairs.values[i] < 0 || pairs.values[i + 1] < 0 || !sources.insert(pairs.values[i]).second ||
        !targets.insert(pairs.values[i + 1]).second)
      return l.fail(
          fmt::format("pair {}: replicas from 0 on send once and receive once at most", i / 2));
    texts.push_back(fmt::format("{{{},{}}}", pairs.values[i], pairs.values[i + 1]));
  }
  addRaw(op, "source_target_pairs", fmt::format("{{{}}}", fmt::join(texts, ",")));
  return l.finish(std::move(op));
}

bool lowerCollectiveBroadcast(Lowering &l) {
  Op op = l.make(Opcode::CollectiveBroadcast);
  return setGroups(l, op) && setChannel(l, op) && l.finish(std::move(op));
}

namespace {

/// The values that a transfer moves: one, or a tuple of them.
Shape dataShape(std::vector<Shape> parts) {
  return parts.size() == 1 ? parts[0] : Shape::tuple(std::move(parts));
}

/// All results but the token at the end, from element 0 of `pair`; the token is `token`.
bool finishReceived(Lowering &l, OpId pair, OpId token) {
  const size_t count = l.text.types.size() - 1;
  const OpId data = l.scope.element(pair, 0, l.loc());
  std::vector<OpId> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(count == 1 ? data : l.scope.element(data, i, l.loc()));
  values.push_back(token);
  return l.finish(std::move(values));
}

std::vector<Shape> receivedShapes(const Lowering &l) {
  std::vector<Shape> parts;
  for (size_t i = 0; i + 1 < l.text.types.size(); ++i)
    parts.push_back(l.result(i));
  return parts;
}

bool endsInToken(Lowering &l, const Shape &shape) {
  return shape.dtype == DType::Token ||
         l.fail(fmt::format("the last one must be a token, not {}", briefText(shape)));
}

OpId sentData(Lowering &l) {
  std::vector<OpId> data(l.text.operands.begin(), l.text.operands.end() - 1);
  return data.size() == 1 ? data[0] : l.tuple(std::move(data), "data");
}

} // namespace

bool lowerInfeed(Lowering &l) {
  std::string config;
  if (l.text.types.empty() || !endsInToken(l, l.text.types.back().shape))
    return l.text.types.empty() ? l.hasResults(1) : false;
  if (!l.string("infeed_config", config))
    return false;
  l.ignore("layout");
  Op op = l.make(Opcode::Infeed);
  op.shape = Shape::tuple({dataShape(receivedShapes(l)), l.text.types.back().shape});
  if (!config.empty())
    addRaw(op, "infeed_config", inQuotes(config));
  const OpId pair = l.scope.add(std::move(op), l.text.base);
  return finishReceived(l, pair, l.scope.element(pair, 1, l.loc()));
}

bool lowerOutfeed(Lowering &l) {
  std::string config;
  if (l.text.operands.empty() || !endsInToken(l, l.operand(l.text.operands.size() - 1)))
    return l.text.operands.empty() ? l.hasOperands(2) : false;
  if (!l.string("outfeed_config", config))
    return false;
  Op op = l.make(Opcode::Outfeed);
  const OpId data = sentData(l);
  op.operands = {data, l.text.operands.back()};
  addRaw(op, "outfeed_shape", l.scope.graph.op(data).shape.str());
  if (!config.empty())
    addRaw(op, "outfeed_config", inQuotes(config));
  return l.finish(std::move(op));
}

bool lowerSend(Lowering &l) {
  bool isHost = false;
  if (l.text.operands.empty() || !endsInToken(l, l.operand(l.text.operands.size() - 1)))
    return l.text.operands.empty() ? l.hasOperands(2) : false;
  Op send = l.make(Opcode::Send);
  const OpId data = sentData(l);
  send.operands = {data, l.text.operands.back()};
  send.shape = Shape::tuple({l.scope.graph.op(data).shape, Shape::tensor(DType::U32, {}),
                             Shape::tensor(DType::Token, {})});
  l.ignore("source_target_pairs");
  if (!setChannel(l, send) || !l.flag("is_host_transfer", isHost))
    return false;
  if (isHost)
    addRaw(send, "is_host_transfer", "true");
  Op done = l.make(Opcode::SendDone);
  done.rawAttrs = send.rawAttrs;
  done.operands = {l.scope.add(std::move(send), l.text.base + ".start")};
  return l.finish(std::move(done));
}

bool lowerRecv(Lowering &l) {
  bool isHost = false;
  if (l.text.types.empty() || !endsInToken(l, l.text.types.back().shape))
    return l.text.types.empty() ? l.hasResults(2) : false;
  const Shape data = dataShape(receivedShapes(l)), token = Shape::tensor(DType::Token, {});
  Op recv = l.make(Opcode::Recv);
  recv.shape = Shape::tuple({data, Shape::tensor(DType::U32, {}), token});
  l.ignore("source_target_pairs");
  if (!setChannel(l, recv) || !l.flag("is_host_transfer", isHost))
    return false;
  if (isHost)
    addRaw(recv, "is_host_transfer", "true");
  Op done = l.make(Opcode::RecvDone);
  done.shape = Shape::tuple({data, token});
  done.rawAttrs = recv.rawAttrs;
  done.operands = {l.scope.add(std::move(recv), l.text.base + ".start")};
  const OpId pair = l.scope.add(std::move(done), l.text.base);
  return finishReceived(l, pair, l.scope.element(pair, 1, l.loc()));
}

} // namespace tilewright::stablehlo
