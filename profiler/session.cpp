#include "profiler/session.h"

#include "profiler/kernel_run.h"
#include "profiler/launch_graph.h"
#include "profiler/telemetry.h"
#include "profiler/text.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

namespace tilewright::profile {

namespace {

/// Bytes written before a cold launch: as for the bundled measurements, and three times L2.
uint64_t flushBytesOf(const GpuInfo &info) {
  return std::max<uint64_t>(160u << 20, 3 * info.l2Bytes);
}

double secondsNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::optional<double> timeOf(const std::string &time, const std::string &error) {
  if (time.empty() || !error.empty())
    return std::nullopt;
  double value = std::strtod(time.c_str(), nullptr);
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

class Session {
public:
  Session(const std::vector<WorkItem> &items, const SessionOptions &options, Journal &journal,
          const SessionHooks &hooks)
      : items(items), options(options), journal(journal), hooks(hooks),
        schedule(replay(items, options, journal)) {}

  SessionEnd run() {
    if (schedule.next().kind == Step::Kind::Done)
      return SessionEnd::Done;
    Result<Gpu> opened = Gpu::open(options.device);
    if (!opened)
      return end(opened.failure());
    gpu = std::make_unique<Gpu>(std::move(*opened));
    if (Status failed = checkDevice())
      return end(*failed);
    inputs = std::make_unique<InputCache>(*gpu);
    std::string note;
    timer = makeTimer(*gpu, options.wantsEvents, note);
    if (!note.empty())
      hooks.say("note: " + note);
    note.clear();
    telemetry = Telemetry::open(gpu->info().uuid, note);
    if (!note.empty())
      hooks.say("note: " + note);
    if (Status failed = allocateFlush())
      return end(*failed);
    for (;;) {
      Step step = schedule.next();
      if (step.kind == Step::Kind::Done)
        return SessionEnd::Done;
      if (hooks.shouldStop() ||
          (options.deadlineSeconds > 0 && secondsNow() > options.deadlineSeconds))
        return SessionEnd::Stopped;
      hooks.before(step);
      Status failed =
          step.kind == Step::Kind::Incumbent ? lookAtIncumbent(step) : measureKernel(step);
      if (failed)
        return end(*failed);
    }
  }

private:
  SessionEnd end(const Failure &failure) {
    hooks.say("error: " + failure.message);
    switch (failure.kind) {
    case FailureKind::BadInput:
      return SessionEnd::BadInput;
    case FailureKind::DeviceLost:
      return SessionEnd::DeviceLost;
    default:
      return SessionEnd::NoGpu;
    }
  }

  /// Rows of another GPU must not be mixed in, and the packs must be for this one.
  Status checkDevice() {
    for (const auto &cells : journal.rows())
      if (const std::string &board = cells[static_cast<size_t>(Column::Board)];
          !board.empty() && board != gpu->info().board())
        return Failure{FailureKind::BadInput, journal.path() + " holds measurements of board " +
                                                  board + ", this is " + gpu->info().board() +
                                                  "; give another --out"};
    for (const WorkItem &item : items)
      if (!asPtx.contains(item.pack)) {
        Result<bool> needed = needsPtx(*item.pack, gpu->info());
        if (!needed)
          return needed.failure();
        asPtx[item.pack] = *needed;
      }
    return fine();
  }

  Status allocateFlush() {
    bool isNeeded = std::find(options.regimes.begin(), options.regimes.end(), Regime::Cold) !=
                    options.regimes.end();
    if (!isNeeded)
      return fine();
    Result<DeviceBuffer> buffer = inputs->scratch(flushBytesOf(gpu->info()));
    if (!buffer)
      return buffer.failure();
    flush = std::move(*buffer);
    return fine();
  }

  Record recordFor(const Step &step) {
    Record record = newRecord(items[step.kernel], step, options);
    const GpuInfo &info = gpu->info();
    record[Column::Device] = info.name;
    record[Column::Board] = info.board();
    record[Column::Driver] = telemetry.driverVersion();
    record[Column::Cuda] = std::to_string(info.cudaVersion / 1000) + "." +
                           std::to_string(info.cudaVersion % 1000 / 10);
    record[Column::Timer] = timer->name();
    const WorkItem &item = items[step.kernel];
    record[Column::Code] = asPtx[item.pack] || item.kernel->cubinFile.empty() ? "ptx" : "cubin";
    return record;
  }

  Status append(const Record &record) {
    return journal.append({record.all().begin(), record.all().end()});
  }

  /// Prepares the kernel and checks its numbers. A failure of the kernel is in `error`.
  Result<std::unique_ptr<KernelRun>> prepare(const Step &step, Record &record, std::string &error) {
    const WorkItem &item = items[step.kernel];
    auto run = KernelRun::prepare(*gpu, *inputs, *item.pack, *item.kernel, asPtx[item.pack]);
    if (!run) {
      error = run.failure().message;
      return run.failure();
    }
    const LoadedFunction &function = (*run)->function();
    record[Column::Regs] = std::to_string(function.registers);
    record[Column::LocalBytes] = std::to_string(function.localBytes);
    record[Column::CtasPerSm] = std::to_string(function.ctasPerSm);
    Result<Verification> verification = (*run)->check();
    if (!verification) {
      error = verification.failure().message;
      return verification.failure();
    }
    bool isChecked = !item.kernel->expectations.empty();
    record[Column::MaxError] = isChecked ? numberText(verification->maxError) : "";
    if (!verification->isRight)
      error = "wrong numbers: " + verification->reason;
    return run;
  }

  /// Only DeviceLost and trouble with the file end a session; the rest is a row.
  Status measureKernel(const Step &step) {
    std::string error;
    Record base = recordFor(step);
    auto run = prepare(step, base, error);
    bool isLost = !run && run.failure().kind == FailureKind::DeviceLost;
    for (size_t i = 0; i < options.regimes.size(); ++i) {
      auto regime = static_cast<unsigned>(i);
      if (!schedule.isOpen(step.kernel, step.attempt, regime))
        continue;
      Record record = base;
      record[Column::Regime] = toString(options.regimes[i]);
      Status failed;
      if (error.empty()) {
        failed = measureRegime(**run, step, options.regimes[i], record);
        if (failed)
          record[Column::Error] = error = failed->message;
        isLost |= failed && failed->kind == FailureKind::DeviceLost;
      } else {
        record[Column::Error] = error;
      }
      if (Status broken = append(record))
        return broken;
      schedule.noteMeasured(step.kernel, step.attempt, regime,
                            timeOf(record[Column::TimeNs], record[Column::Error]));
    }
    if (isLost)
      return Failure{FailureKind::DeviceLost, items[step.kernel].kernel->name + ": " + error};
    return fine();
  }

  Status lookAtIncumbent(const Step &step) {
    std::string error;
    Record record = recordFor(step);
    record[Column::Regime] = toString(options.regimes[0]);
    auto run = prepare(step, record, error);
    bool isLost = !run && run.failure().kind == FailureKind::DeviceLost;
    if (error.empty())
      if (Status failed = measureRegime(**run, step, options.regimes[0], record)) {
        error = failed->message;
        isLost |= failed->kind == FailureKind::DeviceLost;
      }
    if (!error.empty())
      record[Column::Error] = error;
    if (Status broken = append(record))
      return broken;
    schedule.noteIncumbent(timeOf(record[Column::TimeNs], record[Column::Error]));
    if (isLost)
      return Failure{FailureKind::DeviceLost, items[step.kernel].kernel->name + ": " + error};
    return fine();
  }

  Status measureRegime(const KernelRun &run, const Step &step, Regime regime, Record &record) {
    TimedRuns runs;
    runs.launch = [&] { return run.launch(); };
    std::optional<LaunchGraph> graph; // until its kernels are done
    if (regime == Regime::Graph)
      runs.launchAll = [&](unsigned count) -> Status {
        graph.reset();
        auto captured = LaunchGraph::capture(
            gpu->driver(), count, [&](cuda::Stream stream) { return run.launch(stream); });
        if (!captured)
          return captured.failure();
        graph = std::move(*captured);
        return graph->launch();
      };
    double flushNs = 0;
    if (regime == Regime::Cold) {
      runs.before = [&](unsigned number) { return writeFlush(number); };
      record[Column::FlushBytes] = std::to_string(flush.bytes());
      if (double rate = gpu->info().memoryBytesPerSecond; rate > 0)
        flushNs = 1e9 * static_cast<double>(flush.bytes()) / rate;
    }
    // The warm-up also says how many samples the budget allows.
    auto first = timer->time(std::max(1u, options.measure.warmups), runs);
    if (!first)
      return first.failure();
    double estimateNs = first->back().endNs - first->back().startNs;
    telemetry.take();
    runs.meanwhile = [&] { telemetry.sample(); };
    auto intervals = timer->time(sampleCount(options.measure, estimateNs + flushNs), runs);
    if (!intervals)
      return intervals.failure();
    Readings readings = telemetry.take();
    auto put = [&](Column column, const std::optional<double> &value) {
      if (value)
        record[column] = numberText(*value);
    };
    put(Column::SmClockMhz, readings.smMegahertz);
    put(Column::MemoryClockMhz, readings.memoryMegahertz);
    put(Column::PowerW, readings.watts);
    put(Column::TemperatureC, readings.celsius);
    record[Column::Throttle] = readings.throttle;
    double leastNs = leastTimeNs(*items[step.kernel].kernel, gpu->info(), regime);
    if (leastNs > 0)
      record[Column::BoundNs] = numberText(leastNs);
    writeSamples(judge(*intervals, leastNs), regime, record);
    return fine();
  }

  Status writeFlush(unsigned number) {
    if (cuda::Status status =
            gpu->driver().memsetD32Async(flush.address(), number, flush.bytes() / 4, nullptr))
      return gpu->driver().failure(status, "can't overwrite L2");
    return fine();
  }

  const std::vector<WorkItem> &items;
  const SessionOptions &options;
  Journal &journal;
  const SessionHooks &hooks;
  Schedule schedule;
  std::map<const Pack *, bool> asPtx;
  std::unique_ptr<Gpu> gpu;
  std::unique_ptr<KernelTimer> timer;
  Telemetry telemetry;
  DeviceBuffer flush;
  std::unique_ptr<InputCache> inputs;
};

} // namespace

Schedule replay(const std::vector<WorkItem> &items, const SessionOptions &options,
                const Journal &journal) {
  ScheduleOptions own = options.schedule;
  own.regimes = static_cast<unsigned>(options.regimes.size());
  Schedule schedule(items.size(), own);
  std::map<std::string, size_t> byHash;
  for (size_t i = 0; i < items.size(); ++i)
    byHash.emplace(items[i].kernel->planHash, i);
  for (const auto &cells : journal.rows()) {
    std::optional<Record> record = Record::fromCells(cells);
    auto known = record ? byHash.find((*record)[Column::PlanHash]) : byHash.end();
    if (known == byHash.end())
      continue; // of another pack
    std::optional<double> time = timeOf((*record)[Column::TimeNs], (*record)[Column::Error]);
    if ((*record)[Column::Role] == "incumbent") {
      schedule.noteIncumbent(time);
      continue;
    }
    for (size_t r = 0; r < options.regimes.size(); ++r)
      if ((*record)[Column::Regime] == toString(options.regimes[r]))
        schedule.noteMeasured(
            known->second,
            static_cast<unsigned>(std::strtoul((*record)[Column::Attempt].c_str(), nullptr, 10)),
            static_cast<unsigned>(r), time);
  }
  return schedule;
}

Record newRecord(const WorkItem &item, const Step &step, const SessionOptions &options) {
  Record record;
  const PackKernel &kernel = *item.kernel;
  record[Column::Role] = step.kind == Step::Kind::Incumbent ? "incumbent" : "measure";
  record[Column::Block] = std::to_string(step.block);
  record[Column::Attempt] = std::to_string(step.attempt);
  record[Column::Kernel] = kernel.name;
  record[Column::Kind] = kernel.kind;
  record[Column::Problem] = kernel.problem;
  record[Column::PlanHash] = kernel.planHash;
  record[Column::Plan] = kernel.plan;
  record[Column::GridX] = std::to_string(kernel.geometry.grid[0]);
  record[Column::GridY] = std::to_string(kernel.geometry.grid[1]);
  record[Column::GridZ] = std::to_string(kernel.geometry.grid[2]);
  record[Column::Threads] = std::to_string(kernel.threads());
  record[Column::SmemBytes] = std::to_string(kernel.geometry.sharedBytes);
  record[Column::Target] = item.pack->target;
  record[Column::Pack] = item.pack->hash;
  record[Column::Seed] = std::to_string(options.schedule.seed);
  record[Column::ToolVersion] = TILEWRIGHT_VERSION;
  return record;
}

SessionEnd runSession(const std::vector<WorkItem> &items, const SessionOptions &options,
                      Journal &journal, const SessionHooks &hooks) {
  return Session(items, options, journal, hooks).run();
}

} // namespace tilewright::profile
