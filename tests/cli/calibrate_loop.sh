#!/usr/bin/env bash
# scripts/calibrate_device.sh on the stand-in driver: plans in, calibration and evaluation out.
# Usage: calibrate_loop.sh BUILD_FOLDER
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

plans=()
for size in 64 96 160; do
  cat >"$work/dot$size.hlo.txt" <<HLO
HloModule dot
ENTRY e {
  a = bf16[$size,128] parameter(0)
  b = bf16[128,64] parameter(1)
  ROOT c = bf16[$size,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
HLO
  "$build/bin/tilewright" explore "$work/dot$size.hlo.txt" --instruction mma.sync --budget 50 \
    --out "$work/out$size" >"$work/log"
  plans+=("$work/out$size"/plans/*/*.json)
done

export TILEWRIGHT_GPU_LIBRARIES=$build/fake_gpu TILEWRIGHT_FAKE_PACK=$work/run/pack
run() {
  BUILD=$build scripts/calibrate_device.sh --device h100-sxm --target sm_90 --out "$work/run" \
    "${plans[@]}" >"$work/log" 2>&1
}
# Killed in the middle, it goes on.
if TILEWRIGHT_FAKE_FAULTS=launch:40=kill run; then
  echo "the run was to be killed" >&2
  exit 1
fi
[[ ! -e $work/run/calibration.json ]]
run || { cat "$work/log" >&2; exit 1; }
[[ $(grep -c '^measure' "$work/run/measured.csv") -eq 6 ]]
grep -q '"tilewright.calibration"\|"parameters"' "$work/run/calibration.json"
grep -q '"dot/bf16"' "$work/run/evaluation.json"
# Bad usage says how to use it.
code=0
BUILD=$build scripts/calibrate_device.sh --out "$work/x" >/dev/null 2>"$work/log" || code=$?
[[ $code -eq 2 ]] && grep -q Usage "$work/log"
