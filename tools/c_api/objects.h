// What the handles of tilewright.h name.
#pragma once

#include "costmodel/calibration.h"
#include "costmodel/plan_batch.h"
#include "tools/c_api/handles.h"
#include "tools/explore/kernel_plans.h"
#include "tools/explore/prepared_model.h"

#include <mutex>
#include <string>
#include <vector>

namespace tilewright::capi {

struct Session : Object {
  static constexpr const char *kind = "session";
  std::string data; ///< empty: wherever dataFolder() finds it

  std::string folder(const char *part) const;
};

struct Text : Object {
  static constexpr const char *kind = "text";
  std::string bytes;
};

struct Model : Object {
  static constexpr const char *kind = "model";
  std::shared_ptr<const Module> module;    ///< as it was read
  std::shared_ptr<PreparedModel> prepared; ///< as its kernels run
};

struct DeviceOfSession : Object {
  static constexpr const char *kind = "device";
  Device device;
  Calibration calibration;
};

/// One space of a kernel with what answers about it, made when it is first asked for.
struct Space {
  std::optional<ConstraintSystem> system; ///< with standard candidates
  std::optional<CompiledSystem> compiled;
  std::unique_ptr<PlanScorer> scorer;
};

struct Kernel : Object {
  static constexpr const char *kind = "kernel";
  Kernel(std::shared_ptr<Model> model, std::shared_ptr<DeviceOfSession> device, KernelSource source,
         KernelPlans plans)
      : model(std::move(model)), device(std::move(device)), source(std::move(source)),
        plans(std::move(plans)), spaces(this->plans.spaces().size()) {}

  const TileSpace &space() const { return plans.spaces().front().tiled->space; }
  size_t parameters() const { return space().parameters.size(); }

  const std::shared_ptr<Model> model;
  const std::shared_ptr<DeviceOfSession> device;
  const KernelSource source;
  const KernelPlans plans; ///< refers to the device
  std::mutex mutex;        ///< expressions belong to one thread at a time
  std::vector<Space> spaces;
  std::unique_ptr<PlanBatch> triton; ///< plans as Triton compiles them, once asked for
};

struct Plans : Object {
  static constexpr const char *kind = "plans";
  size_t parameters = 0;
  std::vector<std::vector<int64_t>> values;
  std::vector<Instruction> instructions;
  std::vector<double> timesNs;
  std::string description; ///< JSON
};

} // namespace tilewright::capi
