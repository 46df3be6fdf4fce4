#include "analysis/solve/scan.h"

#include "analysis/solve/columns.h"

#include <algorithm>
#include <array>

namespace tilewright::detail {

namespace {

constexpr size_t blockSize = 256;
using Block = std::array<int64_t, blockSize>;

class Scan {
public:
  Scan(const Program &program, std::span<const RegisterId> truths,
       std::span<const std::vector<int64_t>> lists, const SearchLimits &limits)
      : program(program), truths(truths), lists(lists), limits(limits),
        state(program.initialState()) {
    std::vector<Interval> ranges;
    for (const std::vector<int64_t> &list : lists)
      ranges.push_back({list.front(), list.back()});
    box = program.abstractly(ranges);
    for (unsigned p = 1; p < lists.size(); ++p)
      if (lists[p].size() > lists[inner].size())
        inner = p;
    place();
  }

  SearchResult run() {
    if (lists.empty()) {
      decideOne();
      return result;
    }
    walk(0);
    return result;
  }

private:
  /// Sorts all registers that are needed into numbers by outer parameter, tables and operations.
  void place() {
    std::vector<bool> isNeeded(program.size());
    for (RegisterId truth : truths) {
      isTotal &= !box[truth].mayBeUnknown;
      for (RegisterId id : program.cone(truth)) {
        isNeeded[id] = true;
        isTotal &= !box[id].mayBeUnknown;
      }
    }
    program.markTotal(box, state);
    numbers.resize(lists.size());
    blocks.resize(program.size());
    tables.resize(program.size());
    const uint64_t innerBit = lists.empty() ? 0 : uint64_t(1) << inner;
    if (!lists.empty())
      tables[inner] = lists[inner];
    for (RegisterId id = 0; id < program.size(); ++id) {
      if (!isNeeded[id])
        continue;
      const uint64_t parameters = program[id].parameters;
      if (!isTotal || lists.empty()) {
        perCandidate.push_back(id);
      } else if (!(parameters & innerBit)) {
        unsigned last = 0; // constants too: once
        for (unsigned p = 0; p < lists.size(); ++p)
          if (parameters >> p & 1)
            last = p;
        numbers[last].push_back(program.stepOf(id, box));
      } else if (parameters == innerBit) {
        const Step step = program.stepOf(id, box);
        tables[id].resize(lists[inner].size());
        computeColumn(step.op, tableOf(step.a), tableOf(step.b), tableOf(step.c), tables[id].data(),
                      tables[id].size());
      } else {
        blocks[id] = std::make_unique<Block>();
        operations.push_back(program.stepOf(id, box));
      }
    }
  }

  Column tableOf(RegisterId id) const {
    if (!tables[id].empty())
      return {tables[id].data(), false};
    return {&state.value[id], true};
  }

  Column columnOf(RegisterId id, size_t first) const {
    if (blocks[id])
      return {blocks[id]->data(), false};
    Column table = tableOf(id);
    return table.isNumber ? table : Column{table.data + first, false};
  }

  /// False: the limit is reached.
  bool walk(unsigned parameter) {
    if (parameter == lists.size())
      return decideRow();
    if (parameter == inner) {
      program.run(numbers[parameter], state);
      return walk(parameter + 1);
    }
    for (int64_t value : lists[parameter]) {
      state.value[parameter] = value;
      program.run(numbers[parameter], state);
      if (!walk(parameter + 1))
        return false;
    }
    return true;
  }

  bool decideRow() {
    const std::vector<int64_t> &list = lists[inner];
    for (size_t first = 0; first < list.size(); first += blockSize) {
      const size_t count = std::min(blockSize, list.size() - first);
      if (result.nodes + count > limits.maxNodes) {
        result.end = SearchResult::End::LimitReached;
        return false;
      }
      result.nodes += count;
      if (isTotal) {
        decideBlock(first, count);
        continue;
      }
      for (size_t i = first; i < first + count; ++i) {
        state.value[inner] = list[i];
        decideOne();
      }
    }
    return true;
  }

  void decideBlock(size_t first, size_t count) {
    for (const Step &step : operations)
      computeColumn(step.op, columnOf(step.a, first), columnOf(step.b, first),
                    columnOf(step.c, first), blocks[step.result]->data(), count);
    Block accepted;
    accepted.fill(1);
    for (RegisterId truth : truths)
      computeColumn(Code::And, columnOf(truth, first), {accepted.data(), false},
                    {accepted.data(), false}, accepted.data(), count);
    int64_t sum = 0;
    for (size_t i = 0; i < count; ++i)
      sum += accepted[i];
    result.solutions += uint64_t(sum);
  }

  /// The point that the parameters' registers hold.
  void decideOne() {
    for (RegisterId id : perCandidate)
      program.step(id, state);
    std::optional<uint32_t> unknown;
    for (uint32_t c = 0; c < truths.size(); ++c) {
      if (state.known[truths[c]] && !state.value[truths[c]])
        return;
      if (!state.known[truths[c]] && !unknown)
        unknown = c;
    }
    if (!unknown) {
      ++result.solutions;
      return;
    }
    // Without a 64-bit value, it may still be false beyond doubt.
    std::vector<Interval> point;
    for (unsigned p = 0; p < lists.size(); ++p)
      point.push_back(Interval::point(state.value[p]));
    if (!program.abstractly(truths[*unknown], point).canBeTrue())
      return;
    ++result.undecided;
    if (!result.undecidedConstraint || *unknown < *result.undecidedConstraint)
      result.undecidedConstraint = unknown;
  }

  const Program &program;
  std::span<const RegisterId> truths;
  std::span<const std::vector<int64_t>> lists;
  const SearchLimits &limits;
  ConcreteState state;
  std::vector<Abstract> box;
  unsigned inner = 0;
  bool isTotal = true; ///< every register has a value at every candidate
  std::vector<std::vector<Step>> numbers;
  std::vector<std::vector<int64_t>> tables; ///< by register; empty: none
  std::vector<Step> operations;
  std::vector<std::unique_ptr<Block>> blocks; ///< by register
  std::vector<RegisterId> perCandidate;
  SearchResult result;
};

} // namespace

SearchResult scanAll(const Program &program, std::span<const RegisterId> truths,
                     std::span<const std::vector<int64_t>> lists, const SearchLimits &limits) {
  if (std::any_of(lists.begin(), lists.end(), [](const auto &list) { return list.empty(); }))
    return {};
  return Scan(program, truths, lists, limits).run();
}

} // namespace tilewright::detail
