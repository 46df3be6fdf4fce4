// Measurement files that name no card.
#pragma once

#include "costmodel/measurements.h"

namespace tilewright {

/// The text of a measurement file with boardOf() the UUIDs in a column `board` where a column
/// `uuid` was, and the checks of rows made anew; a file without that column as it is. BadInput,
/// located: a row whose check does not fit, which would hide that it was changed.
llvm::Expected<std::string> withoutUuids(const Table &table);

} // namespace tilewright
