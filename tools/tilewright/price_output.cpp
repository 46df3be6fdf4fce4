#include "tools/tilewright/price_output.h"

#include "tools/tilewright/device_output.h"

#include <cmath>
#include <fmt/format.h>

namespace tilewright::cli {

namespace {

/// Parameters shown: the first few carry nearly all of the uncertainty.
constexpr size_t maxShown = 6;

double percentOf(double sigmaLn) { return 100 * std::expm1(sigmaLn); }

} // namespace

llvm::Expected<PlanPrice> priceOf(const KernelPlans &plans, const KernelPlan &plan) {
  const Device &device = plans.device;
  const Calibration &calibration = plans.calibration;
  PlanPrice price;
  auto estimate = plans.price(plan);
  if (!estimate)
    return estimate.takeError();
  auto influences =
      influencesOn(plan, device, calibration,
                   {.cache = plans.options.cache, .registers = plans.options.registers});
  if (!influences)
    return influences.takeError();
  price.boundNs = plans.boundNs();
  price.estimate = std::move(*estimate);
  price.influences = std::move(*influences);
  const Calibration used = transferred(calibration, device);
  price.parameters = used.values();
  if (used.isFitted())
    price.calibration = used.transferredFrom.empty() ? used.device : used.transferredFrom;
  price.notes = notesOn(device, calibration);
  price.instruction = toString(plan.instruction);
  return price;
}

void printPrice(const PlanPrice &price) {
  printNotes(price.notes);
  const Estimate &e = price.estimate;
  if (!(e.timeNs < INFINITY)) {
    say("price     none: a CTA needs more than one SM has ({})\n", e.resources.occupancyLimiter);
    return;
  }
  say("price     {}{}, {} caches, {}: 68 % of such kernels take {} to {} (± {:.0f} %; ± "
      "{:.1f} % of "
      "it by the parameters)\n",
      timeText(e.timeNs), e.term("tensor") + e.term("fma") > 0 ? " by " + price.instruction : "",
      price.cache,
      price.calibration.empty() ? "the device description alone"
                                : "calibrated on " + price.calibration,
      timeText(e.timeNs * std::exp(-e.sigmaLn)), timeText(e.timeNs * std::exp(e.sigmaLn)),
      percentOf(e.sigmaLn), percentOf(parameterSpread(price.influences)));
  say("  limit   {}; no kernel can take less than {}\n", e.limiter, timeText(price.boundNs));
  std::string terms;
  for (const EstimateTerm &term : e.terms)
    if (term.ns > 0)
      terms += fmt::format("{}{} {}", terms.empty() ? "" : ", ", term.name, timeText(term.ns));
  say("  time    each resource alone: {}\n", terms);
  say("  bytes   DRAM read {}, written {} (at least {} in all), L2 {}, shared memory {}\n",
      bytesText(e.dramReadBytes), bytesText(e.dramWriteBytes), bytesText(e.compulsoryBytes),
      bytesText(e.l2Bytes), bytesText(e.sharedTrafficBytes));
  say("  work    useful {:.3g} FLOP, {:.3g} special functions; issued {:.3g}, {:.3g}\n",
      e.usefulFlops, e.usefulSpecialOps, e.issuedFlops, e.issuedSpecialOps);
  say("  CTAs    {:.0f} in {:.3g} waves, {:.3g} iterations; an SM holds {:.0f}: by registers "
      "{:.0f}, shared memory {:.0f}, warps {:.0f}, CTAs {:.0f}\n",
      e.ctas, e.waves, e.iterations, e.resources.ctasPerSm, e.resources.byRegisters,
      e.resources.byShared, e.resources.byWarps, e.resources.byCtas);
  const std::array<double, parameterCount> values = toArray(price.parameters);
  for (size_t i = 0; i < std::min(price.influences.size(), maxShown); ++i) {
    const ParameterInfluence &influence = price.influences[i];
    const ParameterInfo &info = parameterInfos()[size_t(influence.parameter)];
    say("  {} {} = {:.3g} {}± {:.1f} %: one per cent more of it is {:+.2f} % of the time\n",
        i == 0 ? "drivers " : "        ", info.name, values[size_t(influence.parameter)],
        info.unit == "1" ? "" : fmt::format("{} ", info.unit), percentOf(influence.sigmaLn),
        influence.elasticity);
  }
}

Json priceJson(const PlanPrice &price) {
  const Estimate &e = price.estimate;
  const bool runs = e.timeNs < INFINITY;
  Json document = {{"time_ns", runs ? Json(e.timeNs) : Json()},
                   {"sigma_ln", e.sigmaLn},
                   {"parameter_sigma_ln", parameterSpread(price.influences)},
                   {"calibration", price.calibration},
                   {"instruction", price.instruction},
                   {"notes", notesJson(price.notes)},
                   {"limiter", e.limiter},
                   {"roofline_ns", price.boundNs},
                   {"cache", price.cache}};
  document["terms_ns"] = Json::object();
  for (const EstimateTerm &term : e.terms)
    document["terms_ns"][term.name] = runs ? Json(term.ns) : Json();
  document["bytes"] = {{"compulsory", e.compulsoryBytes},
                       {"dram_read", e.dramReadBytes},
                       {"dram_written", e.dramWriteBytes},
                       {"l2", e.l2Bytes},
                       {"shared_memory", e.sharedTrafficBytes}};
  document["flops"] = e.usefulFlops;
  document["transcendentals"] = e.usefulSpecialOps;
  document["issued_flops"] = e.issuedFlops;
  document["special_functions"] = e.issuedSpecialOps;
  document["blocks"] = e.ctas;
  document["iterations"] = e.iterations;
  document["waves"] = e.waves;
  document["blocks_per_sm"] = {{"registers", e.resources.byRegisters},
                               {"shared_memory", e.resources.byShared},
                               {"warps", e.resources.byWarps},
                               {"blocks", e.resources.byCtas}};
  document["parameters"] = Json::array();
  const std::array<double, parameterCount> values = toArray(price.parameters);
  for (const ParameterInfluence &influence : price.influences) {
    const ParameterInfo &info = parameterInfos()[size_t(influence.parameter)];
    document["parameters"].push_back({{"name", info.name},
                                      {"value", values[size_t(influence.parameter)]},
                                      {"unit", info.unit},
                                      {"sigma_ln", influence.sigmaLn},
                                      {"elasticity", influence.elasticity}});
  }
  return document;
}

} // namespace tilewright::cli
