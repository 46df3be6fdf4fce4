// tilewright cache: the cache of plan searches, where it is and how large.
#include "tools/tilewright/command.h"
#include "tools/tilewright/plan_cache.h"

namespace tilewright::cli {

namespace {

struct CacheArguments {
  std::string action = "show";
  uint64_t mostBytes = 0;
  CLI::Option *mostOption = nullptr;
  bool json = false;
};

int runCache(const CacheArguments &options) {
  const std::optional<PlanCacheOptions> where = planCacheOptions();
  if (!where)
    return failInput(makeError(DiagClass::BadInput,
                               "there is no cache: TILEWRIGHT_CACHE is off, or "
                               "there is no HOME"));
  if (options.action == "path") {
    say("{}\n", where->file);
    return Fine;
  }
  llvm::Expected<std::unique_ptr<PlanCache>> cache = PlanCache::open(*where);
  if (!cache)
    return failInput(cache.takeError());
  Json document = newDocument("cache");
  if (options.action == "clear") {
    if (llvm::Error error = (*cache)->clear())
      return failInput(std::move(error));
  } else if (options.action == "prune") {
    llvm::Expected<uint64_t> removed =
        (*cache)->prune(*options.mostOption ? options.mostBytes : where->mostBytes);
    if (!removed)
      return failInput(removed.takeError());
    document["removed"] = *removed;
    if (!options.json)
      say("{} entries removed\n", *removed);
  }
  llvm::Expected<PlanCacheState> state = (*cache)->state();
  if (!state)
    return failInput(state.takeError());
  document["file"] = where->file;
  document["entries"] = state->entries;
  document["bytes"] = state->bytes;
  document["most_bytes"] = where->mostBytes;
  if (options.json)
    print(document);
  else if (options.action == "size")
    say("{}\n", state->bytes);
  else
    say("{}: {} entries, {} of at most {}\n", where->file, state->entries,
        bytesText(static_cast<double>(state->bytes)),
        bytesText(static_cast<double>(where->mostBytes)));
  return Fine;
}

} // namespace

void addCache(CLI::App &app, Selection &selection) {
  auto options = std::make_shared<CacheArguments>();
  CLI::App *command =
      app.add_subcommand("cache", "The cache of plan searches, which runs and users share");
  command->footer(
      "Examples:\n"
      "  tilewright cache\n"
      "  tilewright cache prune --most-bytes 100000000\n"
      "A kernel that was searched before, in whatever model, is not searched again on the same "
      "device, with\nthe same calibration, options and program. Results do not depend on it.\n"
      "TILEWRIGHT_CACHE names its folder, or is off; TILEWRIGHT_CACHE_BYTES bounds it (1 GiB).");
  command
      ->add_option("ACTION", options->action,
                   "show; path and size (in bytes) alone; prune: remove what was not used for "
                   "longest; clear: remove all")
      ->check(CLI::IsMember({"show", "path", "size", "prune", "clear"}))
      ->capture_default_str();
  options->mostOption = command->add_option("--most-bytes", options->mostBytes,
                                            "With prune: bytes that entries may take then");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options, &selection] { selection.run = [options] { return runCache(*options); }; });
}

} // namespace tilewright::cli
