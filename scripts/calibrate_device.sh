#!/usr/bin/env bash
# Calibrates the cost model on the GPU of this machine, end to end. Each round chooses the plans
# whose times would teach the model most, given what is measured, emits a pack of them and measures
# it; then the model is fitted to all rounds and judged.
# Usage: scripts/calibrate_device.sh --device NAME --target sm_90 --out DIR MODEL|PLAN…
#   NAME    a description in datasets/devices, or a JSON file
#   MODEL   HLO whose kernels are sampled for plans (explore --samples)
#   PLAN    plan files (.json) to choose from, as explore --out writes them
#   --rounds N   default 2;  --design N  plans a round, default 96;  --samples N  plans to choose
#                from for each kernel of a MODEL, default 48;  --instruction I  as for explore
#   --micro      also measures the micro-benchmarks, into DIR/micro.csv
# Environment: BUILD (default build/release) holds the programs; TIME_LIMIT (seconds, default 240)
# bounds the measuring of all rounds together.
# Interrupted, the same command goes on where it stopped: what is in DIR is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release} limit=${TIME_LIMIT:-240}
device='' target=sm_90 out='' rounds=2 design=96 samples=48 instruction=auto micro=no inputs=()
usage() {
  sed -n '2,17s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
while (($#)); do
  case $1 in
  --device | --target | --out | --rounds | --design | --samples | --instruction)
    (($# > 1)) || usage
    printf -v "${1#--}" '%s' "$2"
    shift 2
    ;;
  --micro)
    micro=yes
    shift
    ;;
  --help | -h | -*) usage ;;
  *)
    inputs+=("$1")
    shift
    ;;
  esac
done
[[ $device && $out && ${#inputs[@]} -gt 0 && $rounds$design$samples =~ ^[0-9]+$ ]] || usage
mkdir -p "$out"

# --- candidates -------------------------------------------------------------------------------------
# A folder is made under another name and renamed, so that one that is there is whole.
if [[ ! -e $out/candidates ]]; then
  rm -rf "$out/candidates.part" "$out/explored"
  mkdir -p "$out/candidates.part"
  number=0
  for input in "${inputs[@]}"; do
    files=("$input")
    if [[ $input != *.json ]]; then
      "$build/bin/tilewright" explore "$input" --device "$device" --instruction "$instruction" \
        --cache flushed --samples "$samples" --target "$target" --out "$out/explored/$number" \
        >"$out/explore.log"
      mapfile -t files < <(find "$out/explored/$number/samples" -name '*.json' | sort)
    fi
    for file in "${files[@]}"; do
      # Kernels of two models may share a name.
      sed "0,/\"name\": \"/s//\"name\": \"m${number}_/" "$file" \
        >"$out/candidates.part/m${number}_$(basename "$file")"
    done
    number=$((number + 1))
  done
  mv "$out/candidates.part" "$out/candidates"
fi

# --- rounds -----------------------------------------------------------------------------------------
started=$SECONDS
measure() { # PACK FILE [OPTION…]
  local code=0 left=$((limit - SECONDS + started))
  ((left > 0)) || left=1
  "$build/bin/tilewright-profile" "$1" --out "$2" --time-limit "$left" "${@:3}" || code=$?
  ((code <= 1)) || exit "$code" # 1: kernels that failed have no time, the rest is fitted
}
emit() { # PACK PLAN… or PACK --microbenchmarks
  [[ -e $1/manifest.json ]] ||
    "$build/bin/tilewright" emit "${@:2}" --target "$target" --out "$1" || [[ $? -eq 1 ]]
}
if [[ $micro = yes ]]; then
  emit "$out/micro" --microbenchmarks
  measure "$out/micro" "$out/micro.csv" --regimes cold,warm,graph
fi
for ((round = 1; round <= rounds; ++round)); do
  here=$out/round_$round
  if [[ ! -e $here/plans ]]; then
    rm -rf "$here"
    # What an earlier round chose is no candidate any more, whether or not it could be measured.
    left=()
    for file in "$out/candidates"/*.json; do
      taken=("$out"/round_*/plans/[0-9][0-9][0-9][0-9]_"$(basename "$file")")
      [[ -e ${taken[0]} ]] || left+=("$file")
    done
    ((${#left[@]} > 0)) || break
    known=()
    [[ ! -e $out/measured.csv ]] || known=("$out/measured.csv")
    code=0
    "$build/bin/tilewright" calibrate "${left[@]}" "${known[@]}" --device "$device" \
      --design "$design" --plans "$here/plans.part" >"$out/design.log" || code=$?
    ((code <= 1)) || exit "$code"
    [[ $code -eq 0 ]] || break # nothing left to choose
    mv "$here/plans.part" "$here/plans"
  fi
  emit "$here/pack" "$here/plans"/*.json
  measure "$here/pack" "$out/measured.csv"
done

# --- fit --------------------------------------------------------------------------------------------
"$build/bin/tilewright" calibrate "$out/measured.csv" --device "$device" --out "$out/calibration.json"
"$build/bin/tilewright" evaluate "$out/measured.csv" --device "$device" \
  --calibration "$out/calibration.json" --out "$out/evaluation.json"
