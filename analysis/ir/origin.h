// Where ops come from, in their framework's names and in its source.
//
// XLA keeps it in the attribute `metadata`: `{op_name="jit(f)/layer_0/attn/dot_general"
// source_file="model.py" source_line=12}`, or a `stack_frame_id` in place of the source, which the
// tables in front of the module resolve. The text is the only copy; it is read when it is asked
// for.
#pragma once

#include "analysis/ir/graph.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright {

/// Fields that the file doesn't give are empty, or 0.
struct OpOrigin {
  std::string
      name; ///< scopes and the primitive, outermost first: "jit(f)/layer_0/attn/dot_general"
  std::string file; ///< of the source
  int64_t line = 0;
  bool operator==(const OpOrigin &) const = default;
};

/// Answers for the ops of one module, which must outlive it.
class OpOrigins {
public:
  explicit OpOrigins(const Module &module);
  OpOrigin of(const Op &op) const;

private:
  struct Place {
    std::string_view file;
    int64_t line = 0;
  };
  std::unordered_map<int64_t, Place> frames; ///< innermost line of each stack frame, by its number
};

/// The parts of a name between its '/', those in brackets apart: "jvp(a/b)/c" has two.
std::vector<std::string_view> nameParts(std::string_view name);

/// Gives an op the name that it has where its computation is inlined into `call`: behind the call's
/// name, unless it begins as that one does already. An op without a name takes the call's origin.
void setOriginWithin(const Op &call, Op &op);

} // namespace tilewright
