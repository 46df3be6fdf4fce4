#include "profiler/launch_graph.h"

#include <utility>

namespace tilewright::profile {

LaunchGraph &LaunchGraph::operator=(LaunchGraph &&other) noexcept {
  std::swap(driver, other.driver);
  std::swap(stream, other.stream);
  std::swap(graph, other.graph);
  std::swap(executable, other.executable);
  return *this;
}

LaunchGraph::~LaunchGraph() {
  if (executable)
    driver->graphExecDestroy(executable);
  if (graph)
    driver->graphDestroy(graph);
  if (stream)
    driver->streamDestroy(stream);
}

Result<LaunchGraph> LaunchGraph::capture(const Driver &driver, unsigned count,
                                         const std::function<Status(cuda::Stream)> &launch) {
  LaunchGraph result(driver);
  // The default stream can't capture.
  if (cuda::Status status = driver.streamCreate(&result.stream, cuda::NonBlockingStream))
    return driver.failure(status, "can't create a stream");
  if (cuda::Status status = driver.streamBeginCapture(result.stream, cuda::CaptureThreadLocal))
    return driver.failure(status, "can't capture a graph");
  Status failed;
  for (unsigned i = 0; i < count && !failed; ++i)
    failed = launch(result.stream);
  // A capture must be ended even where it failed.
  cuda::Status ended = driver.streamEndCapture(result.stream, &result.graph);
  if (failed)
    return *failed;
  if (ended)
    return driver.failure(ended, "can't capture a graph");
  if (cuda::Status status = driver.graphInstantiate(&result.executable, result.graph, 0))
    return driver.failure(status, "can't make a graph ready");
  return result;
}

Status LaunchGraph::launch() const {
  if (cuda::Status status = driver->graphLaunch(executable, nullptr))
    return driver->failure(status, "the launch of a graph is refused");
  return fine();
}

} // namespace tilewright::profile
