// Rows of ops without a kernel of ours: what is known of their work. Internal to the folder.
#pragma once

#include "tools/explore/explore.h"

namespace tilewright {

/// The computation's name; empty: the entry's.
std::string computationName(const Module &module, GraphId id);

/// With its FLOPs and bytes where they are known without a kernel.
UnsupportedOp unsupportedRow(const Module &module, GraphId id, const OpReason &entry);

/// Priced by the bytes that it is taken to move (assumed.h); nothing where those are unknown.
std::optional<AssumedOp> assumedRow(const Module &module, GraphId id, const OpReason &entry,
                                    const Device &device, const Calibration &calibration,
                                    CacheState cache);

} // namespace tilewright
