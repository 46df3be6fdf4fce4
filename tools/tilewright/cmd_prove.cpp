#include "analysis/prove/op_claims.h"
#include "tools/tilewright/command.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tilewright::cli {

namespace {

using prove::ClaimResult;
using Status = ClaimResult::Status;

struct ProveArguments {
  std::string op, grid = "small";
  unsigned rlimit = prove::ProofOptions().rlimit;
  bool json = false, all = false;
};

constexpr Status statuses[] = {Status::Proved, Status::Checked, Status::Refuted, Status::Unknown,
                               Status::None};
using Counts = std::map<Status, size_t>;

void printJson(const std::vector<ClaimResult> &results, const ProveArguments &options,
               const Counts &total) {
  Json document = newDocument("prove");
  document["grid"] = options.grid;
  document["rlimit"] = options.rlimit;
  Json counts;
  for (Status status : statuses)
    counts[std::string(prove::toString(status))] = total.count(status) ? total.at(status) : 0;
  document["counts"] = counts;
  document["claims"] = Json::array();
  for (const ClaimResult &result : results) {
    Json claim;
    claim["op"] = toString(result.opcode);
    claim["example"] = result.example;
    claim["claim"] = prove::describe(result);
    claim["status"] = prove::toString(result.status);
    claim["reason"] = result.reason;
    claim["queries"] = result.queries;
    claim["spent_rlimit"] = result.spent;
    document["claims"].push_back(std::move(claim));
  }
  print(document);
}

void printTable(const std::vector<ClaimResult> &results, const ProveArguments &options,
                const Counts &total) {
  std::vector<Opcode> order;
  std::map<Opcode, Counts> byOp;
  for (const ClaimResult &result : results) {
    if (!byOp.count(result.opcode))
      order.push_back(result.opcode);
    ++byOp[result.opcode][result.status];
  }
  say("{:26}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "op", "proved", "checked", "refuted", "unknown", "none");
  auto line = [&](std::string_view name, Counts counts) {
    say("{:26}", name);
    for (Status status : statuses)
      say("{:>9}", counts[status]);
    say("\n");
  };
  for (Opcode opcode : order)
    line(toString(opcode), byOp[opcode]);
  line("all", total);
  for (const ClaimResult &result : results) {
    const bool isBad = result.status == Status::Refuted || result.status == Status::Unknown;
    if (!isBad && !options.all)
      continue;
    say("{}: {} ({}), {}{}{}\n", prove::toString(result.status), toString(result.opcode),
        result.example, prove::describe(result), result.reason.empty() ? "" : ": ", result.reason);
    if (result.status == Status::Unknown)
      say("  spent {} of {} a query\n", result.spent, options.rlimit);
  }
}

int runProve(const ProveArguments &options) {
  prove::ProveOptions proving;
  proving.grid = options.grid == "large" ? prove::Grid::Large : prove::Grid::Small;
  proving.proof.rlimit = options.rlimit;
  if (!options.op.empty()) {
    proving.only = parseOpcode(options.op);
    if (!proving.only)
      return fail(
          makeError(DiagClass::BadInput, "--op: '{}' is not an operation of HLO", options.op));
  }
  Progress progress("ops");
  proving.onProgress = [&](size_t done, size_t total) { progress.update(done, total); };
  const std::vector<ClaimResult> results = prove::proveAll(proving);
  Counts total;
  for (const ClaimResult &result : results)
    ++total[result.status];
  if (options.json)
    printJson(results, options, total);
  else
    printTable(results, options, total);
  return total[Status::Refuted] > 0 ? AnswerIsNo : Fine;
}

} // namespace

void addProve(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<ProveArguments>();
  CLI::App *command =
      app.add_subcommand("prove", "Prove the maps and tile rules of the ops over a grid of shapes");
  command->footer("Examples:\n"
                  "  tilewright prove\n"
                  "  tilewright prove --op pad --grid large --all\n"
                  "Exit code 1: something was refuted.");
  command->add_option("--op", options->op, "One operation by its HLO name (default: all)");
  command->add_option("--grid", options->grid, "Shapes and attributes: small or large")
      ->check(CLI::IsMember({"small", "large"}));
  command->add_option("--rlimit", options->rlimit, "Z3's resource units for one query")
      ->check(CLI::PositiveNumber);
  command->add_flag("--all", options->all, "List every claim, not only those that failed");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runProve(*options); }; });
}

} // namespace tilewright::cli
