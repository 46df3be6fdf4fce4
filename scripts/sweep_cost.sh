#!/usr/bin/env bash
# What a pair of model and device costs in a sweep: CPU time without the cache, with an empty one and with a
# full one, and bytes of results and of the cache. The numbers of docs/scale.md.
# Usage: scripts/sweep_cost.sh [BUILD_FOLDER] [MODEL...]     default: build/release, the bundled models; minutes
set -euo pipefail
cd "$(dirname "$0")/.."

program=${1:-build/release}/bin/tilewright
shift || true
models=("$@")
((${#models[@]} > 0)) || models=(datasets/models/*.hlo.txt)
devices=h100,b200
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pairs=$((2 * ${#models[@]}))

# Runs explore and prints the CPU time of a pair.
measure() {
  local what=$1 before after
  shift
  before=$(cpu)
  "$program" explore "${models[@]}" --device $devices "$@" --quiet >/dev/null
  after=$(cpu)
  awk -v what="$what" -v ms=$((after - before)) -v pairs=$pairs \
    'BEGIN { printf "%-28s %7.2f s CPU a pair\n", what, ms / 1000 / pairs }'
}
# Of this shell's processes that ended, user and system, in ms.
cpu() { awk -v tick="$(getconf CLK_TCK)" '{ printf "%.0f", 1000 * ($16 + $17) / tick }' /proc/$$/stat; }
bytes() { du -sb "$1" | cut -f 1; }

echo "${#models[@]} models on $devices: $pairs pairs"
export TILEWRIGHT_CACHE=off
measure "without the cache"
export TILEWRIGHT_CACHE=$work/cache
measure "with an empty cache"
measure "with a full cache"
measure "with a full cache, --out" --out "$work/out"
measure "again, with --resume" --out "$work/out" --resume
entries=$("$program" cache --json | sed -n 's/.*"entries": \([0-9]*\).*/\1/p')
echo "results: $(($(bytes "$work/out") / pairs / 1024)) KiB a pair; cache: $entries searches, $(($(bytes "$work/cache") / entries)) B each"
