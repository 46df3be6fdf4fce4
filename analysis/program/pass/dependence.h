// How values depend on reductions that are not complete yet.
//
//   Number    a constant
//   Same      the same in all steps
//   Free      of the step at hand alone
//   Reduced   an expression of reductions and of what is the same in all steps
//   Shifted   w + Σ c·e, w free, e reduced
//   Scaled    w · exp(Σ c·e) · Π f, w free, e and f reduced
//   Other     none of these
//
// A group acts on the monoid of a reduction: factors on sums and on sums of products, shifts on
// maxima. What is shifted or scaled can therefore be reduced with what is known so far, and be
// repaired by exp(Σ c·(e' - e)) where e becomes e'. Factors f wait until the end, where they are
// known. (M. Milakov, N. Gimelshein: "Online normalizer calculation for softmax", 2018, is the case
// of a sum that a maximum scales.)
#pragma once

#include "analysis/program/pass/scalar_dag.h"

namespace tilewright::program {

struct Dependence {
  using Node = ScalarDag::Node;
  enum class Kind : uint8_t { Number, Same, Free, Reduced, Shifted, Scaled, Other };
  Kind kind = Kind::Free;
  std::map<Node, double> terms;
  /// A factor, or a divisor.
  struct Factor {
    Node node;
    bool isDivisor;
    bool operator==(const Factor &) const = default;
  };
  std::vector<Factor> factors;
  /// Of Scaled: some of it is zero by choice, whatever the terms are.
  bool hasZeros = false;
  std::string why; ///< of Other
  bool operator==(const Dependence &other) const {
    return kind == other.kind && terms == other.terms && factors == other.factors;
  }

  bool isComplete() const { return kind < Kind::Reduced; }
};

/// Abstract interpretation of a graph of scalar expressions.
class Dependences {
public:
  using Node = ScalarDag::Node;
  Dependences(ScalarDag &dag, std::function<Dependence(Node leaf)> leaf,
              std::function<std::string(Node)> text)
      : dag(dag), leaf(std::move(leaf)), text(std::move(text)) {}

  const Dependence &of(Node node);
  /// The same in a step of the loop: without factors, and with shift(e) in place of each term e.
  Node inStep(Node node, const std::function<Node(Node)> &shift);
  /// Of the product of two.
  Dependence product(const Dependence &a, const Dependence &b) const;

private:
  Dependence compute(Node node);
  Dependence sum(Node node, bool isSubtracted);
  Dependence product(Node node, bool isDivided);
  Dependence choice(Node node, size_t first);
  Dependence other(Node node) const;
  std::optional<std::map<Node, double>> termsOf(Node node);
  std::map<Node, double> linear(Node node) const;
  Node shifted(Node node, const std::function<Node(Node)> &shift);

  ScalarDag &dag;
  std::function<Dependence(Node)> leaf;
  std::function<std::string(Node)> text;
  std::map<Node, Dependence> known;
};

} // namespace tilewright::program
