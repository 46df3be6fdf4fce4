#!/usr/bin/env bash
# Fits the constants of the register estimates anew to the bundled measurements (what ptxas took of each
# kernel stands in their column `regs`): analysis/tiling/register_costs.def to kernels of our own,
# costmodel/triton_registers.def to Triton's. A fit that does not converge is not written. Build again
# afterwards; prices change, and with them calibrations (scripts/update_calibration.sh).
# Usage: scripts/fit_registers.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
TILEWRIGHT_UPDATE_REGISTERS=1 "${1:-build/release}/bin/costmodel_model_test" \
  --gtest_filter='RegisterFit.Of*' --gtest_brief=1
