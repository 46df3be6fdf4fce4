// Benchmarks that compare: runs are named "question/engine", and when all are done the time of each
// engine over Tilewright's is printed for every question.
#pragma once

#include <benchmark/benchmark.h>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace tilewright::bench {

class RatioReporter : public benchmark::ConsoleReporter {
public:
  void ReportRuns(const std::vector<Run> &runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run &run : runs) {
      std::string name = run.run_name.function_name;
      size_t slash = name.rfind('/');
      if (slash != std::string::npos && !run.error_occurred)
        times[name.substr(0, slash)][name.substr(slash + 1)] = run.GetAdjustedRealTime();
    }
  }

  void Finalize() override {
    std::printf("\n");
    for (const auto &[question, engines] : times) {
      auto own = engines.find("tilewright");
      if (own == engines.end())
        continue;
      for (const auto &[engine, time] : engines)
        if (engine != "tilewright")
          std::printf("%s: %s takes %.3g times as long\n", question.c_str(), engine.c_str(),
                      time / own->second);
    }
  }

private:
  std::map<std::string, std::map<std::string, double>> times;
};

inline int runWithRatios(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}

} // namespace tilewright::bench
