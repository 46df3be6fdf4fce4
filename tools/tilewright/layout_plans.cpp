#include "tools/tilewright/layout_plans.h"

#include "analysis/ir/inline.h"
#include "analysis/tiling/plan_text.h"
#include "tools/tilewright/device_choices.h"
#include "tools/tilewright/evaluation_output.h"
#include "tools/tilewright/inference_output.h"
#include "tools/tilewright/plan_saving.h"

namespace tilewright::cli {

namespace {

constexpr size_t plansOfSearch = 64; ///< of all variants together

void printRanks(const std::vector<RefinedPlan> &ranks, const LayoutPlansArguments &options) {
  say("the best {} plans of each variant, by what they would take with inferred layouts at most; "
      "prices of layouts are assumed\n",
      options.plans);
  TextTable table;
  table.head = {"place",    "time",  "with inferred", "clk a CTA",
                "inferred", "floor", "variant",       "plan"};
  for (const RefinedPlan &rank : ranks) {
    const LayoutSaving &saving = *rank.saving.layouts;
    const bool isCompared = saving.refusal.empty();
    auto clocks = [&](inference::Cost cost) {
      return isCompared ? fmt::format("{:g}", clocksOf(cost)) : std::string("-");
    };
    table.rows.push_back({std::to_string(rank.place + 1), timeText(rank.plan.estimate.timeNs),
                          isCompared ? timeText(rank.timeNs()) : "-", clocks(saving.given),
                          clocks(saving.inferred), clocks(saving.floor),
                          std::to_string(rank.variant + 1), planText(rank.plan.plan)});
  }
  say("{}", table.text());
  for (const RefinedPlan &rank : ranks) {
    const LayoutSaving &saving = *rank.saving.layouts;
    for (const std::string &conflict : saving.conflicts)
      say("place {}: bank conflicts in the best layouts, too: {}\n", rank.place + 1, conflict);
    if (!saving.refusal.empty())
      say("place {}: not compared: {}\n", rank.place + 1, saving.refusal);
    if (!saving.unwritten.empty())
      say("place {}: the program can't have the inferred layouts: {}\n", rank.place + 1,
          saving.unwritten);
  }
}

Json jsonOf(const std::vector<RefinedPlan> &ranks) {
  Json list = Json::array();
  for (const RefinedPlan &rank : ranks) {
    const LayoutSaving &saving = *rank.saving.layouts;
    Json one = {{"place", rank.place + 1},
                {"variant", rank.variant + 1},
                {"plan", planText(rank.plan.plan)},
                {"time_ns", rank.plan.estimate.timeNs}};
    if (saving.refusal.empty()) {
      one["inferred_time_ns"] = rank.timeNs();
      one["given_clocks"] = clocksOf(saving.given);
      one["inferred_clocks"] = clocksOf(saving.inferred);
      one["floor_clocks"] = clocksOf(saving.floor);
    } else {
      one["refusal"] = saving.refusal;
    }
    if (!saving.unwritten.empty())
      one["not_recorded_because"] = saving.unwritten;
    one["conflicts"] = saving.conflicts;
    one["layouts"] = Json::array();
    for (const PlanLayout &layout : saving.layouts)
      one["layouts"].push_back(layout.of + ": " + layout.layout);
    list.push_back(std::move(one));
  }
  return list;
}

} // namespace

void addLayoutPlans(CLI::App &command, LayoutPlansArguments &options) {
  auto *plans = command
                    .add_option("--plans", options.plans,
                                "Of a model: the best N plans of each variant of the kernel, "
                                "ranked again by what inferred layouts would save at most")
                    ->check(CLI::Range(size_t(1), size_t(1000)));
  command.add_option("--device", options.device, "Of --plans")->needs(plans)->capture_default_str();
  command.add_option("--calibration", options.calibration, "Of --plans: NAME or FILE.json")
      ->needs(plans);
}

int runLayoutPlans(const std::string &path, const ModelTile &model,
                   const LayoutPlansArguments &options, bool json) {
  llvm::Expected<AskedDevice> asked = askedDevice(options.device, options.calibration);
  if (!asked)
    return failInput(asked.takeError());
  llvm::Expected<Module> read = readModel(path, model.choice);
  if (!read)
    return failInput(read.takeError());
  llvm::Expected<Module> inlined = inlineCalls(*read);
  if (!inlined)
    return failInput(inlined.takeError());
  auto module = std::make_shared<const Module>(std::move(*inlined));
  llvm::Expected<KernelSource> source = findKernel(*module, model.root);
  if (!source)
    return failInput(source.takeError());
  llvm::Expected<KernelPlans> plans =
      kernelPlans(module, *source, asked->device, asked->calibration);
  if (!plans)
    return fail(plans.takeError());
  PlanSearchOptions search;
  search.top = std::max(plansOfSearch, 4 * options.plans);
  llvm::Expected<PlanRanking> ranking = plans->search(search);
  if (!ranking)
    return fail(ranking.takeError());
  const std::vector<RefinedPlan> ranks =
      PlanRefiner(asked->device, asked->calibration, {.layouts = options.plans})
          .rank(ranking->best);
  if (json) {
    Json document = newDocument("layout.plans");
    document["device"] = asked->device.name;
    document["plans_of_variant"] = options.plans;
    document["plans"] = jsonOf(ranks);
    print(document);
  } else if (ranks.empty()) {
    say("no plan: {}\n", ranking->refusal.empty() ? "none has a program" : ranking->refusal);
  } else {
    printRanks(ranks, options);
  }
  return ranks.empty() ? AnswerIsNo : Fine;
}

} // namespace tilewright::cli
