// The computation that is being read: its ops, the values that names stand for, and the values of
// enclosing regions that it uses.
//
// MLIR's regions use values of what encloses them; HLO's computations have parameters only. A
// constant is copied into the region. Other values are captured: a branch takes a tuple of them, a
// loop carries them along behind its own values. Reducers take scalars and can capture nothing.
#pragma once

#include "analysis/import/hlo_lexer.h"
#include "analysis/ir/graph.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright {

enum class RegionKind : uint8_t {
  Function, ///< parameters; nothing to capture
  Scalars,  ///< parameters, as of a reducer; nothing is captured
  State,    ///< a loop's body or condition: one tuple
  Branch,   ///< of a conditional: one tuple of what it captures
};

/// Outer values that the regions of one op use, in the order in which they became fields.
struct Captures {
  std::vector<OpId> outer;
  std::unordered_map<uint32_t, size_t> fields;
};

/// A call whose function is looked up at the end.
struct PendingCall {
  OpId op;
  CallRole role;
  std::string function;
  uint32_t offset;
};

/// An op whose `loc(#name)` is looked up at the end.
struct PendingLocation {
  OpId op;
  std::string_view text; ///< between the parentheses of loc(…)
};

/// Limits that hold for the whole file.
struct Totals {
  size_t ops = 0, shapeNodes = 0;
};

class Scope {
public:
  Scope(std::string name, Scope *outer, RegionKind kind, Captures *captures, Totals &totals)
      : graph(std::move(name)), outer(outer), kind(kind), captures(captures), totals(totals) {}

  /// Adds an op; its name is `base` with what HLO's names can't have replaced, and a number behind
  /// it if it is taken. Counts towards hlo_limits; see isOverLimit().
  OpId add(Op op, std::string_view base);
  bool isOverLimit() const {
    return totals.ops > hlo_limits::ops || totals.shapeNodes > hlo_limits::shapeNodes;
  }

  /// Element `index` of a tuple, as an op.
  OpId element(OpId tuple, size_t index, SourceLoc loc);

  OpId tuple(const std::vector<OpId> &elements, std::string_view base, SourceLoc loc);
  /// The root of a computation that returns these: a tuple unless there is exactly one.
  OpId rootOf(const std::vector<OpId> &results, SourceLoc loc);

  /// What `%name` or `%name#index` stands for.
  struct Found {
    enum { Value, Unknown, NoSuchResult, NotCapturable } status = Unknown;
    OpId op;
    size_t results = 0; ///< NoSuchResult: how many there are
  };
  Found find(std::string_view name, size_t index, SourceLoc loc);

  /// A value of the enclosing scope, here.
  Found capture(OpId op, SourceLoc loc);

  /// Names the results of an op: one value each, or the elements of a tuple. False if the name is
  /// taken.
  bool bind(std::string_view name, std::vector<OpId> values);
  bool bindTuple(std::string_view name, OpId tuple, size_t first, size_t count);

  /// For State and Branch: the one parameter is `state`, its first elements are the region's own.
  /// Once all regions of the op are read, the caller gives it the type of all fields.
  void startState(std::vector<Shape> own, SourceLoc loc);
  /// A captured field of the state.
  OpId stateField(size_t field, const Shape &shape, SourceLoc loc);

  Graph graph;
  Scope *outer;
  RegionKind kind;
  Captures *captures;
  Totals &totals;
  OpId state;
  std::vector<PendingCall> calls;
  std::vector<PendingLocation> locations;

private:
  struct Binding {
    std::vector<OpId> values; ///< invalid ones are made when they are asked for
    OpId tuple;
    size_t first = 0;
  };
  bool isCopied(OpId op) const;
  OpId copyOf(const Scope &from, OpId op);

  size_t ownFields = 0;
  std::unordered_map<std::string_view, Binding> bindings;
  std::unordered_map<uint32_t, OpId> captured; ///< by op of the enclosing scope
  std::unordered_map<size_t, OpId> fields;     ///< elements of the state
  std::unordered_map<std::string, unsigned> taken;
};

/// A name with what HLO's names can't have replaced by '_'.
std::string hloName(std::string_view name);

} // namespace tilewright
