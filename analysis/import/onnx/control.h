// Graphs within nodes: branches and the bodies of loops.
#pragma once

#include "analysis/import/onnx/reader.h"

namespace tilewright::onnx_format {

/// The names that a graph within a node sees, whose ops go to `scope`.
Env within(Node &n, Scope &scope, std::string prefix);

/// Its nodes; `out` are its results.
bool readGraph(Node &n, const ::onnx::GraphProto &graph, Env &env, std::vector<Value> &out);

/// Values as ops of their scope.
bool opsOf(Node &n, Env &env, std::vector<Value> &values, std::vector<OpId> &out);

/// A condition as a scalar.
bool truthOf(Node &n, size_t i, OpId &out);

} // namespace tilewright::onnx_format
