// isl's objects as values that free themselves. Only for the files that include isl anyway.
//
// isl consumes the arguments that it marks __isl_take: hand those over with release(). An operation
// that fails gives null, and null arguments give null again, so that a chain is checked at its end.
#pragma once

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>
#include <memory>

namespace tilewright::sets {

template <auto Free> struct IslFree {
  template <typename T> void operator()(T *object) const { Free(object); }
};
using IslCtx = std::unique_ptr<isl_ctx, IslFree<isl_ctx_free>>;
using IslSpace = std::unique_ptr<isl_space, IslFree<isl_space_free>>;
using IslSet = std::unique_ptr<isl_set, IslFree<isl_set_free>>;
using IslMap = std::unique_ptr<isl_map, IslFree<isl_map_free>>;
using IslPwAff = std::unique_ptr<isl_pw_aff, IslFree<isl_pw_aff_free>>;
using IslMultiPwAff = std::unique_ptr<isl_multi_pw_aff, IslFree<isl_multi_pw_aff_free>>;
using IslVal = std::unique_ptr<isl_val, IslFree<isl_val_free>>;

/// A context that reports errors by null results instead of printing or aborting, and stops after
/// `maxOperations` (0: never).
inline IslCtx makeIslCtx(unsigned long maxOperations) {
  IslCtx ctx(isl_ctx_alloc());
  if (ctx) {
    isl_options_set_on_error(ctx.get(), ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx.get(), maxOperations);
  }
  return ctx;
}

} // namespace tilewright::sets
