#include "analysis/sets/library_engine.h"

#include "analysis/sets/isl_translate.h"

#include <fmt/format.h>

namespace tilewright::sets {
namespace {

Answer answerOf(isl_bool result) {
  if (result == isl_bool_error)
    return {Truth::Unknown, Engine::Library, "isl's allowance is spent"};
  return {result == isl_bool_true ? Truth::Yes : Truth::No, Engine::Library, ""};
}

IslSet islSet(isl_ctx *ctx, const IndexSet &set, std::string &reason) {
  IslSet all(isl_set_empty(isl_space_set_alloc(ctx, 0, set.rank())));
  for (const Reads &reads : set.parts()) {
    IslSet part = islImage(ctx, reads, reason);
    if (!part)
      return nullptr;
    all.reset(isl_set_union(all.release(), part.release()));
  }
  if (!all)
    reason = "isl's allowance is spent";
  return all;
}

/// Asks about two sets in a context of their own.
template <typename Question>
Answer ask(const IndexSet &a, const IndexSet &b, const Options &options, Question question) {
  IslCtx ctx = makeIslCtx(options.maxOperations);
  if (!ctx)
    return {Truth::Unknown, Engine::Library, "isl gives no context"};
  Answer unknown{Truth::Unknown, Engine::Library, ""};
  IslSet left = islSet(ctx.get(), a, unknown.reason);
  if (!left)
    return unknown;
  IslSet right = islSet(ctx.get(), b, unknown.reason);
  if (!right)
    return unknown;
  return answerOf(question(left.get(), right.get()));
}

} // namespace

Answer libraryIsEmpty(const IndexSet &set, const Options &options) {
  return ask(set, IndexSet(set.rank()), options,
             [](isl_set *a, isl_set *) { return isl_set_is_empty(a); });
}

Answer libraryIsSubset(const IndexSet &a, const IndexSet &b, const Options &options) {
  return ask(a, b, options, isl_set_is_subset);
}

Answer libraryIsEqual(const IndexSet &a, const IndexSet &b, const Options &options) {
  return ask(a, b, options, isl_set_is_equal);
}

Count libraryCount(const IndexSet &set, const Options &options) {
  Count result{std::nullopt, Engine::Library, ""};
  IslCtx ctx = makeIslCtx(options.maxOperations);
  if (!ctx) {
    result.reason = "isl gives no context";
    return result;
  }
  IslSet points = islSet(ctx.get(), set, result.reason);
  if (!points)
    return result;
  if (isl_set_is_bounded(points.get()) != isl_bool_true) {
    result.reason = "the set is not bounded";
    return result;
  }
  points.reset(isl_set_make_disjoint(isl_set_compute_divs(points.release())));
  struct Visit {
    int64_t seen = 0, limit;
  } visit{0, options.maxPoints};
  isl_stat status = isl_set_foreach_point(
      points.get(),
      [](isl_point *point, void *user) {
        isl_point_free(point);
        Visit &v = *static_cast<Visit *>(user);
        return ++v.seen > v.limit ? isl_stat_error : isl_stat_ok;
      },
      &visit);
  if (visit.seen > visit.limit)
    result.reason = fmt::format("more than {} points", visit.limit);
  else if (!points || status != isl_stat_ok)
    result.reason = "isl's allowance is spent";
  else
    result.points = visit.seen;
  return result;
}

} // namespace tilewright::sets
