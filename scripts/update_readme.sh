#!/usr/bin/env bash
# Runs the commands of README, the tour and the tutorials and writes what they print into them.
# Usage: scripts/update_readme.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
for document in README.md docs/tour.md docs/tutorials/[a-z]*.md; do
  tests/readme/run.sh "${1:-build/release}" "$document" --all --update
done
