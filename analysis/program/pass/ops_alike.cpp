#include "analysis/program/pass/ops_alike.h"

#include <algorithm>

namespace tilewright::program {

bool areAlike(const Buffer &a, const Buffer &b) {
  return a.type == b.type && a.order == b.order && a.stages == b.stages && a.isRing == b.isRing &&
         a.padElements == b.padElements && a.swizzle == b.swizzle && a.alias == b.alias &&
         a.hosts == b.hosts;
}

bool areAlike(const Program &p, const Op &a, const Op &b, std::map<ValueId, ValueId> &values,
              std::map<BufferId, BufferId> &others, bool areScalarsEqual) {
  if (a.what.index() != b.what.index() || a.results.size() != b.results.size())
    return false;
  if (const auto *x = a.as<CopyOp>()) {
    const auto *y = b.as<CopyOp>();
    bool isSame = x->from == y->from && x->conditions == y->conditions && x->way == y->way &&
                  areAlike(p[x->buffer], p[y->buffer]);
    if (isSame)
      others[y->buffer] = x->buffer;
    return isSame;
  }
  for (size_t i = 0; i < a.results.size(); ++i)
    values[b.results[i]] = a.results[i];
  if (const auto *x = a.as<ForOp>()) {
    const auto *y = b.as<ForOp>();
    bool isSame = x->var == y->var && x->trips == y->trips && x->issueAt == y->issueAt &&
                  x->body.size() == y->body.size() && x->issue.size() == y->issue.size();
    for (size_t i = 0; isSame && i < x->issue.size(); ++i)
      isSame = areAlike(p, x->issue[i], y->issue[i], values, others);
    for (size_t i = 0; isSame && i < x->body.size(); ++i)
      isSame = areAlike(p, x->body[i], y->body[i], values, others);
    return isSame;
  }
  Op same = b;
  replaceReads(same, values, others);
  auto scalarsAlike = [&] {
    std::vector<const ScalarExpr *> x = scalarsOf(a), y = scalarsOf(same);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const ScalarExpr *s, const ScalarExpr *t) { return *s == *t; });
  };
  if (!areScalarsEqual && !scalarsAlike())
    return false;
  if (const auto *x = a.as<LoadOp>()) {
    const auto *y = same.as<LoadOp>();
    return x->from == y->from && x->conditions == y->conditions && x->otherwise == y->otherwise &&
           x->layout == y->layout;
  }
  if (const auto *x = a.as<ReadOp>()) {
    const auto *y = same.as<ReadOp>();
    return x->buffer == y->buffer && x->step == y->step && x->axes == y->axes &&
           x->layout == y->layout;
  }
  if (const auto *x = a.as<FullOp>()) {
    const auto *y = same.as<FullOp>();
    return x->number == y->number && x->type == y->type && x->axes == y->axes &&
           x->layout == y->layout;
  }
  if (const auto *x = a.as<DotOp>()) {
    const auto *y = same.as<DotOp>();
    return x->over == y->over && x->way == y->way && x->isAdded == y->isAdded &&
           x->wait == y->wait && x->layout == y->layout;
  }
  if (const auto *x = a.as<ReduceOp>()) {
    const auto *y = same.as<ReduceOp>();
    return x->monoid == y->monoid && x->over == y->over;
  }
  if (const auto *x = a.as<MapOp>())
    return x->layout == same.as<MapOp>()->layout;
  return false;
}

} // namespace tilewright::program
