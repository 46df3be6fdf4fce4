#include "analysis/program/pass/quotients.h"

#include "analysis/program/infer.h"
#include "analysis/program/pass/edit.h"
#include "analysis/support/diag.h"

#include <algorithm>
#include <map>

namespace tilewright::program {

namespace {

class Quotients {
public:
  explicit Quotients(const Program &program) : p(program) {}

  llvm::Expected<Program> run() {
    Region body = std::move(p.body);
    p.body.clear();
    for (Op &op : body) {
      if (auto *map = op.as<MapOp>())
        rewrite(map->value, p[op.results[0]].tile.axes);
      else if (auto *store = op.as<StoreOp>())
        rewrite(store->value, p.axesOf(store->value));
      forEachOpOf(op, [&](const Op &one) {
        for (ValueId assigned : one.results)
          reciprocals.erase(assigned);
      });
      p.body.push_back(std::move(op));
    }
    if (!isFound)
      return makeError(DiagClass::Unsupported,
                       "{}: nothing is divided by what is the same along an axis", p.name);
    if (llvm::Error error = inferTypes(p))
      return error;
    return std::move(p);
  }

private:
  void rewrite(ScalarExpr &scalar, const AxisSet &axes) {
    for (ScalarNode &node : scalar.nodes) {
      if (node.kind != ScalarNode::Kind::Operation || node.opcode != Opcode::Divide)
        continue;
      ScalarNode &divisor = scalar.nodes[node.operands[1]];
      bool isFloat = node.type == DType::F32 && divisor.type == DType::F32 &&
                     scalar.nodes[node.operands[0]].type == DType::F32;
      if (!isFloat || divisor.kind != ScalarNode::Kind::Value || isUsedTwice(scalar, node) ||
          p[divisor.value].tile.axes.size() >= axes.size())
        continue;
      node.opcode = Opcode::Multiply;
      divisor.value = reciprocalOf(divisor);
      divisor.sources.clear(); // it is no op's element
      isFound = true;
    }
  }

  /// Does something else use the node's divisor?
  static bool isUsedTwice(const ScalarExpr &scalar, const ScalarNode &node) {
    size_t uses = 0;
    for (const ScalarNode &other : scalar.nodes)
      uses += static_cast<size_t>(
          std::count(other.operands.begin(), other.operands.end(), node.operands[1]));
    return uses > 1;
  }

  ValueId reciprocalOf(const ScalarNode &divisor) {
    auto [known, isNew] = reciprocals.try_emplace(divisor.value);
    if (!isNew)
      return known->second;
    Value value = p[divisor.value];
    value.name = freeName(p, "r");
    value.var = p.context->variable(VarKind::Runtime, value.name);
    known->second = ValueId{static_cast<uint32_t>(p.values.size())};
    MapOp map;
    ScalarNode one, quotient, leaf = divisor;
    one.number = 1;
    leaf.sources.clear();
    quotient.kind = ScalarNode::Kind::Operation;
    quotient.opcode = Opcode::Divide;
    quotient.operands = {map.value.add(one), map.value.add(leaf)};
    map.value.add(quotient);
    p.values.push_back(std::move(value));
    Op op;
    op.what = std::move(map);
    op.results = {known->second};
    p.body.push_back(std::move(op));
    return known->second;
  }

  Program p;
  std::map<ValueId, ValueId> reciprocals; ///< that hold at the op at hand
  bool isFound = false;
};

} // namespace

llvm::Expected<Program> quickQuotients(const Program &program) { return Quotients(program).run(); }

} // namespace tilewright::program
