#include "analysis/program/pipeline/pipeline_choice.h"

#include "analysis/program/pass/roles.h"
#include "analysis/program/pending_reads.h"
#include "analysis/program/pipeline/step_work.h"
#include "analysis/program/produced_loop.h"
#include "analysis/program/substitute.h"
#include "analysis/program/verify.h"
#include "analysis/support/diag.h"

#include <fmt/format.h>

namespace tilewright::pipeline {

using program::BufferId;
using program::DotOp;
using program::DotWay;
using program::ForOp;
using program::Op;
using program::Program;
using program::Region;

std::string toString(const PipelineSettings &settings) {
  std::string words = fmt::format("{} slot{}", settings.slots, settings.slots == 1 ? "" : "s");
  if (settings.isProduced)
    words += ", producer";
  else
    words += fmt::format(", {} step{} ahead", settings.ahead, settings.ahead == 1 ? "" : "s");
  return settings.isAsynchronous ? words + ", wait 1" : words;
}

double PipelineAnswer::gain() const {
  const int64_t before = given.time.all(), after = chosen().time.all();
  return after > 0 ? static_cast<double>(before) / static_cast<double>(after) : 1;
}

namespace {

/// The n-th loop that copies, to be changed.
ForOp *copyingLoop(Region &ops, size_t &n) {
  for (Op &op : ops) {
    if (auto *loop = op.as<ForOp>(); loop && !loop->issue.empty() && n-- == 0)
      return loop;
    for (Region *inner : program::regionsOf(op))
      if (ForOp *found = copyingLoop(*inner, n))
        return found;
  }
  return nullptr;
}

bool hasDots(const ForOp &loop, bool (*isSuch)(const DotOp &)) {
  return std::any_of(loop.body.begin(), loop.body.end(), [&](const Op &op) {
    const auto *dot = op.as<DotOp>();
    return dot && isSuch(*dot);
  });
}
bool isWgmma(const DotOp &dot) { return dot.way == DotWay::Wgmma; }
bool isNoWgmma(const DotOp &dot) { return dot.way != DotWay::Wgmma; }
bool addsInFlight(const DotOp &dot) { return isWgmma(dot) && dot.isAdded; }

bool isReadInFront(const ForOp &loop) {
  for (BufferId ring : program::ringsOf(loop)) {
    const program::UseRange uses = program::usesOf(loop.body, ring);
    if (uses.first >= loop.body.size() || uses.last >= loop.issueAt)
      return false;
  }
  return true;
}

PipelineSettings settingsOf(const Program &p, const ForOp &loop) {
  PipelineSettings settings;
  settings.slots = INT64_MAX;
  for (BufferId ring : program::ringsOf(loop))
    settings.slots = std::min(settings.slots, numberAt(p, p[ring].stages));
  settings.isProduced = program::isProduced(p, loop);
  settings.ahead = settings.isProduced ? 0 : loop.ahead ? numberAt(p, loop.ahead) : 0;
  settings.isAsynchronous =
      hasDots(loop, [](const DotOp &dot) { return addsInFlight(dot) && dot.wait > 0; });
  return settings;
}

std::vector<PipelineSettings> settingsToTry(const Program &p, const ForOp &loop, bool isAlone,
                                            const PipelineOptions &options) {
  const PipelineSettings given = settingsOf(p, loop);
  const int64_t leastSlots = options.keepsSlots ? given.slots : 1;
  const int64_t mostSlots = options.keepsSlots ? given.slots : options.mostSlots;
  std::vector<bool> producers{given.isProduced};
  if (!options.keepsSlots && !given.isProduced && isAlone && hasDots(loop, isWgmma) &&
      !hasDots(loop, isNoWgmma) && p.roles.empty())
    producers.push_back(true);
  std::vector<PipelineSettings> result;
  for (const bool isProduced : producers)
    for (const bool isAsynchronous : {false, true}) {
      if (isAsynchronous && (!isProduced || !mayFly(loop)))
        continue;
      for (int64_t slots = leastSlots; slots <= mostSlots; ++slots) {
        const int64_t most = isReadInFront(loop) ? slots : slots - 1;
        result.push_back({slots, isProduced ? 0 : most, isProduced, isAsynchronous});
      }
    }
  return result;
}

llvm::Expected<LoopSchedule> scheduleOf(const Program &p, size_t index,
                                        const InstructionTimes &times) {
  LoopSchedule result;
  const ForOp &loop = *copyingLoops(p)[index];
  result.settings = settingsOf(p, loop);
  llvm::Expected<ProgramLoop> made = pipelineLoopOf(p, loop, times, WarpOrder::AsEmitted);
  if (!made)
    return made.takeError();
  result.loop = std::move(*made);
  result.schedule = leastInterval(result.loop.loop);
  if (result.schedule.outcome == ModuloSchedule::Outcome::Deadlock)
    result.refusal = "waits go round: " + result.schedule.deadlock;
  else if (result.schedule.outcome == ModuloSchedule::Outcome::GivenUp)
    result.refusal = "the search's budget is spent";
  else
    result.time = timeOf(result.loop.loop, result.schedule, result.loop.steps);
  return result;
}

/// Units and roles alone hold the interval up: more slots gain nothing.
bool isFilled(const LoopSchedule &found) {
  if (found.schedule.interval > found.schedule.bound.interval)
    return false;
  return std::any_of(found.schedule.bound.by.begin(), found.schedule.bound.by.end(),
                     [](const std::string &by) { return by.rfind("waits ", 0) != 0; });
}

} // namespace

PipelineSettings settingsOf(const Program &program, size_t loop) {
  return settingsOf(program, *copyingLoops(program)[loop]);
}

bool mayFly(const ForOp &loop) { return hasDots(loop, addsInFlight); }

llvm::Expected<Program> withSettings(const Program &program, size_t index,
                                     const PipelineSettings &settings, const DeviceLimits *limits) {
  Program p = program;
  const bool isProduced = static_cast<bool>(p.producerWarps);
  if (settings.isProduced && !isProduced) {
    llvm::Expected<Program> made = program::produce(p);
    if (!made)
      return made.takeError();
    made = program::substituteSizes(*made, {{"stages", settings.slots}});
    if (!made)
      return made.takeError();
    p = std::move(*made);
  }
  size_t n = index;
  ForOp *loop = copyingLoop(p.body, n);
  for (BufferId ring : program::ringsOf(*loop))
    p.buffers[ring.index].stages = p.number(settings.slots);
  loop->ahead = settings.isProduced || settings.ahead == 0 ? Expr() : p.number(settings.ahead);
  for (Op &op : loop->body)
    if (auto *dot = op.as<DotOp>(); dot && addsInFlight(*dot))
      dot->wait = settings.isAsynchronous ? 1 : 0;
  if (llvm::Error error = program::inferTypes(p))
    return error;
  if (llvm::Error error = program::verify(p, limits).error(p))
    return error;
  return p;
}

llvm::Expected<PipelineAnswer> choosePipeline(const Program &program, size_t index,
                                              const PipelineOptions &options) {
  const std::vector<const ForOp *> loops = copyingLoops(program);
  PipelineAnswer answer;
  llvm::Expected<LoopSchedule> given = scheduleOf(program, index, options.times);
  if (!given)
    return given.takeError();
  answer.given = std::move(*given);
  bool isFound = false, isFull = false, hasFit = false;
  PipelineSettings before;
  for (const PipelineSettings &settings :
       settingsToTry(program, *loops[index], loops.size() == 1, options)) {
    const bool isSameKind = settings.isProduced == before.isProduced &&
                            settings.isAsynchronous == before.isAsynchronous &&
                            settings.slots > before.slots;
    before = settings;
    if (isFull && isSameKind)
      continue;
    isFull = false;
    hasFit = hasFit && isSameKind;
    llvm::Expected<Program> made = withSettings(program, index, settings, &options.limits);
    LoopSchedule tried;
    if (!made) {
      tried.settings = settings;
      tried.refusal = takeDiag(made.takeError()).message;
      answer.tried.push_back(std::move(tried));
      isFull = hasFit; // more slots take more memory; with few, what shares theirs may not fit
      continue;
    }
    hasFit = true;
    llvm::Expected<LoopSchedule> found = scheduleOf(*made, index, options.times);
    if (!found)
      return found.takeError();
    found->settings = settings;
    answer.tried.push_back(std::move(*found));
    const LoopSchedule &last = answer.tried.back();
    if (!last.refusal.empty())
      continue;
    isFull = isFilled(last);
    auto rank = [&](const LoopSchedule &one) {
      return std::tuple(one.time.all(), one.settings != answer.given.settings, one.settings.slots);
    };
    if (isFound && rank(last) >= rank(answer.chosen()))
      continue;
    isFound = true;
    answer.best = answer.tried.size() - 1;
    answer.program = std::move(*made);
  }
  if (!isFound)
    return makeError(DiagClass::BadInput, "loop {}: no settings have a schedule: {}",
                     loops[index]->name,
                     answer.tried.empty() ? "there are none" : answer.tried.front().refusal);
  if (!options.isProved)
    return answer;
  certify(answer.tried[answer.best].loop.loop, answer.tried[answer.best].schedule);
  const std::vector<const ForOp *> chosen = copyingLoops(answer.program);
  llvm::Expected<ProgramLoop> any =
      pipelineLoopOf(answer.program, *chosen[index], options.times, WarpOrder::Any);
  if (!any)
    return any.takeError();
  answer.any = leastInterval(any->loop);
  return answer;
}

} // namespace tilewright::pipeline
