#include "tools/explore/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tilewright {

void parallelFor(size_t count, unsigned jobs, const std::function<void(size_t)> &body) {
  std::atomic<size_t> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  auto work = [&] {
    try {
      for (size_t i; (i = next++) < count;)
        body(i);
    } catch (...) {
      next = count;
      std::lock_guard lock(mutex);
      if (!thrown)
        thrown = std::current_exception();
    }
  };
  std::vector<std::jthread> threads; // joined also where one more can't be started
  for (unsigned t = 1; t < std::min<size_t>(jobs, count); ++t)
    threads.emplace_back(work);
  work();
  threads.clear();
  if (thrown)
    std::rethrow_exception(thrown);
}

} // namespace tilewright
