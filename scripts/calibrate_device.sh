#!/usr/bin/env bash
# Calibrates the cost model on the GPU of this machine, end to end: emits packs of the plans given,
# measures them, fits and judges.
# Usage: scripts/calibrate_device.sh --device NAME --target sm_90a --out DIR PLAN…
#   NAME    a description in datasets/devices, or a JSON file
#   PLAN…   plan files, as explore --out and calibrate --design write them
# Environment: BUILD (default build/release) holds the programs; TIME_LIMIT (seconds, default 240)
# bounds the measuring. An interrupted run goes on where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release} limit=${TIME_LIMIT:-240}
device='' target=sm_90 out='' plans=()
usage() {
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
while (($#)); do
  case $1 in
  --device | --target | --out)
    (($# > 1)) || usage
    printf -v "${1#--}" '%s' "$2"
    shift 2
    ;;
  --help | -h | -*) usage ;;
  *)
    plans+=("$1")
    shift
    ;;
  esac
done
[[ $device && $out && ${#plans[@]} -gt 0 ]] || usage
mkdir -p "$out"

# A pack that is there is kept, so that a resumed run measures the same kernels.
if [[ ! -e $out/pack/manifest.json ]]; then
  "$build/bin/tilewright" emit "${plans[@]}" --target "$target" --out "$out/pack" || [[ $? -eq 1 ]]
fi
code=0
"$build/bin/tilewright-profile" "$out/pack" --out "$out/measured.csv" --time-limit "$limit" || code=$?
case $code in
0 | 1) ;; # kernels that failed have no time, the rest is fitted
*) exit "$code" ;;
esac
"$build/bin/tilewright" calibrate "$out/measured.csv" --device "$device" --out "$out/calibration.json"
"$build/bin/tilewright" evaluate "$out/measured.csv" --device "$device" \
  --calibration "$out/calibration.json" --out "$out/evaluation.json"
