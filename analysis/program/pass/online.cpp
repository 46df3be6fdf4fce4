#include "analysis/program/pass/online.h"

#include "analysis/program/build/names.h"
#include "analysis/program/build/tidy.h"
#include "analysis/program/pass/loop_fusion.h"
#include "analysis/program/text.h"
#include "analysis/support/diag.h"

#include <algorithm>

namespace tilewright::program {

namespace {

/// Loops as they are built: nothing of them runs ahead.
bool isPlain(const Op &op) {
  const auto *loop = op.as<ForOp>();
  return loop && !loop->ahead && !loop->splitVar && !loop->unroll && loop->issueAt == 0;
}

/// Buffers that nothing fills or reads any more go.
void removeUnusedBuffers(Program &p) {
  std::vector<bool> isUsed(p.buffers.size());
  forEachOp(p.body, [&](const Op &op, const LoopNest &) {
    if (const auto *copy = op.as<CopyOp>())
      isUsed[copy->buffer.index] = true;
    if (const auto *write = op.as<WriteOp>())
      isUsed[write->buffer.index] = true;
    for (const SlotRead &read : slotReadsOf(op))
      isUsed[read.buffer.index] = true;
  });
  for (const Buffer &buffer : p.buffers)
    if (buffer.alias.isValid())
      isUsed[buffer.alias.index] = true;
  std::map<BufferId, BufferId> renamed;
  std::vector<Buffer> kept;
  for (uint32_t i = 0; i < p.buffers.size(); ++i)
    if (isUsed[i]) {
      renamed[BufferId{i}] = BufferId{static_cast<uint32_t>(kept.size())};
      kept.push_back(p.buffers[i]);
    }
  for (Buffer &buffer : kept)
    if (buffer.alias.isValid())
      buffer.alias = renamed.at(buffer.alias);
  p.buffers = std::move(kept);
  auto visit = [&](auto &&self, Region &ops) -> void {
    for (Op &op : ops) {
      if (auto *copy = op.as<CopyOp>())
        copy->buffer = renamed.at(copy->buffer);
      if (auto *write = op.as<WriteOp>())
        write->buffer = renamed.at(write->buffer);
      for (Region *inner : regionsOf(op))
        self(self, *inner);
    }
  };
  visit(visit, p.body);
  for (Op &op : p.body)
    replaceReads(op, {}, renamed);
}

class Pass {
public:
  explicit Pass(const Program &program) : p(program) { result.program = program; }

  llvm::Expected<FusedProgram> run() {
    visit(p.body);
    if (result.fused == 0) {
      std::string reasons;
      for (const NotFused &other : result.others)
        reasons += (reasons.empty() ? ": " : "; ") + other.loop + ": " + other.reason;
      return makeError(DiagClass::Unsupported, "{}: no loops become one{}", p.name,
                       reasons.empty() ? ", there are none over the same axis" : reasons);
    }
    removeUnused(p);
    removeUnusedBuffers(p);
    Names names;
    takeNames(names);
    nameValues(p, names);
    if (llvm::Error error = inferTypes(p))
      return error;
    result.program = std::move(p);
    return std::move(result);
  }

private:
  void visit(Region &ops) {
    for (size_t i = 0; i < ops.size(); ++i) {
      for (Region *inner : regionsOf(ops[i]))
        visit(*inner);
      if (isPlain(ops[i]))
        fuse(ops, i);
    }
  }

  /// Later loops over the same axis become parts of the one at `at`, where they can.
  void fuse(Region &ops, size_t at) {
    std::vector<size_t> fused;
    const auto &first = *ops[at].as<ForOp>();
    for (size_t i = at + 1; i < ops.size(); ++i) {
      const auto *loop = ops[i].as<ForOp>();
      if (!loop || !isPlain(ops[i]) || loop->var != first.var || loop->trips != first.trips)
        continue;
      LoopFusion trial(p, ops, at);
      std::string why;
      for (size_t other : fused)
        why = trial.add(other);
      why = trial.add(i);
      if (why.empty())
        fused.push_back(i);
      else
        result.others.push_back({printOp(p, ops[i]), why});
    }
    if (fused.empty())
      return;
    LoopFusion fusion(p, ops, at);
    for (size_t other : fused)
      fusion.add(other);
    Region region = fusion.finish();
    ops = std::move(region);
    result.fused += fused.size();
  }

  void takeNames(Names &names) const {
    auto takeAll = [&](const auto &list) {
      for (const auto &part : list)
        names.take(part.name);
    };
    takeAll(p.tensors);
    takeAll(p.lets);
    takeAll(p.grid.variables);
    takeAll(p.axes);
    takeAll(p.buffers);
    takeAll(p.roles);
    for (Expr size : p.sizes)
      names.take(p.context->info(size.variable()).name);
    forEachOp(p.body, [&](const Op &op, const LoopNest &) {
      if (const auto *loop = op.as<ForOp>())
        names.take(loop->name);
    });
  }

  FusedProgram result;
  Program p;
};

} // namespace

llvm::Expected<FusedProgram> online(const Program &program) { return Pass(program).run(); }

} // namespace tilewright::program
