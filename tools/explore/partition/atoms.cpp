#include "tools/explore/partition/atoms.h"

#include "analysis/ir/free_view.h"

#include <algorithm>
#include <cassert>
#include <queue>
#include <set>

namespace tilewright {

namespace {

template <typename T> void sortUnique(std::vector<T> &values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

bool isPointwise(const Op &op) {
  return !op.shape.isTuple &&
         (opClass(op.opcode) == OpClass::Elementwise || op.opcode == Opcode::Iota) &&
         op.opcode != Opcode::Map && op.opcode != Opcode::CopyDone;
}

bool isView(Opcode opcode) {
  switch (opcode) {
  case Opcode::Broadcast:
  case Opcode::Reshape:
  case Opcode::Bitcast:
  case Opcode::Transpose:
  case Opcode::Slice:
  case Opcode::Pad:
  case Opcode::Concatenate:
  case Opcode::Reverse:
  case Opcode::DynamicSlice:
    return true;
  default:
    return false;
  }
}

/// Ops that can stand among others in a kernel of ours.
bool mayJoin(const Op &op) {
  switch (op.opcode) {
  case Opcode::Dot:
  case Opcode::Reduce:
  case Opcode::Convolution:
  case Opcode::ReduceWindow:
  case Opcode::Gather:
    return !op.shape.isTuple;
  default:
    return isPointwise(op) || isView(op.opcode);
  }
}

/// The value that is taken out of tuples, and from behind barriers around them; an op that makes a
/// tuple in another way stands for all of its elements.
OpId behindTuples(const Graph &graph, OpId id) {
  std::vector<int64_t> path; // the outermost tuple's place last
  while (true) {
    const Op &op = graph.op(id);
    const bool isBarrier = op.opcode == Opcode::OptimizationBarrier && op.operands.size() == 1;
    if (op.opcode == Opcode::GetTupleElement)
      path.push_back(op.attrs.tupleIndex);
    else if (op.opcode != Opcode::Tuple && !isBarrier)
      return id;
    size_t at = 0;
    if (op.opcode == Opcode::Tuple) {
      if (path.empty())
        return id;
      at = static_cast<size_t>(path.back());
      path.pop_back();
    }
    id = op.operands[at];
  }
}

bool isHeavy(Opcode opcode) {
  return opcode == Opcode::Dot || opcode == Opcode::Convolution || opcode == Opcode::ReduceWindow;
}

} // namespace

AtomGraph::AtomGraph(const Module &module, const Graph &graph, std::span<const KernelGroup> greedy,
                     std::span<const OpId> others, std::span<const OpId> apart)
    : graph(graph), isScheduledModule(isScheduled(module)), users(graph.users()),
      places(graph.size(), Place::Outside), atomNumber(graph.size(), -1) {
  placeOps(greedy, others);
  makeAtoms(greedy, others, apart);
  connect(greedy);
}

bool AtomGraph::isFixedKernel(const KernelGroup &kernel) const {
  if (kernel.placed || kernel.ops.empty())
    return true;
  const std::vector<OpId> ops = kernel.allOps();
  return std::any_of(ops.begin(), ops.end(), [&](OpId id) { return !mayJoin(graph.op(id)); }) ||
         std::all_of(ops.begin(), ops.end(),
                     [&](OpId id) { return movesNoByte(graph, id, isScheduledModule); });
}

void AtomGraph::placeOps(std::span<const KernelGroup> greedy, std::span<const OpId> others) {
  std::vector<bool> isInMemory(graph.size()); // whatever it is
  auto mustLie = [&](OpId id) {               // the value, whatever view of it is read
    isInMemory[id.index] = true;
    while (!graph.op(id).operands.empty() && movesNoByte(graph, id, isScheduledModule)) {
      id = graph.op(id).operands[0];
      isInMemory[id.index] = true;
    }
  };
  for (const KernelGroup &kernel : greedy) {
    mustLie(kernel.root);
    for (OpId id : kernel.allOps())
      places[id.index] = Place::Atom;
    if (isFixedKernel(kernel))
      for (OpId id : kernel.ops) {
        isInMemory[id.index] = true;
        for (OpId operand : graph.op(id).operands)
          mustLie(operand);
      }
  }
  std::vector<OpId> readers(others.begin(), others.end());
  readers.push_back(graph.root());
  for (OpId id : readers)
    for (OpId operand : graph.op(id).operands)
      mustLie(operand);
  std::vector<bool> isFixed(graph.size());
  for (OpId id : others) // a view, too, where nobody knows its extents
    isFixed[id.index] = true;
  for (const KernelGroup &kernel : greedy)
    if (isFixedKernel(kernel))
      for (OpId id : kernel.ops)
        isFixed[id.index] = true;
  std::vector<bool> fromLeaves(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Op &op = graph.op(OpId{i});
    fromLeaves[i] = op.opcode == Opcode::Constant || op.opcode == Opcode::Iota;
    if (!op.operands.empty())
      fromLeaves[i] = std::all_of(op.operands.begin(), op.operands.end(),
                                  [&](OpId operand) { return fromLeaves[operand.index]; });
    if (isFixed[i])
      continue;
    const bool isKnown = places[i] == Place::Atom;
    if (op.opcode != Opcode::Parameter && op.opcode != Opcode::Constant &&
        movesNoByte(graph, OpId{i}, isScheduledModule))
      places[i] = Place::Alias;
    else if (isKnown && !isInMemory[i] &&
             (op.opcode == Opcode::Broadcast ||
              (fromLeaves[i] && (isPointwise(op) || isView(op.opcode)))))
      places[i] = Place::Repeated;
  }
}

OpId AtomGraph::behindAliases(OpId id) const {
  while (places[id.index] == Place::Alias)
    id = graph.op(id).operands[0];
  return id;
}

/// The ops in atoms that an operand's value comes from, and whether it comes out of a tuple or from
/// behind a barrier.
template <class Visit> void AtomGraph::visitSources(OpId op, const Visit &visit) const {
  std::vector<std::pair<OpId, bool>> stack{{op, false}};
  std::set<std::pair<OpId, bool>> seen;
  while (!stack.empty()) {
    auto [id, isStored] = stack.back();
    stack.pop_back();
    if (atomNumber[id.index] < 0) {
      const OpId behind = behindTuples(graph, id);
      isStored |= behind != id;
      id = behind;
    }
    if (!seen.insert({id, isStored}).second)
      continue;
    if (atomNumber[id.index] >= 0) {
      visit(id, isStored);
      continue;
    }
    const Op &through = graph.op(id);
    isStored |= through.shape.isTuple || through.opcode == Opcode::OptimizationBarrier;
    for (OpId operand : through.operands)
      stack.push_back({operand, isStored});
  }
}

void AtomGraph::makeAtoms(std::span<const KernelGroup> greedy, std::span<const OpId> others,
                          std::span<const OpId> apart) {
  std::vector<int64_t> kernelOf(graph.size(), -1); // of fixed ones
  for (size_t k = 0; k < greedy.size(); ++k)
    if (isFixedKernel(greedy[k]))
      for (OpId id : greedy[k].ops)
        kernelOf[id.index] = int64_t(k);
  // A cheap op joins the atom that alone reads it.
  std::vector<OpId> joins(graph.size());
  std::vector<int64_t> homeOf(graph.size(), -1);
  for (size_t k = 0; k < greedy.size(); ++k)
    for (OpId id : greedy[k].ops)
      homeOf[id.index] = int64_t(k);
  for (uint32_t i = static_cast<uint32_t>(graph.size()); i-- > 0;) {
    joins[i] = OpId{i};
    const Op &op = graph.op(OpId{i});
    if (places[i] != Place::Atom || kernelOf[i] >= 0 || !isPointwise(op) ||
        OpId{i} == graph.root() || users[i].empty() ||
        std::find(apart.begin(), apart.end(), OpId{i}) != apart.end())
      continue;
    const OpId atom = joins[users[i].front().index];
    if (std::all_of(users[i].begin(), users[i].end(), [&](OpId user) {
          const Op &reader = graph.op(user);
          const bool isSameSize =
              reader.opcode == Opcode::Reduce
                  ? reader.operands.front() == OpId{i}
                  : isPointwise(reader) && reader.shape.elementCount() == op.shape.elementCount();
          return isSameSize && joins[user.index] == atom && places[user.index] == Place::Atom &&
                 kernelOf[user.index] < 0 && homeOf[i] == homeOf[user.index];
        }))
      joins[i] = atom;
  }
  std::vector<std::vector<OpId>> members(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (places[i] == Place::Atom && kernelOf[i] < 0)
      members[joins[i].index].push_back(OpId{i});
  for (OpId id : others)
    members[id.index] = {id};
  for (size_t k = 0; k < greedy.size(); ++k)
    if (isFixedKernel(greedy[k]) && !greedy[k].ops.empty())
      members[greedy[k].root.index] = greedy[k].ops;
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (members[i].empty())
      continue;
    GraphAtom atom;
    atom.ops = std::move(members[i]);
    atom.result = OpId{i};
    atom.isFixed = kernelOf[i] >= 0 || places[i] == Place::Outside;
    atom.isRequired = places[i] == Place::Outside;
    atom.hasSeveral = graph.op(atom.result).shape.isTuple;
    atom.isCheap = !atom.isFixed && std::none_of(atom.ops.begin(), atom.ops.end(), [&](OpId id) {
      return isHeavy(graph.op(id).opcode);
    });
    for (OpId id : atom.ops)
      atomNumber[id.index] = int64_t(atoms.size());
    atoms.push_back(std::move(atom));
  }
}

/// Finds what atoms read, as they are numbered now.
void AtomGraph::findReads() {
  for (AtomId a = 0; a < atoms.size(); ++a) {
    atoms[a].reads.clear();
    atoms[a].readsStored.clear();
    for (OpId id : atoms[a].ops)
      for (OpId operand : graph.op(id).operands)
        visitSources(operand, [&](OpId source, bool isStored) {
          const auto from = AtomId(atomNumber[source.index]);
          if (from == a)
            return;
          atoms[a].reads.push_back(from);
          if (isStored)
            atoms[a].readsStored.push_back(from);
        });
    sortUnique(atoms[a].reads);
    sortUnique(atoms[a].readsStored);
  }
}

/// Numbers atoms so that each has a larger number than what it reads. By their results they have,
/// but for fixed kernels: of one that stores a value on the way to its result, others may read that
/// value before the result's place in the graph. As near to the results' order as can be.
void AtomGraph::sortTopologically() {
  std::vector<size_t> missing(atoms.size());
  std::vector<std::vector<AtomId>> waiting(atoms.size());
  std::priority_queue<AtomId, std::vector<AtomId>, std::greater<>> ready;
  for (AtomId a = 0; a < atoms.size(); ++a) {
    missing[a] = atoms[a].reads.size();
    for (AtomId from : atoms[a].reads)
      waiting[from].push_back(a);
    if (missing[a] == 0)
      ready.push(a);
  }
  std::vector<GraphAtom> sorted;
  while (!ready.empty()) {
    const AtomId a = ready.top();
    ready.pop();
    for (OpId id : atoms[a].ops)
      atomNumber[id.index] = int64_t(sorted.size());
    sorted.push_back(std::move(atoms[a]));
    for (AtomId reader : waiting[a])
      if (--missing[reader] == 0)
        ready.push(reader);
  }
  assert(sorted.size() == atoms.size() && "kernels that wait for one another");
  atoms = std::move(sorted);
}

void AtomGraph::connect(std::span<const KernelGroup> greedy) {
  findReads();
  const bool isSorted = std::all_of(atoms.begin(), atoms.end(), [&](const GraphAtom &atom) {
    return atom.reads.empty() || atom.reads.back() < AtomId(&atom - atoms.data());
  });
  if (!isSorted) {
    sortTopologically();
    findReads();
  }
  for (AtomId a = 0; a < atoms.size(); ++a) {
    for (AtomId from : atoms[a].reads) {
      atoms[from].readers.push_back(a);
      // What stands outside reads memory.
      atoms[from].isRequired |= atoms[a].isFixed && atoms[a].isRequired;
    }
  }
  if (graph.root().isValid())
    visitSources(graph.root(), [&](OpId source, bool) {
      atoms[size_t(atomNumber[source.index])].isRequired = true;
    });
  for (const KernelGroup &kernel : greedy) {
    std::vector<AtomId> set;
    for (OpId id : kernel.allOps())
      if (atomNumber[id.index] >= 0)
        set.push_back(AtomId(atomNumber[id.index]));
    if (kernel.ops.empty()) // what a loop's state is copied from
      for (OpId operand : graph.op(kernel.root).operands)
        visitSources(operand, [&](OpId source, bool) {
          atoms[size_t(atomNumber[source.index])].isRequired = true;
        });
    sortUnique(set);
    kernels.push_back(std::move(set));
  }
}

std::vector<AtomId> AtomGraph::valuesOf(OpId op) const {
  std::vector<AtomId> values;
  visitSources(op, [&](OpId source, bool) { values.push_back(AtomId(atomNumber[source.index])); });
  sortUnique(values);
  return values;
}

std::optional<AtomId> AtomGraph::atomOf(OpId op) const {
  return atomNumber[op.index] < 0 ? std::nullopt : std::optional(AtomId(atomNumber[op.index]));
}

std::vector<AtomId> AtomGraph::inputsOf(std::span<const AtomId> set) const {
  std::vector<AtomId> inputs;
  for (AtomId a : set)
    for (AtomId from : atoms[a].reads)
      if (!std::binary_search(set.begin(), set.end(), from))
        inputs.push_back(from);
  sortUnique(inputs);
  return inputs;
}

bool AtomGraph::waitsForItself(std::span<const AtomId> set, std::span<const AtomId> results) const {
  std::vector<AtomId> stack(results.begin(), results.end());
  std::set<AtomId> seen;
  auto isInside = [&](AtomId a) { return std::binary_search(set.begin(), set.end(), a); };
  while (!stack.empty()) {
    const AtomId a = stack.back();
    stack.pop_back();
    const bool isOutside = !isInside(a);
    for (AtomId reader : atoms[a].readers) {
      if (isInside(reader)) {
        if (isOutside)
          return true;
      } else if (reader < set.back() && seen.insert(reader).second) {
        stack.push_back(reader);
      }
    }
  }
  return false;
}

KernelGroup AtomGraph::kernelOf(std::span<const AtomId> set,
                                std::span<const AtomId> results) const {
  KernelGroup kernel;
  std::set<OpId> inside;
  for (AtomId a : set)
    inside.insert(atoms[a].ops.begin(), atoms[a].ops.end());
  std::vector<OpId> work(inside.begin(), inside.end());
  while (!work.empty()) {
    const OpId id = work.back();
    work.pop_back();
    for (OpId operand : graph.op(id).operands) {
      bool isPulled = places[operand.index] == Place::Repeated;
      if (places[operand.index] == Place::Alias) {
        const OpId source = behindAliases(operand);
        isPulled = places[source.index] == Place::Repeated || inside.count(source);
      }
      if (isPulled && inside.insert(operand).second)
        work.push_back(operand);
    }
  }
  kernel.ops.assign(inside.begin(), inside.end());
  for (AtomId a : results)
    kernel.roots.push_back(atoms[a].result);
  std::sort(kernel.roots.begin(), kernel.roots.end());
  kernel.root = kernel.roots.back();
  return kernel;
}

} // namespace tilewright
