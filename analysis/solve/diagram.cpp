#include "analysis/solve/diagram.h"

#include <bit>

namespace tilewright::detail {

namespace {

class Tabulator {
public:
  Tabulator(const Program &program, RegisterId truth, std::span<const std::vector<int64_t>> lists,
            size_t maxSteps)
      : program(program), truth(truth), lists(lists), stepsLeft(maxSteps),
        cone(program.cone(truth)), state(program.initialState()), box(lists.size()) {
    for (uint64_t set = program[truth].parameters; set; set &= set - 1)
      parameters.push_back(unsigned(std::countr_zero(set)));
    for (size_t p = 0; p < lists.size(); ++p)
      if (!lists[p].empty())
        box[p] = {lists[p].front(), lists[p].back()};
    abstract = program.abstractly(box);
  }

  std::optional<Diagram> run() {
    std::optional<uint32_t> root = build(0);
    if (!root)
      return std::nullopt;
    out.root = *root;
    return std::move(out);
  }

private:
  std::optional<uint32_t> build(size_t depth) {
    if (stepsLeft-- == 0) {
      stepsLeft = 0;
      return std::nullopt;
    }
    if (depth == parameters.size())
      return decide();
    refreshAbstract();
    if (!abstract[truth].canBeTrue())
      return Diagram::reject;
    if (abstract[truth].isSurelyTrue())
      return Diagram::accept;
    unsigned p = parameters[depth];
    Diagram::Node node{p, {}};
    const Interval whole = box[p];
    for (uint32_t i = 0; i < lists[p].size(); ++i) {
      state.value[p] = lists[p][i];
      state.known[p] = true;
      box[p] = Interval::point(lists[p][i]);
      std::optional<uint32_t> target = build(depth + 1);
      if (!target)
        return std::nullopt;
      if (!node.edges.empty() && node.edges.back().target == *target)
        node.edges.back().last = i;
      else
        node.edges.push_back({i, *target});
    }
    box[p] = whole;
    if (node.edges.empty())
      return Diagram::reject;
    if (node.edges.size() == 1)
      return node.edges.front().target;
    auto [it, isNew] =
        known.try_emplace({node.parameter, node.edges}, uint32_t(out.nodes.size() + 2));
    if (isNew)
      out.nodes.push_back(std::move(node));
    return it->second;
  }

  uint32_t decide() {
    for (RegisterId id : cone)
      program.step(id, state);
    if (state.known[truth])
      return state.value[truth] ? Diagram::accept : Diagram::reject;
    refreshAbstract();
    out.hasUndecided |= abstract[truth].canBeTrue();
    return Diagram::reject;
  }

  void refreshAbstract() {
    for (unsigned p : parameters)
      abstract[p].range = box[p];
    for (RegisterId id : cone)
      abstract[id] = Program::apply(program[id].op, abstract[program[id].a],
                                    abstract[program[id].b], abstract[program[id].c]);
  }

  const Program &program;
  const RegisterId truth;
  std::span<const std::vector<int64_t>> lists;
  size_t stepsLeft;
  std::vector<RegisterId> cone;
  std::vector<unsigned> parameters;
  ConcreteState state;
  std::vector<Interval> box;
  std::vector<Abstract> abstract;
  std::map<std::pair<unsigned, std::vector<Diagram::Edge>>, uint32_t> known;
  Diagram out;
};

} // namespace

std::optional<Diagram> tabulate(const Program &program, RegisterId truth,
                                std::span<const std::vector<int64_t>> lists, size_t maxSteps) {
  return Tabulator(program, truth, lists, maxSteps).run();
}

} // namespace tilewright::detail
