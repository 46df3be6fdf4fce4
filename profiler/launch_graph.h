// Launches of one kernel as a CUDA graph: the device starts each node itself, without a launch from
// the host in between.
#pragma once

#include "profiler/driver.h"

#include <functional>

namespace tilewright::profile {

/// `count` launches in a row, ready to run. Must outlive them.
class LaunchGraph {
public:
  /// `launch` enqueues the kernel on the stream that it is given, which captures it. Errors: those
  /// of `launch`, and whatever the driver refuses.
  static Result<LaunchGraph> capture(const Driver &driver, unsigned count,
                                     const std::function<Status(cuda::Stream)> &launch);
  LaunchGraph(LaunchGraph &&other) noexcept { *this = std::move(other); }
  LaunchGraph &operator=(LaunchGraph &&other) noexcept;
  ~LaunchGraph();

  /// Enqueues them on the default stream.
  Status launch() const;

private:
  explicit LaunchGraph(const Driver &driver) : driver(&driver) {}

  const Driver *driver = nullptr;
  cuda::Stream stream = nullptr;
  cuda::Graph graph = nullptr;
  cuda::GraphExec executable = nullptr;
};

} // namespace tilewright::profile
