#!/usr/bin/env bash
# Runs README's commands and writes what they print into it. Usage: scripts/update_readme.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
tests/readme/run.sh "${1:-build/release}" README.md --all --update
