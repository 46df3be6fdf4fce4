#!/usr/bin/env bash
# From nothing to a report: installs what is missing, builds, explores a bundled model for an
# H100 and leaves an HTML report. No GPU and no CUDA are needed.
# Usage: scripts/quickstart.sh [MODEL.hlo.txt] [OUT_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

model=${1:-datasets/models/gpt2_block.hlo.txt}
out=${2:-out/quickstart}
scripts/build.sh release tilewright
build/release/bin/tilewright explore "$model" --device h100-sxm --out "$out" --top 5
build/release/bin/tilewright report "$out" --out "$out/report.html"
echo "Report: $out/report.html"
