#!/usr/bin/env bash
# Installs what is missing, builds and runs the tests. No GPU and no CUDA are needed.
# Usage: scripts/test.sh [CTEST ARGUMENTS…]       for example: scripts/test.sh -L golden
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/build.sh release
ctest --test-dir build/release --output-on-failure -j "$(nproc)" -LE soak "$@"
