// A tile program's layouts as a labelling problem (labelling.h): nodes are ops, labels are what the
// rules allow, edges are uses with the price of a conversion.
//
// The family of layouts that is searched is the closure of blocked layouts, the catalogue and the
// fragments of the program's instructions under the ops' own images, forwards and backwards. What
// is demanded beyond the rules is a *constraint* with a name and words, which can be switched off:
// that is how the smallest set of those that contradict each other is found (explain.h).
#pragma once

#include "analysis/program/inference/rules.h"

#include <set>

namespace tilewright::inference {

/// The layout that the user wants for a value.
struct LayoutWish {
  std::string value;
  std::string layout; ///< "@ flat(4)", as in the text, or a name of the catalogue
  bool isHard = true; ///< else a preference: a layout that costs the same gives way to it
};

struct InferenceOptions {
  int64_t registers = 255; ///< of a thread, of one value
  bool mayConvert = true;  ///< false: registers are renamed only
  std::vector<LayoutWish> wishes;
  LayoutPrices prices;
  LabelOptions labels;
  size_t mostLabels = 400; ///< of an op
};

/// Something that can be switched off.
struct Constraint {
  enum class Kind : uint8_t { Cast, AsItIs, Registers };
  Kind kind;
  uint32_t node = 0;
  size_t use = 0; ///< AsItIs
  auto operator<=>(const Constraint &) const = default;
};

class LayoutProblem : public LabelCosts {
public:
  /// The program's sizes are numbers. BadInput: a size without one, a wish for a value that there
  /// is not; Unsupported: an op without a rule for what it does.
  static llvm::Expected<std::unique_ptr<LayoutProblem>> make(const program::Program &program,
                                                             const InferenceOptions &options);

  const TileGraph &graph() const { return tiles; }
  const InferenceOptions &options() const { return choices; }
  /// What no layout avoids: values that threads have no registers for. Empty: nothing is said.
  std::vector<std::string> capacityFaults() const;
  std::vector<Constraint> constraints() const;
  std::string wordsOf(const Constraint &constraint, bool isRepair = false) const;

  /// Makes the labels, without some constraints.
  void build(const std::set<Constraint> &without = {});
  const std::vector<NodeLabel> &labelsOf(uint32_t node) const { return labels[node]; }
  /// Why a node has no label at all; empty where it has one.
  const std::string &refusalOf(uint32_t node) const { return refusals[node]; }
  bool isClosed() const { return !isCapped; }
  const LabelProblem &labelling() const { return problem; }
  LabelAnswer solve() const { return solveLabels(problem, choices.labels); }
  /// With the layouts and forms that the text gives. `free`: nodes whose given layout is none of
  /// their labels, which take any.
  LabelAnswer solveAsGiven(std::vector<uint32_t> &free) const;
  Cost floor() const;

  struct EdgeUse {
    uint32_t node;
    size_t use;
  };
  const EdgeUse &useOf(size_t edge) const { return uses[edge]; }
  /// Does a use take a value with these labels, whatever it costs?
  bool isAllowed(size_t edge, uint32_t from, uint32_t to);
  /// What a use costs, by its labels; None: it takes the value as it is held.
  Move moveOf(size_t edge, uint32_t from, uint32_t to);

  Cost bound(size_t edge, uint32_t from, uint32_t to) override;
  Cost price(size_t edge, uint32_t from, uint32_t to) override;
  LayoutTable &table() { return layouts; }

private:
  LayoutProblem(const program::Program &program, InferenceOptions options)
      : p(program), choices(std::move(options)), pricer(layouts, choices.prices),
        rules(program, layouts, pricer, choices.prices) {}
  llvm::Error readWishes();
  llvm::Error addCast(uint32_t node, const std::string &layout);
  llvm::Expected<LayoutId> layoutOf(uint32_t node, const std::string &text);
  uint32_t insertCast(uint32_t node);
  void readGiven();

  struct Candidates {
    std::set<LayoutId> all;
    std::vector<LayoutId> open;
  };
  bool takesLayouts(uint32_t node) const;
  void addCandidate(uint32_t node, LayoutId layout);
  void spread(uint32_t node, const NodeLabel &label);
  void seed(uint32_t node);
  void closeCandidates();
  void makeLabels(uint32_t node);
  const llvm::Expected<NodeLabel> *labelFor(uint32_t node, LayoutId layout);
  const LayoutWish *wishFor(uint32_t node, bool isHard) const;
  bool isStrict(const EdgeUse &use) const;

  const program::Program &p;
  InferenceOptions choices;
  LayoutTable layouts;
  MovePricer pricer;
  Rules rules;
  TileGraph tiles;
  struct GivenCast {
    LayoutId layout;
    std::string value, text;
  };
  std::map<uint32_t, GivenCast> casts; ///< by node
  std::map<uint32_t, LayoutId> preferences, given;
  std::map<uint32_t, FormId> givenForms;
  std::vector<std::vector<std::pair<uint32_t, size_t>>> usersOf; ///< by node: node, use
  std::set<Constraint> off;
  std::vector<Candidates> candidates;
  std::vector<std::vector<NodeLabel>> labels;
  std::vector<std::string> refusals;
  std::map<std::pair<uint32_t, LayoutId>, std::optional<NodeLabel>> made;
  std::map<std::pair<uint32_t, LayoutId>, std::string> refused;
  std::map<std::string, std::vector<LayoutId>> seeds; ///< by tile
  bool isCapped = false;
  LabelProblem problem;
  std::vector<EdgeUse> uses;
};

} // namespace tilewright::inference
