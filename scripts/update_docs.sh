#!/usr/bin/env bash
# Writes docs/ops.md, docs/attributes.md, docs/stablehlo.md and docs/onnx.md anew. Usage: scripts/update_docs.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
TILEWRIGHT_UPDATE_DOCS=1 "$build/bin/op_table_test"
TILEWRIGHT_UPDATE_DOCS=1 "$build/bin/attribute_table_test" --gtest_filter=AttributeTable.IsDocumented
TILEWRIGHT_UPDATE_DOCS=1 "$build/bin/stablehlo_ops_test" --gtest_filter=StableHloOps.AreDocumented
TILEWRIGHT_UPDATE_DOCS=1 "$build/bin/onnx_ops_test" --gtest_filter=OnnxOps.AreDocumented
