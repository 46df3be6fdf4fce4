#!/usr/bin/env bash
# Fits datasets/calibrations/h100-sxm.json anew to the bundled measurements: the parameters to Triton's
# kernels, the spreads to those of our own code generation. A minute on one core.
# Usage: scripts/update_calibration.sh [--spreads-only] [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
only=no
if [[ ${1:-} = --spreads-only ]]; then
  only=yes
  shift
fi
tilewright=${1:-build/release}/bin/tilewright
folder=datasets/measurements/h100-sxm
out=datasets/calibrations/h100-sxm.json
own=("$folder"/tilewright-1/{check,models,sweep}.csv.gz "$folder"/tilewright-2/attention.csv.gz)
fitted=("$folder"/{gemm,gemm_variants,memory,attention}.csv.gz)
if [[ $only = yes ]]; then
  "$tilewright" calibrate --calibration "$out" --spreads "${own[@]}" --out "$out"
else
  "$tilewright" calibrate "${fitted[@]}" --spreads "${own[@]}" --out "$out"
fi
