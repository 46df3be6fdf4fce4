// How many slots, how far ahead, whose warps: the settings of a loop with the least time, and the
// program that has them.
//
// Each setting is a program, whose schedule is that of the code it becomes. Nothing here waits for
// what comes later: a schedule gives every wait an earlier start, for any number of steps. Settings
// whose waits go round have none, and say which.
#pragma once

#include "analysis/program/pipeline/modulo_schedule.h"
#include "analysis/program/pipeline/program_loop.h"
#include "analysis/tiling/device_limits.h"

namespace tilewright::pipeline {

struct PipelineSettings {
  int64_t slots = 1;           ///< of the loop's rings
  int64_t ahead = 0;           ///< steps; of a producer those that slots allow
  bool isProduced = false;     ///< a producer copies
  bool isAsynchronous = false; ///< products of wgmma stay in flight: `wait 1`
  bool operator==(const PipelineSettings &) const = default;
};
/// "3 slots, 2 steps ahead", "4 slots, producer, wait 1".
std::string toString(const PipelineSettings &settings);

struct LoopSchedule {
  PipelineSettings settings;
  ProgramLoop loop;
  ModuloSchedule schedule;
  LoopTime time;
  std::string refusal; ///< why there is none; empty: there is one
};

struct PipelineAnswer {
  LoopSchedule given;              ///< the program as it is
  std::vector<LoopSchedule> tried; ///< in order of settings
  size_t best = 0;                 ///< of those tried
  ModuloSchedule any;              ///< with the best one's slots, in whatever order; if proved
  program::Program program;        ///< with the best settings

  const LoopSchedule &chosen() const { return tried[best]; }
  /// Time of the loop as given, over that with the best settings.
  double gain() const;
};

struct PipelineOptions {
  InstructionTimes times;
  DeviceLimits limits;
  int64_t mostSlots = 8;
  bool keepsSlots = false; ///< slots and who copies stay the program's
  bool isProved = true;    ///< also by Z3, and with what no order of the warps goes below
};

/// Those of the program's n-th copying loop. Its sizes are numbers.
PipelineSettings settingsOf(const program::Program &program, size_t loop);
/// Has a loop products by wgmma that may stay in flight?
bool mayFly(const program::ForOp &loop);

/// The program with these settings of its n-th copying loop. Errors: those of the verifier, of
/// produce(). Without limits any device's memory is enough.
llvm::Expected<program::Program> withSettings(const program::Program &program, size_t loop,
                                              const PipelineSettings &settings,
                                              const DeviceLimits *limits);

/// Of the n-th of copyingLoops(). The program's sizes are numbers. Unsupported: what
/// pipelineLoopOf() does not schedule; BadInput: no settings have a schedule.
llvm::Expected<PipelineAnswer> choosePipeline(const program::Program &program, size_t loop,
                                              const PipelineOptions &options);

} // namespace tilewright::pipeline
