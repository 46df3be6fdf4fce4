// What an audit says: gains above what the predictions leave open. Internal to the folder.
#pragma once

#include "tools/audit/audit.h"

namespace tilewright {

/// `launches`: of the audited kernels, in the same order.
void addFindings(Audit &audit, const Module &module, const std::vector<const Launch *> &launches,
                 const Parameters &parameters);

} // namespace tilewright
