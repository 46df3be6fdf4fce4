#include "profiler/counters.h"

#include "profiler/cupti.h"

#include <cmath>
#include <limits>

namespace tilewright::profile {

namespace {

constexpr const char *names[] = {
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_bytes.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_bytes.sum",
    "l1tex__m_xbar2l1tex_read_bytes.sum",
    "smsp__inst_executed.sum",
    "sm__inst_executed_pipe_tensor.sum",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "smsp__sass_inst_executed_op_local.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
};

} // namespace

std::span<const char *const> counterNames() { return names; }

struct CounterSession::Impl {
  const Gpu &gpu;
  CuptiProfiler cupti;
  std::optional<CuptiActivity> texts; ///< for the words of an error
  void *host = nullptr, *profiler = nullptr;
  std::vector<uint8_t> availability, config, counterData, emptyCounterData;
  std::vector<const char *> known; ///< those of the names that the chip has
  std::string chip;
  unsigned passes = 0;

  Impl(const Gpu &gpu, CuptiProfiler cupti) : gpu(gpu), cupti(cupti) {
    std::string ignored;
    texts = CuptiActivity::open(ignored);
  }
  ~Impl() {
    if (profiler) {
      cupti::RangeDisable disable;
      disable.profiler = profiler;
      cupti.rangeDisable(disable);
    }
    release(host);
  }

  void release(void *object) {
    if (!object)
      return;
    cupti::HostDeinitialize block;
    block.host = object;
    cupti.hostDeinitialize(block);
  }

  Failure failure(cupti::Status status, const std::string &what) const {
    std::string text = texts ? texts->describe(status) : "CUPTI error " + std::to_string(status);
    if (status == cupti::insufficientPrivileges ||
        status == cupti::virtualizedInsufficientPrivileges)
      return {FailureKind::NoGpu,
              "hardware counters are not permitted here (" + text +
                  "): run as root or with CAP_PERFMON, or have the driver loaded with "
                  "NVreg_RestrictProfilingToAdminUsers=0"};
    return {FailureKind::Kernel, what + ": " + text};
  }

  Result<void *> newHost() {
    cupti::HostInitialize block;
    block.chipName = chip.c_str();
    block.availabilityImage = availability.empty() ? nullptr : availability.data();
    if (auto status = cupti.hostInitialize(block))
      return failure(status, "CUPTI does not know the chip '" + chip + "'");
    return block.host;
  }

  Status configure(int ordinal) {
    cupti::Initialize initialize;
    if (auto status = cupti.profilerInitialize(initialize))
      return failure(status, "CUPTI's profiler does not start");
    cupti::GetChipName chipName;
    chipName.deviceIndex = static_cast<size_t>(ordinal);
    if (auto status = cupti.getChipName(chipName))
      return failure(status, "CUPTI does not name the chip");
    chip = chipName.chipName ? chipName.chipName : "";
    cupti::GetCounterAvailability available;
    available.context = gpu.context();
    if (auto status = cupti.getCounterAvailability(available))
      return failure(status, "CUPTI does not say which counters there are");
    availability.resize(available.imageSize);
    available.image = availability.data();
    if (auto status = cupti.getCounterAvailability(available))
      return failure(status, "CUPTI does not say which counters there are");
    // One unknown name spoils a whole list, so each is tried on its own.
    for (const char *name : names) {
      Result<void *> probe = newHost();
      if (!probe)
        return probe.failure();
      cupti::HostConfigAddMetrics add;
      add.host = *probe;
      add.names = &name;
      add.count = 1;
      if (cupti.hostConfigAddMetrics(add) == cupti::success)
        known.push_back(name);
      release(*probe);
    }
    if (known.empty())
      return Failure{FailureKind::Kernel, "CUPTI knows none of the counters on " + chip};
    return buildConfig();
  }

  Status buildConfig() {
    Result<void *> made = newHost();
    if (!made)
      return made.failure();
    host = *made;
    cupti::HostConfigAddMetrics add;
    add.host = host;
    add.names = known.data();
    add.count = known.size();
    if (auto status = cupti.hostConfigAddMetrics(add))
      return failure(status, "the counters can't be combined");
    cupti::HostGetConfigImageSize size;
    size.host = host;
    if (auto status = cupti.hostGetConfigImageSize(size))
      return failure(status, "CUPTI makes no configuration");
    config.resize(size.size);
    cupti::HostGetConfigImage image;
    image.host = host;
    image.size = config.size();
    image.image = config.data();
    if (auto status = cupti.hostGetConfigImage(image))
      return failure(status, "CUPTI makes no configuration");
    cupti::HostGetNumOfPasses count;
    count.size = config.size();
    count.image = config.data();
    if (auto status = cupti.hostGetNumOfPasses(count))
      return failure(status, "CUPTI does not count the passes");
    passes = static_cast<unsigned>(count.passes);
    return fine();
  }

  Status enable() {
    cupti::RangeEnable block;
    block.context = gpu.context();
    if (auto status = cupti.rangeEnable(block))
      return failure(status, "the range profiler does not start");
    profiler = block.profiler;
    cupti::RangeCounterDataSize size;
    size.profiler = profiler;
    size.names = known.data();
    size.count = known.size();
    size.maxRanges = size.maxTreeNodes = 1;
    if (auto status = cupti.rangeCounterDataSize(size))
      return failure(status, "CUPTI does not size its counter data");
    emptyCounterData.resize(size.size);
    cupti::RangeCounterDataInitialize initialize;
    initialize.profiler = profiler;
    initialize.size = emptyCounterData.size();
    initialize.data = emptyCounterData.data();
    if (auto status = cupti.rangeCounterDataInitialize(initialize))
      return failure(status, "CUPTI does not prepare its counter data");
    return fine();
  }

  Status collect(const std::function<Status()> &launch) {
    counterData = emptyCounterData;
    cupti::RangeSetConfig set;
    set.profiler = profiler;
    set.configSize = config.size();
    set.config = config.data();
    set.counterDataSize = counterData.size();
    set.counterData = counterData.data();
    if (auto status = cupti.rangeSetConfig(set))
      return failure(status, "the counters can't be set up");
    cupti::RangeStart start;
    start.profiler = profiler;
    if (auto status = cupti.rangeStart(start))
      return failure(status, "counting does not start");
    Status failed = launch();
    if (!failed)
      failed = gpu.wait();
    cupti::RangeStop stop;
    stop.profiler = profiler;
    cupti::Status status = cupti.rangeStop(stop);
    if (failed)
      return failed;
    if (status)
      return failure(status, "counting does not end");
    cupti::RangeDecode decode;
    decode.profiler = profiler;
    if ((status = cupti.rangeDecode(decode)))
      return failure(status, "the counters can't be read");
    cupti::RangeCounterDataInfo info;
    info.data = counterData.data();
    info.size = counterData.size();
    if ((status = cupti.rangeCounterDataInfo(info)))
      return failure(status, "the counters can't be read");
    if (info.ranges != 1)
      return Failure{FailureKind::Kernel,
                     "CUPTI counted " + std::to_string(info.ranges) + " kernels in place of one"};
    return fine();
  }
};

CounterSession::CounterSession(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
CounterSession::~CounterSession() = default;
unsigned CounterSession::passes() const { return impl->passes; }

Result<std::unique_ptr<CounterSession>> CounterSession::open(const Gpu &gpu, int ordinal) {
  std::string why;
  auto cupti = CuptiProfiler::open(why);
  if (!cupti)
    return Failure{FailureKind::NoGpu, "no hardware counters: " + why};
  auto impl = std::make_unique<Impl>(gpu, *cupti);
  if (Status failed = impl->configure(ordinal))
    return *failed;
  if (Status failed = impl->enable())
    return *failed;
  return std::unique_ptr<CounterSession>(new CounterSession(std::move(impl)));
}

Result<std::vector<double>> CounterSession::count(const std::function<Status()> &launch) {
  if (Status failed = impl->collect(launch))
    return *failed;
  std::vector<double> values(impl->known.size());
  cupti::HostEvaluate evaluate;
  evaluate.host = impl->host;
  evaluate.counterData = impl->counterData.data();
  evaluate.counterDataSize = impl->counterData.size();
  evaluate.names = impl->known.data();
  evaluate.count = impl->known.size();
  evaluate.values = values.data();
  if (auto status = impl->cupti.hostEvaluate(evaluate))
    return impl->failure(status, "the counters can't be evaluated");
  std::vector<double> result;
  size_t next = 0;
  for (const char *name : names) {
    bool isKnown = next < impl->known.size() && impl->known[next] == name;
    result.push_back(isKnown ? values[next] : std::numeric_limits<double>::quiet_NaN());
    next += isKnown;
  }
  return result;
}

} // namespace tilewright::profile
