#!/usr/bin/env bash
# scripts/calibrate_device.sh on the stand-in driver: models and plans in, rounds of design, pack and
# measurement, calibration and evaluation out.
# Usage: calibrate_loop.sh BUILD_FOLDER
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$1" >&2
  cat "$work/log" >&2
  exit 1
}

inputs=()
for size in 64 96; do
  cat >"$work/dot$size.hlo.txt" <<HLO
HloModule dot
ENTRY e {
  a = bf16[$size,128] parameter(0)
  b = bf16[128,64] parameter(1)
  ROOT c = bf16[$size,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
HLO
  inputs+=("$work/dot$size.hlo.txt")
done
cat >"$work/copy.hlo.txt" <<HLO
HloModule copy
ENTRY e {
  x = f32[4096] parameter(0)
  ROOT y = f32[4096] negate(x)
}
HLO
"$build/bin/tilewright" explore "$work/copy.hlo.txt" --budget 50 --out "$work/copy" >"$work/log"
inputs+=("$work"/copy/plans/*/*.json)

# An H100 that the driver calls as the stand-in does.
sed 's/"driver_names": .*/"driver_names": ["Stand-in GPU"],/' datasets/devices/h100-sxm.json >"$work/stand-in.json"
# The stand-in looks kernels up in packs that it is told of.
export TILEWRIGHT_GPU_LIBRARIES=$build/fake_gpu
export TILEWRIGHT_FAKE_PACK=$work/run/round_1/pack:$work/run/round_2/pack:$work/run/round_3/pack
run() {
  BUILD=$build scripts/calibrate_device.sh --device "$work/stand-in.json" --target sm_90 --out "$work/run" \
    --instruction mma.sync --rounds 3 --design 4 --samples 5 "${inputs[@]}" >"$work/log" 2>&1
}
# Killed in the first round, and in a later one, it goes on.
if TILEWRIGHT_FAKE_FAULTS=launch:40=kill run; then fail "the first round was to be killed"; fi
[[ ! -e $work/run/calibration.json && ! -e $work/run/round_2 ]] || fail "a killed run went on"
if TILEWRIGHT_FAKE_FAULTS=launch:200=kill run; then fail "a later round was to be killed"; fi
[[ ! -e $work/run/calibration.json && -e $work/run/round_1/pack ]] || fail "a killed run went on"
run || fail "the loop failed"

# Two models of five plans and one plan of its own, four a round: all are measured once.
[[ $(find "$work/run/candidates" -name '*.json' | wc -l) -eq 11 ]] || fail "not 11 candidates"
for round in 1 2; do
  [[ $(find "$work/run/round_$round/plans" -name '*.json' | wc -l) -eq 4 ]] || fail "round $round"
done
[[ $(find "$work"/run/round_*/plans -name '*.json' -exec basename {} \; | cut -c6- | sort -u |
  wc -l) -eq 11 ]] || fail "a plan was chosen twice or never"
[[ $(grep -c '^measure.*,cold,' "$work/run/measured.csv") -eq 11 ]] || fail "not 11 cold rows"
# The first round asks each problem before any twice.
[[ $(find "$work/run/round_1/plans" -name '*m[012]_*' -exec basename {} \; | cut -c6-7 | sort -u |
  wc -l) -eq 3 ]] || fail "the first round left a problem out"
grep -q '"parameters"' "$work/run/calibration.json"
grep -q '"dot/bf16"' "$work/run/evaluation.json"
# Once more: nothing is measured or changed.
cp "$work/run/measured.csv" "$work/before.csv"
run || fail "the second run failed"
cmp "$work/before.csv" "$work/run/measured.csv"
# Bad usage says how to use it.
code=0
BUILD=$build scripts/calibrate_device.sh --out "$work/x" >/dev/null 2>"$work/log" || code=$?
[[ $code -eq 2 ]] || fail "bad usage gave code $code"
grep -q Usage "$work/log" || fail "bad usage does not say how to use it"
