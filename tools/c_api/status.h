// From calls to statuses: no exception and no llvm::Error leaves the library.
#pragma once

#include "analysis/support/diag.h"
#include "tools/c_api/objects.h"
#include "tools/c_api/tilewright.h"

#include <new>
#include <string>

namespace tilewright::capi {

/// A refusal that has no DiagClass of its own.
class CallError : public llvm::ErrorInfo<CallError> {
public:
  static char ID;
  CallError(tw_status status, std::string text) : status(status), text(std::move(text)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  const tw_status status;
  const std::string text;
};

llvm::Error badHandle(const char *kind);
/// A place for a result that is NULL.
llvm::Error noPlace(const char *name);

/// The status of an error, whose text goes to `place`, if there is one. Never throws.
tw_status refuse(llvm::Error error, tw_text *place) noexcept;
tw_status refuse(tw_status status, const char *text, tw_text *place) noexcept;

/// Runs the body of a call, which returns an llvm::Error.
template <class Body> tw_status guarded(tw_text *error, const Body &body) noexcept {
  if (error)
    *error = nullptr;
  try {
    if (llvm::Error failed = body())
      return refuse(std::move(failed), error);
    return TW_OK;
  } catch (const std::bad_alloc &) {
    return refuse(TW_NO_MEMORY, "error: out of memory", error);
  } catch (const std::exception &thrown) {
    return refuse(TW_INTERNAL, thrown.what(), error);
  } catch (...) {
    return refuse(TW_INTERNAL, "error: an exception of unknown type", error);
  }
}

/// The object of a handle. BadHandle if it is no `T`.
template <class T> llvm::Expected<std::shared_ptr<T>> objectOf(const void *handle) {
  std::shared_ptr<T> object = std::dynamic_pointer_cast<T>(Handles::all().find(handle));
  if (!object)
    return badHandle(T::kind);
  return object;
}

/// Hands a new object out as a handle of type `H`.
template <class H> void give(H *place, std::shared_ptr<Object> object) {
  *place = static_cast<H>(Handles::all().add(std::move(object)));
}
void giveText(tw_text *place, std::string text);

} // namespace tilewright::capi
