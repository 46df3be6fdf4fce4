#!/usr/bin/env bash
# Writes docs/ops.md anew. Usage: scripts/update_docs.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
TILEWRIGHT_UPDATE_DOCS=1 "${1:-build/release}/bin/op_table_test"
