// The index maps of a context: each once, with what is known about it.
//
// An IndexMap is a pointer to a MapNode. A node's map never changes; derived facts (its normal
// form, the values of its results, its composition with another map) are cached, so that the layers
// of a model, which repeat the same maps, are composed once.
#pragma once

#include "analysis/affine/index_map.h"

#include <deque>
#include <llvm/ADT/SmallVector.h>
#include <span>

namespace tilewright::detail {

struct MapNode {
  ExprContext *context;
  uint64_t hash;
  std::span<const MapVariable> vars;
  std::span<const Expr> exprs;
  std::span<const MapConstraint> conds;
  bool provedEmpty;

  mutable const MapNode *named = nullptr; ///< with canonical names; null until asked for
  // Known of normal forms (`normal` is the node itself).
  mutable const MapNode *normal = nullptr; ///< null until asked for
  std::span<const Interval> ranges{};      ///< of the results over the domains of the variables
  std::span<const Interval> values{};      ///< the same where constraints hold
  uint32_t dims = 0;                       ///< how many variables are dims
  bool isPlain = false;                    ///< every result is a variable or a constant
  bool isIdentity = false; ///< reads its own coordinates: no other variables, no constraints
  uint64_t mask = 0;       ///< ExprNode::variables of results, constraints and sources
};

/// A map that is being made.
struct MapDraft {
  llvm::SmallVector<MapVariable, 8> vars;
  llvm::SmallVector<Expr, 8> exprs;
  llvm::SmallVector<MapConstraint, 4> conds;
  bool provedEmpty = false;

  MapDraft() = default;
  explicit MapDraft(const MapNode &node)
      : vars(node.vars.begin(), node.vars.end()), exprs(node.exprs.begin(), node.exprs.end()),
        conds(node.conds.begin(), node.conds.end()), provedEmpty(node.provedEmpty) {}

  /// Proved to read nothing: keeps the dims, and as many results of 0.
  void makeEmpty(ExprContext &context);
  void substitute(std::span<const Expr> replacementByVar);
  Bounds bounds() const;
};

/// The replacements of the second map's variables in a composition, by VarId. Owned by the thread
/// and lent to compositions in any context; the borrower clears `to` again.
struct Replacements {
  std::vector<Expr> to;         ///< null: the variable stays
  std::vector<Interval> values; ///< of the replacement

  void clear() {} ///< entries of another context are not looked at

  /// Names in use.
  void forgetTaken() { ++round; }
  bool take(Expr var) { ///< false if it was taken already
    size_t index = var.variable().index;
    if (index >= taken.size())
      taken.resize(index + 1);
    return std::exchange(taken[index], round) != round;
  }
  /// Makes room for that many variables.
  void fit(size_t variables) {
    if (to.size() >= variables)
      return;
    to.resize(variables);
    values.resize(variables);
    taken.resize(variables);
  }

private:
  std::vector<uint64_t> taken; ///< the round in which it was
  uint64_t round = 0;
};

class MapPool {
public:
  explicit MapPool(ExprContext &context) : ctx(context) {}

  const MapNode *intern(const MapDraft &draft);
  /// A draft in normal form; `ranges` has the values of its results.
  const MapNode *internNormal(const MapDraft &draft, std::span<const Interval> ranges);
  const RuntimeSource *intern(RuntimeSource source);

  const MapNode *composition(const MapNode *first, const MapNode *second) const;
  void remember(const MapNode *first, const MapNode *second, const MapNode *result);

  /// Disables the cache of compositions, to measure the cost of composing.
  void stopRemembering() { remembers = false; }

private:
  MapNode *find(const MapDraft &draft);
  std::span<const Interval> withConstraints(const MapNode &node);

  struct Composition {
    const MapNode *first, *second, *result;
  };
  ExprContext &ctx;
  Arena arena;
  std::deque<RuntimeSource> sources;
  InternTable<MapNode *> maps;
  InternTable<const RuntimeSource *> sourceTable;
  InternTable<Composition> compositions;
  bool remembers = true;
};

} // namespace tilewright::detail
