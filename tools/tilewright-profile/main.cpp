// tilewright-profile: measures packs on a GPU. One self-contained executable, copied to the machine
// with the GPU.
#include "analysis/support/printable.h"
#include "profiler/pack_reader.h"
#include "profiler/summary.h"
#include "profiler/supervisor.h"
#include "profiler/text.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

using namespace tilewright::profile;

namespace {

struct Options {
  std::vector<std::string> packs;
  std::string out, regimes = "cold,warm";
  SessionOptions session;
  Supervision supervision;
  double timeLimitSeconds = 0, budgetMs = 100;
  bool counters = false, json = false;
};

int fail(const Failure &failure) {
  std::fprintf(stderr, "error: %s\n", tilewright::printableMessage(failure.message).c_str());
  return failure.kind == FailureKind::NoGpu ? 3 : 2;
}

Result<std::vector<Regime>> parseRegimes(const std::string &text) {
  std::vector<Regime> regimes;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    auto known = std::find_if(std::begin(allRegimes), std::end(allRegimes), [&](Regime regime) {
      return text.compare(at, end - at, toString(regime)) == 0;
    });
    if (known == std::end(allRegimes) ||
        std::find(regimes.begin(), regimes.end(), *known) != regimes.end())
      return Failure{FailureKind::BadInput,
                     "--regimes '" + text + "' is not a list of cold, warm and graph, each once"};
    regimes.push_back(*known);
    at = end + 1;
  }
  return regimes;
}

/// The ops of each problem, so that the rows can be priced without the pack.
Status writeProblems(const std::string &out, const std::vector<Pack> &packs) {
  using Json = nlohmann::ordered_json;
  std::string path = out + ".problems.json";
  Json problems = Json::array();
  std::set<std::string> seen;
  auto add = [&](const std::string &hash, const std::string &hlo) {
    if (seen.insert(hash).second)
      problems.push_back({{"hash", hash}, {"hlo", hlo}});
  };
  for (const Pack &pack : packs)
    for (const PackProblem &problem : pack.problems)
      add(problem.hash, problem.hlo);
  // Those of an earlier run into the same file stay; one that can't be read is never replaced.
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    auto old = readTextFile(path, 1u << 30);
    if (!old)
      return old.failure();
    auto refuse = [&] {
      return Failure{FailureKind::BadInput,
                     path + " is damaged, and the rows of " + out +
                         " can't be priced without it; restore it, or give another --out"};
    };
    Json root = Json::parse(*old, nullptr, false);
    if (!root.is_object() || root.value("schema", Json()) != "tilewright.problems" ||
        !root.contains("problems") || !root["problems"].is_array())
      return refuse();
    for (const Json &problem : root["problems"]) {
      if (!problem.is_object() || !problem.contains("hash") || !problem["hash"].is_string() ||
          !problem.contains("hlo") || !problem["hlo"].is_string())
        return refuse();
      add(problem["hash"].get<std::string>(), problem["hlo"].get<std::string>());
    }
  }
  if (problems.empty())
    return fine();
  Json root{{"schema", "tilewright.problems"}, {"schema_version", 1}, {"problems", problems}};
  return writeTextFile(path, root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

const char *endText(SessionEnd end) {
  switch (end) {
  case SessionEnd::Done:
    return "done";
  case SessionEnd::Stopped:
    return "stopped";
  case SessionEnd::NoGpu:
    return "no-gpu";
  default:
    return "failed";
  }
}

int measure(Options options) {
  auto regimes = parseRegimes(options.regimes);
  if (!regimes)
    return fail(regimes.failure());
  options.session.regimes = *regimes;
  options.session.measure.budgetNs = 1e6 * options.budgetMs;
  if (options.timeLimitSeconds > 0) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    options.session.deadlineSeconds = static_cast<double>(now.tv_sec) +
                                      1e-9 * static_cast<double>(now.tv_nsec) +
                                      options.timeLimitSeconds;
  }
  std::vector<Pack> packs;
  for (const std::string &folder : options.packs) {
    Result<Pack> pack = readPack(folder);
    if (!pack)
      return fail(pack.failure());
    packs.push_back(std::move(*pack));
  }
  std::vector<WorkItem> items;
  std::set<std::string> plans;
  for (const Pack &pack : packs)
    for (const PackKernel &kernel : pack.kernels)
      if (plans.insert(kernel.planHash).second) // a plan that is in two packs is measured once
        items.push_back({&pack, &kernel});
  if (items.empty())
    return fail({FailureKind::BadInput, "the packs hold no kernel"});

  Result<Journal> journal = Journal::open(options.out, Record::header());
  if (!journal)
    return fail(journal.failure());
  if (journal->droppedBytes() > 0)
    std::fprintf(stderr, "note: %zu bytes of a row that was not whole were dropped from %s\n",
                 journal->droppedBytes(), options.out.c_str());
  // Before the first row: those of a run that is killed can be priced, too.
  std::error_code ignored;
  const std::string problemsPath = options.out + ".problems.json";
  const bool hadProblems = std::filesystem::exists(problemsPath, ignored);
  if (Status failed = writeProblems(options.out, packs))
    return fail(*failed);
  SessionEnd end = supervise(
      *journal, options.supervision,
      [&](Journal &rows, const SessionHooks &hooks) {
        return runSession(items, options.session, rows, hooks);
      },
      [&](Journal &rows, const Step &step, const std::string &why) {
        return blameStep(items, options.session, rows, step, why);
      });
  if (journal->rows().empty() && !hadProblems)
    std::filesystem::remove(problemsPath, ignored);
  bool lacksCounters = false;
  if (options.counters && end == SessionEnd::Done) {
    Result<Journal> counters = Journal::open(options.out + ".counters.csv", counterColumns());
    if (!counters)
      return fail(counters.failure());
    end = supervise(
        *counters, options.supervision,
        [&](Journal &rows, const SessionHooks &hooks) {
          return runCounters(items, options.session, rows, hooks);
        },
        [&](Journal &rows, const Step &step, const std::string &why) {
          std::vector<std::string> cells(counterColumns().size());
          cells[0] = items[step.kernel].kernel->name;
          cells[1] = items[step.kernel].kernel->planHash;
          cells[2] = items[step.kernel].kernel->plan;
          cells.back() = why;
          return rows.append(std::move(cells));
        });
    if (end == SessionEnd::NoGpu) {
      std::fprintf(stderr, "note: times were measured, counters were not\n");
      end = SessionEnd::Done;
      lacksCounters = true;
    }
  }
  if (journal->rows().empty())
    return end == SessionEnd::Stopped ? 4 : end == SessionEnd::BadInput ? 2 : 3;
  RunSummary summary = summarise(items, options.session, *journal);
  std::string text =
      options.json ? toJson(summary, options.out, endText(end)) : toText(summary, options.out);
  if (!options.json)
    text = tilewright::printable(text, true);
  std::fwrite(text.data(), 1, text.size(), stdout);
  switch (end) {
  case SessionEnd::Done:
    return summary.failed.empty() && !lacksCounters ? 0 : 1;
  case SessionEnd::Stopped:
    std::fprintf(stderr, "stopped; run the same command to resume\n");
    return 4;
  case SessionEnd::BadInput:
    return 2;
  default:
    return 3;
  }
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  ScheduleOptions &schedule = options.session.schedule;
  MeasureOptions &measuring = options.session.measure;
  CLI::App app{"Measures the kernels of packs on an NVIDIA GPU.\n"
               "Checks each kernel's numbers first, then times it with L2 overwritten before each "
               "launch (cold)\nand without (warm). Reads clocks and power, never sets them. Needs "
               "the driver; with CUPTI (CUDA\ntoolkit) times are those of the hardware's own "
               "records.",
               "tilewright-profile"};
  app.footer(
      "Example:\n"
      "  tilewright-profile pack --out h100.csv\n"
      "Each row is on disk before the next kernel runs: interrupt it, kill it, run it again, and "
      "it resumes.\n"
      "Exit code: 0 all measured; 1 some kernels failed (see the column error) or counters are "
      "not\npermitted; 2 bad input or usage; 3 no GPU that can run the packs; 4 stopped before the "
      "end.");
  app.set_version_flag("--version", std::string("tilewright-profile ") + TILEWRIGHT_VERSION);
  app.add_option("PACK", options.packs, "Folders that tilewright emit wrote")->required();
  app.add_option("--out", options.out, "CSV file to add rows to")->required();
  app.add_option("--device", options.session.device, "Number of the GPU")
      ->check(CLI::Range(0, 1023))
      ->capture_default_str();
  app.add_option(
         "--regimes", options.regimes,
         "One or more of cold, warm (launches that follow each other) and graph (the same as the "
         "nodes of a CUDA graph, which needs CUPTI), with commas")
      ->capture_default_str();
  app.add_option("--samples", measuring.samples, "Timed launches for each kernel and regime")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--warmups", measuring.warmups, "Launches before them")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--budget-ms", options.budgetMs,
                 "Device time for each kernel and regime; slow kernels get fewer samples, not "
                 "under 5")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", schedule.seed, "Of the order of the kernels")
      ->check(CLI::Range(uint64_t(0), uint64_t(1) << 62))
      ->capture_default_str();
  app.add_option("--block", schedule.blockSize,
                 "Kernels between two looks at the incumbent, which tell drift")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--drift", schedule.driftTolerance,
                 "Change of the incumbent's time after which a block is measured again")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--timeout", options.supervision.timeoutSeconds,
                 "Seconds after which a kernel is given up")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  app.add_option("--time-limit", options.timeLimitSeconds,
                 "Seconds after which the run stops (code 4); 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--events", options.session.wantsEvents, "Time with events, not with CUPTI");
  app.add_flag("--counters", options.counters,
               "Then count hardware events of each kernel, into OUT.counters.csv");
  app.add_flag("--json", options.json, "Print the summary as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // --help and --version
    std::fprintf(stderr, "error: %s; see tilewright-profile --help\n", error.what());
    return 2;
  }
  try {
    return measure(std::move(options));
  } catch (const std::bad_alloc &) {
    return fail({FailureKind::BadInput, "out of memory; give the program more"});
  }
}
