#include "tools/c_api/status.h"

#include "llvm/Support/raw_ostream.h"

namespace tilewright::capi {

char CallError::ID = 0;

void CallError::log(llvm::raw_ostream &os) const { os << text; }
std::error_code CallError::convertToErrorCode() const { return llvm::inconvertibleErrorCode(); }

llvm::Error badHandle(const char *kind) {
  return llvm::make_error<CallError>(
      TW_BAD_HANDLE,
      fmt::format("error: the handle is no {} that is open: it is null, was freed, or names "
                  "something else",
                  kind));
}

llvm::Error noPlace(const char *name) {
  return makeError(DiagClass::BadInput, "'{}' is NULL, and is needed", name);
}

namespace {

tw_status statusOf(DiagClass cls) {
  switch (cls) {
  case DiagClass::BadInput:
    return TW_BAD_INPUT;
  case DiagClass::Unsupported:
    return TW_UNSUPPORTED;
  case DiagClass::BudgetSpent:
    return TW_BUDGET;
  case DiagClass::Internal:
    return TW_INTERNAL;
  }
  return TW_INTERNAL;
}

} // namespace

tw_status refuse(tw_status status, const char *text, tw_text *place) noexcept {
  try {
    giveText(place, text);
  } catch (...) { // then without a text
  }
  return status;
}

tw_status refuse(llvm::Error error, tw_text *place) noexcept {
  tw_status status = TW_INTERNAL;
  try {
    std::string text;
    llvm::Error other = llvm::handleErrors(std::move(error), [&](const CallError &call) {
      status = call.status;
      text = call.text;
    });
    if (other) {
      const Diag diag = takeDiag(std::move(other));
      status = statusOf(diag.cls);
      text = diag.str();
    }
    while (text.ends_with('\n'))
      text.pop_back();
    giveText(place, std::move(text));
  } catch (...) { // no memory for the text
  }
  return status;
}

void giveText(tw_text *place, std::string text) {
  if (!place)
    return;
  auto object = std::make_shared<Text>();
  object->bytes = std::move(text);
  give(place, std::move(object));
}

} // namespace tilewright::capi
