#!/usr/bin/env bash
# Installs what is missing and builds a preset. A second run only rebuilds what changed.
# Usage: scripts/build.sh [PRESET] [TARGET…]      PRESET: release (default), debug, asan
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
scripts/bootstrap.sh
[[ -f build/$preset/build.ninja ]] || cmake --preset "$preset" >/dev/null
targets=()
[[ $# -eq 0 ]] || targets=(--target "$@")
cmake --build "build/$preset" "${targets[@]}"
