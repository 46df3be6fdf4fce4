// The JSON documents of the C interface: those of the command line.
#pragma once

#include "tools/c_api/objects.h"

#include "llvm/Support/Error.h"

namespace tilewright::capi {

/// "devices", "calibrations", "families". BadInput for another word, and for files that can't be
/// read.
llvm::Expected<std::string> listDocument(const Session &session, std::string_view what);
std::string deviceDocument(const DeviceOfSession &device);

/// "warm", "clean", "flushed"; null is warm.
llvm::Expected<CacheState> cacheOf(const char *text);

} // namespace tilewright::capi
